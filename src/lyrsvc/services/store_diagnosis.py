"""``doctor`` looks into the database: whole, of our schema, counted right, secrets readable."""

from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom
from typing import Final

from lyrsvc.core.errors import StoreError
from lyrsvc.core.ports import Clock
from lyrsvc.security.vault import SecretUnreadable, Vault
from lyrsvc.services.diagnosis import Finding, broken, odd, told, well
from lyrsvc.services.secret_store import SecretStore
from lyrsvc.services.upkeep import Upkeep
from lyrsvc.store import counts
from lyrsvc.store.database import Database, exists
from lyrsvc.store.integrity import find_faults, read_schema

NO_DATABASE: Final = "start lyrsvc serve once, or set LYRSVC_DB_PATH to the database it uses"
_RESTORE: Final = "stop the service and bring a backup back with: lyrsvc backup restore FILE"


def examine_schema(path: Path) -> Iterator[Finding]:
    """Look whether there is a database and this program can work with it."""
    if not exists(path):
        yield odd("database", f"there is none at {path}", NO_DATABASE)
        return
    try:
        found = read_schema(path)
    except StoreError as error:
        yield told("database", str(error))
        return
    yield well("database", str(path))
    if found.schema < found.newest:
        detail = f"schema {found.schema} is older than this program ({found.newest})"
        yield odd("schema", detail, "start lyrsvc serve once; it upgrades it and keeps a copy")
    else:
        yield well("schema", f"version {found.schema}")


def examine_content(db: Database, *, clock: Clock) -> Iterator[Finding]:
    """Look at the file page by page, and at the maintained counts; wrong counts are corrected."""
    with db.read(deadline_s=None) as tx:
        faults = find_faults(tx, thorough=False)
    if faults:
        yield broken("integrity", f"the database is damaged: {faults[0]}", _RESTORE)
        return
    yield well("integrity", "the quick check found nothing")
    with db.read(deadline_s=None) as tx:
        wrong = counts.differences(tx)
    if wrong:
        Upkeep(db, (), clock=clock, chance=SystemRandom()).check_counts()
        names = ", ".join(wrong)
        remedy = "they are correct now; please report it if it happens again"
        yield odd("counts", f"{len(wrong)} maintained counts were wrong ({names})", remedy)
    else:
        yield well("counts", "the maintained counts are true")


def examine_key(vault: Vault, place: str) -> Iterator[Finding]:
    """Look whether there is a key that can be used; a bad one raises ``ConfigError``."""
    if vault.has_key():
        yield well("key", f"the key of the stored secrets comes from {place}")
    else:
        yield well("key", "there is none yet; it is made with the first secret")


def examine_secrets(secrets: SecretStore) -> Iterator[Finding]:
    """Look whether every stored secret can be read."""
    names = [row["name"] for row in secrets.listing()]
    for name in names:
        try:
            secrets.look(name)
        except SecretUnreadable as error:
            yield told("secrets", str(error))
        else:
            yield well("secrets", f"{name} can be read")
    if not names:
        yield well("secrets", "none is stored")
