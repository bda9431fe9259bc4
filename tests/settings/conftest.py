"""A machine to load settings on: a home, a working directory, an environment, no more."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes import FakeClock
from lyrsvc.core.setting import Section
from lyrsvc.settings.loading import Inputs, Lanes, Loaded, examine
from lyrsvc.settings.saving import Saved, save

BUILTIN = ("defaultprov", "lrclib", "lrclib-dump")


class Machine:
    """Where settings come from, with everything on disk below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.cwd = root / "cwd"
        self.config = self.home / ".config" / "lyrsvcgo-svc" / "config.toml"
        self.environ = {"HOME": str(self.home)}
        self.plugins: dict[str, type[Section] | None] = {}
        self.asked: list[list[str]] = []
        self.config.parent.mkdir(parents=True)
        self.cwd.mkdir()

    def write(self, text: str) -> Path:
        """Write the settings file, byte for byte."""
        self.config.write_bytes(text.encode())
        self.config.chmod(0o600)
        return self.config

    def inputs(
        self, env: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None, **more
    ) -> Inputs:
        def offered(wanted):
            self.asked.append(list(wanted))
            names = {name.replace("_", "-") for name in wanted}
            return {name: section for name, section in self.plugins.items() if name in names}

        return Inputs(
            environ={**self.environ, **(env or {})},
            working_directory=self.cwd,
            user=more.pop("user", "somebody"),
            lanes=Lanes(BUILTIN, offered),
            flags=flags or {},
            **more,
        )

    def examine(
        self,
        toml: str | None = None,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
        **more,
    ) -> Loaded:
        """Load settings the way the program does."""
        if toml is not None:
            self.write(toml)
        return examine(self.inputs(env, flags, **more))

    def save(self, changes: Mapping[str, Any], env=None, flags=None, **more) -> Saved:
        """Save settings with a clock that nobody waits for."""
        seen = more.pop("seen", None)
        return save(self.inputs(env, flags, **more), changes, clock=FakeClock(), seen=seen)

    def value(self, path: str, toml=None, env=None, flags=None, **more):
        """Load without any fault and give one value."""
        loaded = self.examine(toml, env, flags, **more)
        assert loaded.faults == ()
        return loaded.resolution.values[path]

    def left_overs(self, directory: Path | None = None) -> list[str]:
        """Name what a save left behind; the lock file is meant to stay."""
        names = (path.name for path in (directory or self.config.parent).iterdir())
        return sorted(name for name in names if "lyrsvc-" in name)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
