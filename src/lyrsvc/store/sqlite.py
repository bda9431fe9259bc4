"""SQLite: everything only this engine can do, and its errors in our words."""

import functools
import os
import threading
import time
from typing import TYPE_CHECKING, Final

import apsw

from lyrsvc.core.errors import StorageFailed, StoreBusy, StoreDamaged, StoreError
from lyrsvc.durability import sync_directory
from lyrsvc.store.hindrances import what_hinders
from lyrsvc.store.sqlite_link import READ_ONLY, READ_WRITE, SqliteLink, connect, raise_known

if TYPE_CHECKING:
    from pathlib import Path

    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

RETRY_PAUSE_S: Final = 0.02
JOURNAL_LIMIT_BYTES: Final = 64 * 1024 * 1024
WRITER_CACHE_KIB: Final = 16 * 1024
"""Rows of a scan go into a dozen indexes; their pages must not be read again for every batch.

A quarter of it would save 14 MiB, and make a webhook beside a scan cost 6 % more.
"""
FILE_MODE: Final = 0o640
DIRECTORY_MODE: Final = 0o750
BACKUP_WAIT_S: Final = 10.0


class SqliteEngine:
    """A SQLite file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None

    @property
    def location(self) -> str:
        """Where the file is."""
        return self._path

    @property
    def steps_directory(self) -> str:
        """Where the migrations of this engine lie."""
        return f"{__file__.rpartition(os.sep)[0]}/migrations/sqlite"

    def exists(self) -> bool:
        """Tell whether the file is there; ``StorageFailed`` where nobody lets us look."""
        try:
            os.stat(self._path)  # noqa: PTH116 - the path is a string here
        except PermissionError as error:
            raise StorageFailed(
                f"cannot look at the database {self._path}: permission denied; "
                "run this as the user of the service"
            ) from error
        except (OSError, ValueError):
            return False
        return True

    def create(self) -> bool:
        """Make the directory and an empty file unless they are there."""
        from pathlib import Path

        path = Path(self._path)
        try:
            path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
            sync_directory(path.parent)
        except FileExistsError:
            if path.parent.is_dir():
                return False
            raise StorageFailed(f"cannot create {path}: {path.parent} is no directory") from None
        except OSError as error:
            raise StorageFailed(
                what_hinders(self._path)
                or f"cannot create the database {path}: {(error.strerror or 'error').lower()}; "
                "run this as the user of the service, or choose another path"
            ) from error
        return True

    def open_writer(self, wait_s: float) -> SqliteLink:
        """Open the file for writing, in WAL mode, durable at every commit."""
        from lyrsvc.store.log_moving import LogMover

        link = self._open_patiently(wait_s)
        # What a savepoint may have to restore is little, and must not become a file each time.
        link.run_script("PRAGMA temp_store = MEMORY", {})
        open_another = functools.partial(connect, self._path, flags=READ_WRITE)
        link.move_log_with(LogMover(link.connection, open_another))
        return link

    def open_migrator(self, wait_s: float) -> SqliteLink:
        """Open the file for writing with references unchecked: tables may be rebuilt."""
        link = self._open_patiently(wait_s)
        link.run_script("PRAGMA foreign_keys = OFF", {})
        return link

    def open_reader(self, wait_s: float) -> SqliteLink:
        """Open the file read-only; without locks where a reader may not even leave its marks."""
        try:
            return self._open_reader("", wait_s)
        except StorageFailed:
            if os.access(f"{self._path}-wal", os.F_OK) or not os.access(self._path, os.R_OK):
                raise
            return self._open_reader("immutable=1", wait_s)

    def applied_steps(self, tx: "Tx") -> "list[Row] | None":
        """Give what the database remembers of its migrations; None when it is empty."""
        tables = tx.first(
            """
            SELECT count(*) AS n, coalesce(sum(name = 'schema_migrations'), 0) AS ours
              FROM sqlite_schema
             WHERE name NOT LIKE 'sqlite_%'
            """
        )
        if not tables or not tables["n"]:
            return None
        if not tables["ours"]:
            raise StoreDamaged(
                f"{self._path} is the database of another program; choose another path"
            )
        return tx.all("SELECT version, name, sha256 FROM schema_migrations ORDER BY version")

    def check_references(self, tx: "Tx") -> None:
        """Raise when a row points to one that is not there."""
        if broken := tx.first("PRAGMA foreign_key_check"):
            raise StoreDamaged(
                f"rows of {broken['table']} in {self._path} point nowhere; restore a backup"
            )

    def keep_copy(self, version: int, *, present: int) -> None:
        """Copy the file to ``<file>.pre-<version>``, complete or not at all; drop older copies.

        A copy of that name with fewer steps than now was made before the first step
        of this very upgrade, by a process that was interrupted or runs beside us.
        """
        from pathlib import Path

        path = Path(self._path)
        copy = path.with_name(f"{path.name}.pre-{version}")
        if copy.exists() and 0 < _version_of(str(copy)) < present:
            return
        unfinished = path.with_name(f"{copy.name}.part")
        unfinished.unlink(missing_ok=True)
        try:
            self.copy_to(unfinished)
            unfinished.replace(copy)
            sync_directory(path.parent)
        except OSError as error:
            raise StorageFailed(f"cannot keep {copy}: {error.strerror}; make room") from error
        finally:
            unfinished.unlink(missing_ok=True)
        prefix = f"{path.name}.pre-"
        for other in path.parent.iterdir():
            version_text = other.name.removeprefix(prefix)
            if version_text != other.name and version_text.isdecimal() and other != copy:
                other.unlink(missing_ok=True)

    def copy_to(self, destination: "Path") -> None:
        """Write a consistent copy of the live database to a new file, 0600, synced."""
        os.close(os.open(destination, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        source = self.open_reader(BACKUP_WAIT_S)
        try:
            target = connect(str(destination), flags=READ_WRITE)
            try:
                with target.backup("main", source.connection, "main") as backup:
                    backup.step()
                # A copy must open anywhere, also where no log can be kept beside it.
                target.execute("PRAGMA journal_mode = DELETE")
            finally:
                target.close(force=True)
        except apsw.Error as error:
            raise_known(error, str(destination))
        finally:
            source.close()

    def check_in_place(self) -> None:
        """Raise when the file at the path is gone or another one than the open one."""
        present = self._present_identity()
        if present is None or present != (self._identity or present):
            raise StoreError(f"the database {self._path} was removed or replaced; restart")
        self._identity = present

    def _open_patiently(self, wait_s: float) -> SqliteLink:
        until = time.monotonic() + wait_s
        while True:
            try:
                link = self._open_writer()
            except StoreBusy:
                # Turning WAL on answers busy at once, without asking the busy handler.
                if time.monotonic() >= until:
                    raise
                threading.Event().wait(RETRY_PAUSE_S)
            else:
                self._identity = self._identity or self._present_identity()
                return link

    def _open_writer(self) -> SqliteLink:
        link = SqliteLink(connect(self._path, flags=READ_WRITE), self._path)
        try:
            link.run_script("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL", {})
            self._keep_log(link)
            link.run_script(f"PRAGMA journal_size_limit = {JOURNAL_LIMIT_BYTES}", {})
            link.run_script(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}", {})
        except BaseException:
            link.close()
            raise
        return link

    def _keep_log(self, link: SqliteLink) -> None:
        if _is_wal(link.first("PRAGMA journal_mode", {})):
            return
        if not _is_wal(link.first("PRAGMA journal_mode = WAL", {})):
            raise StorageFailed(
                f"{self._path} lies on a file system without shared memory; "
                "put the database on a local disk"
            )

    def _open_reader(self, options: str, wait_s: float) -> SqliteLink:
        connection = connect(self._path, flags=READ_ONLY, options=options)
        connection.set_busy_timeout(int(wait_s * 1000))
        link = SqliteLink(connection, self._path)
        try:
            link.run_script("PRAGMA foreign_keys = ON; PRAGMA query_only = ON", {})
            link.first("PRAGMA schema_version", {})  # the first look at the file itself
            link.reads_only = True
        except BaseException:
            link.close()
            raise
        return link

    def _present_identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - asked at every commit
        except OSError:
            return None
        return found.st_dev, found.st_ino


def _version_of(copy: str) -> int:
    try:
        connection = connect(copy, flags=READ_ONLY, options="immutable=1")
        try:
            newest = connection.execute("SELECT max(version) FROM schema_migrations").get
        finally:
            connection.close(force=True)
    except (apsw.Error, StoreError):
        return 0
    return newest if isinstance(newest, int) else 0


def _is_wal(row: "Row | None") -> bool:
    return row is not None and row["journal_mode"] == "wal"
