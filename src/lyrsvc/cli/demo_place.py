"""The directory a demo lives in: music, database, settings; never anybody else's."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from lyrsvc import brand
from lyrsvc.core.errors import Refused

MARK: Final = f".{brand.PROGRAM}-demo"
MARK_TEXT: Final = f"A directory of {brand.PROGRAM} demo; safe to remove.\n"


class DemoPlace:
    """Where everything of a demo is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.music = root / "music"
        self.database = root / "state" / brand.DATABASE_NAME
        self.config = root / brand.CONFIG_NAME

    def write_settings(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the settings file anew."""
        from lyrsvc.settings.toml_values import toml_value

        lines = ["# Written by each start of the demo."]
        for table, values in tables.items():
            lines += ["", f"[{table}]"]
            lines += [f"{name} = {toml_value(value)}" for name, value in values.items()]
        self.config.write_text("\n".join((*lines, "")), "utf-8")
        self.config.chmod(0o600)


@contextmanager
def open_place(named: Path | None, *, keep: bool) -> Iterator[DemoPlace]:
    """Give a directory of our own: the named one, which stays, or one that goes again at the end.

    A named directory that holds anything else is refused before it is touched.
    """
    if named is not None:
        yield _marked(_checked(named))
        return
    root = Path(tempfile.mkdtemp(prefix=f"{brand.PROGRAM}-demo-"))
    try:
        yield _marked(root)
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _checked(root: Path) -> Path:
    try:
        if not root.exists():
            root.mkdir(parents=True)
        elif not root.is_dir():
            raise Refused(f"{root} is no directory; name one for the demo with --dir")
        elif any(root.iterdir()) and not (root / MARK).is_file():
            raise Refused(
                f"{root} is neither empty nor the directory of an earlier demo; "
                "nothing was touched, name another one with --dir"
            )
    except OSError as error:
        cause = (error.strerror or "unknown error").lower()
        raise Refused(f"cannot use {root} for a demo: {cause}; name another --dir") from error
    return root


def _marked(root: Path) -> DemoPlace:
    try:
        (root / MARK).write_text(MARK_TEXT, "utf-8")
    except OSError as error:
        cause = (error.strerror or "unknown error").lower()
        raise Refused(f"cannot write in {root}: {cause}; name another --dir") from error
    return DemoPlace(root)
