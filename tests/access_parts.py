"""Access control on a real database, with hashes that cost next to nothing."""

from lyrsvc.core.account import Admin
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.audit import Audit, AuditEntry
from lyrsvc.security.csrf import Csrf
from lyrsvc.security.passwords import Cost, Passwords
from lyrsvc.services import access
from lyrsvc.services.access import Access
from lyrsvc.services.keyring import Keyring
from lyrsvc.services.sign_in import Visitor
from lyrsvc.store import accounts
from lyrsvc.store.accounts import Credentials

CHEAP = Cost(ln=1, r=1, p=1)
PASSWORD = "correct horse"
VISITOR = Visitor(client="192.0.2.7", user_agent="Browser/1.0")


class Desk:
    """Everything wired, one admin at hand, and what the audit was told."""

    def __init__(self, db, clock) -> None:
        self.db = db
        self.clock = clock
        self.told: list[AuditEntry] = []
        self.redactor = Redactor()
        self.audit = Audit(clock=clock, redactor=self.redactor, keep=self.told.append)
        self.passwords = Passwords(CHEAP)

    def access(self, *, cost: Cost = CHEAP) -> Access:
        """Wire the parts as after a start."""
        return access.build(
            self.db,
            Keyring(self.db, clock=self.clock),
            Csrf(b"k" * 32),
            clock=self.clock,
            audit=self.audit,
            cost=cost,
        )

    def add_admin(self, username: str = "Ada", password: str = PASSWORD) -> Admin:
        """Store the first admin."""
        admin = Admin(id=f"id-{username}", username=username)
        made = Credentials(admin, self.passwords.hash(password))
        assert self.db.write(lambda tx: accounts.add_first(tx, made, now=self.clock.now()))
        return admin

    def add_second_admin(self, username: str) -> None:
        """Store one more admin; the program itself never does."""
        password_hash = self.passwords.hash(PASSWORD)
        self.db.write(
            lambda tx: tx.run(
                """
                INSERT INTO admins
                VALUES (:name, :name, lower(:name), :hash, '2026-01-31T14:05:06.123Z',
                        '2026-01-31T14:05:06.123Z')
                """,
                name=username,
                hash=password_hash,
            )
        )

    @property
    def events(self) -> list[str]:
        return [entry.event for entry in self.told]

    def rows(self, table: str) -> list[dict[str, object]]:
        with self.db.read() as tx:
            return tx.all(f"SELECT * FROM {table}")
