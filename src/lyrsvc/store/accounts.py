"""The tables ``admins`` and ``sessions``."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.core.account import Admin, Session, username_key
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

_SESSIONS: Final = """
    SELECT s.token_hash, s.admin_id, s.created_at, s.expires_at, s.last_address, s.user_agent,
           a.username
      FROM sessions s
      JOIN admins a ON a.id = s.admin_id
"""


@dataclass(frozen=True, slots=True)
class Credentials:
    """An admin and the hash of the password."""

    admin: Admin
    password_hash: str = field(repr=False)


# -- admins -------------------------------------------------------------------------------------


def has_admin(tx: "Tx") -> bool:
    """Tell whether there is any admin."""
    return tx.first("SELECT id FROM admins LIMIT 1") is not None


def add_first(tx: "Tx", found: Credentials, *, now: datetime) -> bool:
    """Store the first admin; answer False, and store nothing, when there is one already."""
    return bool(
        tx.run(
            """
            INSERT INTO admins (id, username, username_key, password_hash, created_at, updated_at)
            SELECT :id, :username, :username_key, :password_hash, :now, :now
             WHERE NOT EXISTS (SELECT 1 FROM admins)
            """,
            id=found.admin.id,
            username=found.admin.username,
            username_key=username_key(found.admin.username),
            password_hash=found.password_hash,
            now=to_db(now),
        )
    )


def find_admin(tx: "Tx", username: str) -> Credentials | None:
    """Give the admin of this name; case does not count."""
    row = tx.first("SELECT * FROM admins WHERE username_key = :key", key=username_key(username))
    return None if row is None else _credentials(row)


def get_admin(tx: "Tx", admin_id: str) -> Credentials | None:
    """Give the admin with this id."""
    row = tx.first("SELECT * FROM admins WHERE id = :id", id=admin_id)
    return None if row is None else _credentials(row)


def all_admins(tx: "Tx") -> list[Admin]:
    """Give every admin, by name."""
    rows = tx.each("SELECT * FROM admins ORDER BY username_key")
    return [_credentials(row).admin for row in rows]


def replace_hash(tx: "Tx", admin_id: str, *, old: str, new: str, now: datetime) -> bool:
    """Store another hash; answer False when the stored one is not ``old`` any more."""
    return bool(
        tx.run(
            """
            UPDATE admins
               SET password_hash = :new, updated_at = :now
             WHERE id = :id AND password_hash = :old
            """,
            id=admin_id,
            old=old,
            new=new,
            now=to_db(now),
        )
    )


# -- sessions -----------------------------------------------------------------------------------


def add_session(tx: "Tx", session: Session) -> None:
    """Store a session; only the digest of its token is known here."""
    tx.run(
        """
        INSERT INTO sessions (token_hash, admin_id, expires_at, last_address, user_agent,
                              created_at, updated_at)
        VALUES (:token_hash, :admin_id, :expires_at, :last_address, :user_agent, :now, :now)
        """,
        token_hash=session.token_hash,
        admin_id=session.admin.id,
        expires_at=to_db(session.expires_at),
        last_address=session.last_address,
        user_agent=session.user_agent,
        now=to_db(session.created_at),
    )


def find_session(tx: "Tx", token_hash: str, *, now: datetime, latest: datetime) -> Session | None:
    """Give a session that has not ended; one that would end after ``latest`` is not believed."""
    row = tx.first(
        _SESSIONS
        + " WHERE s.token_hash = :token_hash AND s.expires_at > :now AND s.expires_at <= :latest",
        token_hash=token_hash,
        now=to_db(now),
        latest=to_db(latest),
    )
    return None if row is None else _session(row)


def list_sessions(tx: "Tx", admin_id: str, *, now: datetime) -> list[Session]:
    """Give the sessions of an admin that have not ended, the newest first."""
    rows = tx.each(
        _SESSIONS
        + " WHERE s.admin_id = :admin_id AND s.expires_at > :now"
        + " ORDER BY s.created_at DESC, s.token_hash",
        admin_id=admin_id,
        now=to_db(now),
    )
    return [_session(row) for row in rows]


def delete_session(tx: "Tx", token_hash: str) -> bool:
    """End one session, whoever's it is."""
    return bool(
        tx.run("DELETE FROM sessions WHERE token_hash = :token_hash", token_hash=token_hash)
    )


def delete_session_of(tx: "Tx", token_hash: str, *, admin_id: str) -> bool:
    """End one session, if it is this admin's."""
    return bool(
        tx.run(
            "DELETE FROM sessions WHERE token_hash = :token_hash AND admin_id = :admin_id",
            token_hash=token_hash,
            admin_id=admin_id,
        )
    )


def delete_other_sessions(tx: "Tx", token_hash: str, *, admin_id: str) -> int:
    """End all sessions of an admin but one."""
    return tx.run(
        "DELETE FROM sessions WHERE admin_id = :admin_id AND token_hash <> :token_hash",
        token_hash=token_hash,
        admin_id=admin_id,
    )


def delete_all_sessions(tx: "Tx", *, now: datetime) -> int:
    """End every session; give how many had not ended by themselves."""
    live: int = tx.value("SELECT count(*) FROM sessions WHERE expires_at > :now", now=to_db(now))
    tx.run("DELETE FROM sessions")
    return live


def note_address(tx: "Tx", token_hash: str, address: str, *, now: datetime) -> None:
    """Remember where a session was last used from."""
    tx.run(
        """
        UPDATE sessions
           SET last_address = :address, updated_at = :now
         WHERE token_hash = :token_hash
        """,
        token_hash=token_hash,
        address=address,
        now=to_db(now),
    )


def _credentials(row: "Row") -> Credentials:
    return Credentials(Admin(id=row["id"], username=row["username"]), row["password_hash"])


def _session(row: "Row") -> Session:
    return Session(
        token_hash=row["token_hash"],
        admin=Admin(id=row["admin_id"], username=row["username"]),
        created_at=from_db(row["created_at"]),
        expires_at=from_db(row["expires_at"]),
        last_address=row["last_address"],
        user_agent=row["user_agent"],
    )
