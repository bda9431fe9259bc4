"""Sessions: a random token in the browser's cookie, only its digest in the store."""

import threading
from datetime import datetime, timedelta
from typing import Final

from lyrsvc.core.account import Admin, Session, short_agent
from lyrsvc.core.errors import StoreError
from lyrsvc.core.ports import Clock
from lyrsvc.security.key_minting import digest_of, is_token_form, mint_token
from lyrsvc.store import accounts, retention
from lyrsvc.store.database import Database, Tx

LIFETIME: Final = timedelta(days=7)
"""Absolute; using a session does not make it last longer."""
SLACK: Final = timedelta(days=1)
"""How much later than that a session may end because a clock was put right."""
MOST_MOVES: Final = 1000
LONGEST_ADDRESS: Final = 64


class Sessions:
    """Opens, checks and ends sessions."""

    def __init__(self, db: Database, *, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._lock = threading.Lock()
        self._moved: dict[str, str] = {}

    def prepare(self, admin: Admin, *, client: str, user_agent: str) -> tuple[str, Session]:
        """Make a token and its session; ``accounts.add_session`` opens it in a transaction."""
        token, now = mint_token(), self._clock.now()
        session = Session(
            token_hash=digest_of(token),
            admin=admin,
            created_at=now,
            expires_at=now + LIFETIME,
            last_address=client[:LONGEST_ADDRESS],
            user_agent=short_agent(user_agent),
        )
        return token, session

    def open(self, admin: Admin, *, client: str, user_agent: str) -> tuple[str, Session]:
        """Open a session without a password, for the admin who has just been made."""
        token, session = self.prepare(admin, client=client, user_agent=user_agent)
        self._db.write(lambda tx: accounts.add_session(tx, session))
        return token, session

    def check(self, token: str, *, client: str = "") -> Session | None:
        """Give the session of a cookie's value; one read by primary key, none for nonsense."""
        if not is_token_form(token):
            return None
        now = self._clock.now()
        with self._db.read() as tx:
            session = accounts.find_session(
                tx, digest_of(token), now=now, latest=now + LIFETIME + SLACK
            )
        if session is not None and client and client[:LONGEST_ADDRESS] != session.last_address:
            self._note_move(session.token_hash, client[:LONGEST_ADDRESS])
        return session

    def close(self, token: str) -> bool:
        """Sign out; answer whether there was a session."""
        if not is_token_form(token):
            return False
        return self._db.write(lambda tx: accounts.delete_session(tx, digest_of(token)))

    def listing(self, admin: Admin) -> list[Session]:
        """Give the sessions of an admin, the newest first."""
        now = self._clock.now()
        with self._db.read() as tx:
            return accounts.list_sessions(tx, admin.id, now=now)

    def revoke(self, token_hash: str, *, admin: Admin) -> bool:
        """End one session of this admin; answer whether there was one."""
        return self._db.write(
            lambda tx: accounts.delete_session_of(tx, token_hash, admin_id=admin.id)
        )

    def revoke_others(self, session: Session) -> int:
        """End all sessions of the same admin but this one."""
        return self._db.write(
            lambda tx: accounts.delete_other_sessions(
                tx, session.token_hash, admin_id=session.admin.id
            )
        )

    def purge(self) -> int:
        """Remove sessions that have ended; at start and with the housekeeping."""
        removed = 0
        now = self._clock.now()
        while number := self._db.write(
            lambda tx: retention.forget_sessions(tx, before=now), bulk=True
        ):
            removed += number
        return removed

    def flush(self) -> None:
        """Write down where sessions were last used from; call it now and then."""
        with self._lock:
            moved, self._moved = self._moved, {}
        if moved:
            now = self._clock.now()
            try:
                self._db.write(lambda tx: _note_moves(tx, moved, now=now), bulk=True)
            except StoreError:
                with self._lock:
                    self._moved = moved | self._moved

    def _note_move(self, token_hash: str, client: str) -> None:
        with self._lock:
            if token_hash in self._moved or len(self._moved) < MOST_MOVES:
                self._moved[token_hash] = client


def _note_moves(tx: Tx, moved: dict[str, str], *, now: datetime) -> None:
    for token_hash, client in moved.items():
        accounts.note_address(tx, token_hash, client, now=now)
