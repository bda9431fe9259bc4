"""What the engine says about itself."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


def engine_version(tx: "Tx") -> str:
    """Give the version of the database library."""
    return str(tx.value("SELECT sqlite_version()"))


def library_version() -> str:
    """Give the version of the database library, without any database."""
    import apsw

    return apsw.sqlite_lib_version()
