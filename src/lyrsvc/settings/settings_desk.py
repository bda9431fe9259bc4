"""Looking at the settings of a running service and saving them; all or nothing.

Saved settings are in force from the next start on. Secrets go to the encrypted store and
leave the file; which store that is, the constructor is told.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from lyrsvc.core.ports import Clock
from lyrsvc.core.setting import Place, Tier
from lyrsvc.settings.config_text import BrokenToml, parse
from lyrsvc.settings.findings import fault
from lyrsvc.settings.loading import Loaded, examine
from lyrsvc.settings.locations import absolute, home_of
from lyrsvc.settings.reference import effective_toml
from lyrsvc.settings.registry import nearest
from lyrsvc.settings.resolving import written_at
from lyrsvc.settings.save_errors import SettingLocked, Stale, Unconfirmed, ValidationFailed
from lyrsvc.settings.saving import Change, file_state, save
from lyrsvc.settings.secret_values import SECRET_SETTINGS, checked_secret, secret_wish
from lyrsvc.settings.setting_views import SettingView, view_all

REMEMBERED_VERSIONS: Final = 32
MOST_HINTS: Final = 5
LONGEST_PATH: Final = 100
_STORED_AS: Final = {path: name for name, path in SECRET_SETTINGS.items()}


class SecretKeeping(NamedTuple):
    """The encrypted store, as far as settings need it; secrets go by their own names."""

    put: Callable[[Mapping[str, str]], None]
    forget: Callable[[Iterable[str]], None]
    names: Callable[[], Collection[str]]


class SettingsView(NamedTuple):
    """All settings, with the version of the file they were read from."""

    version: str
    writable: bool
    settings: tuple[SettingView, ...]


class SavedSettings(NamedTuple):
    """What a save did: settings that changed, and names of secrets stored or forgotten."""

    saved: tuple[str, ...]
    restart_pending: tuple[str, ...]
    version: str
    changes: tuple[Change, ...] = ()
    stored: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()


class _Order(NamedTuple):
    """What is to be saved, sorted by where it goes."""

    file: dict[str, Any]
    store: dict[str, str]
    forget: tuple[str, ...]


class SettingsDesk:
    """Shows the settings, saves them, and knows which of them wait for a restart."""

    def __init__(self, loaded: Loaded, *, clock: Clock, secrets: SecretKeeping) -> None:
        self._loaded = loaded
        self._clock = clock
        self._secrets = secrets
        self._lock = threading.Lock()
        self._versions: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._stored_since: dict[str, bool] = {}
        """Secrets stored or forgotten since the start; whether each was in the store before."""
        self._known: tuple[object, Loaded] | None = None
        self._remember()

    def view(self) -> SettingsView:
        """Show every setting."""
        version = self._remember()
        following = self._following()
        views = view_all(
            self._loaded,
            self._loaded if following.faults else following,
            stored=self._stored(),
        )
        return SettingsView(version, file_state(self._loaded).writable, tuple(views))

    def raw(self, *, following: bool = False) -> str:
        """Write the settings in force as TOML, or those of the next start; secrets hidden."""
        if following:
            return effective_toml(self._following(), stored=self._stored())
        stored = {path for path in self._stored() if path not in self._stored_since}
        before = {path for path, was_there in self._stored_since.items() if was_there}
        return effective_toml(self._loaded, stored=stored | before)

    @property
    def secret_paths(self) -> Collection[str]:
        """Name the settings that are kept in the encrypted store."""
        return _STORED_AS.keys()

    def pending(self) -> tuple[str, ...]:
        """Name the settings that a restart would change; cheap while no file changes.

        A start that fails changes none: ``faults`` says why it would.
        """
        following = self._following()
        if following.faults:
            return ()
        running = self._loaded.resolution.values
        differing = {
            path
            for path, value in following.resolution.values.items()
            if running.get(path) != value
        }
        return tuple(sorted(differing | self._stored_since.keys()))

    def faults(self) -> tuple[str, ...]:
        """Say what the next start would complain about and end."""
        return self._following().faults

    def stamp(self) -> object:
        """Give a mark that differs once the settings may differ."""
        return _stamps(self._loaded), len(self._stored_since)

    def save(
        self,
        changes: Mapping[str, Any],
        *,
        version: str | None = None,
        confirmed: Collection[str] = (),
    ) -> SavedSettings:
        """Save settings, all or none; None takes one out of the file.

        ``version`` is the one the caller saw; what has changed since then is not
        overwritten. Critical settings are changed only when they are ``confirmed``. A blank
        secret stays as it is.
        """
        self._require_known(changes)
        self._require_unlocked(changes)
        changes = {path: value for path, value in changes.items() if not _keeps(path, value)}
        order = self._sorted(changes)
        self._require_confirmed(changes, confirmed)
        seen = self._seen(order.file, version)
        written = self._write(order, seen)
        stored = (*(SECRET_SETTINGS[name] for name in (*order.store, *order.forget)),)
        saved = dict.fromkeys((*(change.path for change in written), *stored))
        return SavedSettings(
            saved=tuple(saved),
            restart_pending=self.pending(),
            version=self._remember(),
            changes=written,
            stored=tuple(order.store),
            forgotten=order.forget,
        )

    def _write(self, order: _Order, seen: Mapping[str, Any] | None) -> tuple[Change, ...]:
        """Store secrets first, then save the file: a crash between leaves the old in force."""
        if not order.file:
            self._keep_secrets(order)
            return ()
        return save(
            self._loaded.inputs,
            order.file,
            clock=self._clock,
            seen=seen,
            first=lambda: self._keep_secrets(order),
        ).changes

    def _stored(self) -> set[str]:
        """Give the settings that the encrypted store has a value for."""
        return {SECRET_SETTINGS[name] for name in self._secrets.names()}

    def _keep_secrets(self, order: _Order) -> None:
        before = self._stored()
        if order.store:
            self._secrets.put(order.store)
        if order.forget:
            self._secrets.forget(order.forget)
        for name in (*order.store, *order.forget):
            path = SECRET_SETTINGS[name]
            self._stored_since.setdefault(path, path in before)

    def _require_known(self, changes: Mapping[str, Any]) -> None:
        faults: dict[str, str] = {}
        by_path = self._loaded.registry.by_path
        for path in changes:
            entry = by_path.get(path)
            if entry is None or entry.setting.internal:
                hint = self._hint(path) if len(faults) < MOST_HINTS else ""
                faults[path[:LONGEST_PATH]] = f"there is no such setting{hint}"
            elif not entry.setting.editable:
                faults[path] = "it cannot be changed here"
        _refuse(faults)

    def _hint(self, path: str) -> str:
        """Name what was probably meant; comparing long texts would take for ever."""
        known = self._loaded.registry.by_key
        meant = nearest(path, known) if len(path) < LONGEST_PATH else None
        return f'; did you mean "{meant}"?' if meant else ""

    def _require_unlocked(self, changes: Mapping[str, Any]) -> None:
        for path in changes:
            if winner := self._loaded.locked_by(path):
                raise SettingLocked(f"{path} is decided by {winner}", locked_by=winner)

    def _require_confirmed(self, changes: Mapping[str, Any], confirmed: Collection[str]) -> None:
        by_path = self._loaded.registry.by_path
        missing = [
            path
            for path in changes
            if by_path[path].setting.tier is Tier.CRITICAL and path not in confirmed
        ]
        if missing:
            only_secrets = all(by_path[path].setting.secret for path in missing)
            risk = "stop what uses it" if only_secrets else "lock you out"
            detail = f"a mistake here can {risk}; confirm {', '.join(missing)}"
            for path in missing:
                detail += self._lost_keys(path)
            raise Unconfirmed(detail, paths=missing)

    def _lost_keys(self, path: str) -> str:
        """Say how many keys of the file stop working when one takes their place."""
        if path not in _STORED_AS:
            return ""
        written = written_at(self._present_file(), path)
        count = len(written) if isinstance(written, list) else int(bool(written))
        return f"; {count} in the file stop working ({path})" if count else ""

    def _sorted(self, changes: Mapping[str, Any]) -> _Order:
        """Say what goes where; everything that no setting can be is told at once."""
        order, faults = _Order({}, {}, ()), dict[str, str]()
        forget = []
        for path, value in changes.items():
            try:
                if path not in _STORED_AS:
                    order.file[path] = self._written(path, value)
                    continue
                name = _STORED_AS[path]
                if value is None:
                    forget.append(name)
                else:
                    order.store[name] = self._secret(name, value)
            except (ValueError, TypeError) as wish:
                faults[path] = f"must be {wish}"
            else:
                if written_at(self._present_file(), path) is not None:
                    order.file[path] = None
        _refuse(faults)
        return order._replace(forget=tuple(forget))

    def _written(self, path: str, value: Any) -> Any:  # noqa: ANN401 - any TOML value
        setting = self._loaded.registry.by_path[path].setting
        if value is None or setting.is_blank(value):
            return None
        setting.from_toml(value, self._place)
        return value

    def _secret(self, name: str, value: object) -> str:
        values, registry = value if isinstance(value, list) else [value], self._loaded.registry
        try:
            if len(values) == 1 and isinstance(values[0], str):
                return checked_secret(registry, name, values[0])
        except ValueError:
            pass
        raise ValueError(secret_wish(registry, name))

    @property
    def _place(self) -> Place:
        config = self._loaded.config_path
        directory = config.parent if config else self._loaded.inputs.working_directory
        return Place(directory, home_of(self._loaded.environ))

    def _seen(self, changes: Mapping[str, Any], version: str | None) -> Mapping[str, Any] | None:
        if version is None:
            return None
        self._remember()
        with self._lock:
            document = self._versions.get(version)
        if document is None:
            raise Stale("the settings were changed meanwhile; load them again")
        return {path: written_at(document, path) for path in changes}

    def _remember(self) -> str:
        """Keep what the file says now under its version, for whoever saves from it."""
        version = file_state(self._loaded).version
        document = self._present_file()
        if file_state(self._loaded).version == version:
            with self._lock:
                self._versions[version] = document
                self._versions.move_to_end(version)
                while len(self._versions) > REMEMBERED_VERSIONS:
                    self._versions.popitem(last=False)
        return version

    def _present_file(self) -> Mapping[str, Any]:
        path = self._loaded.config_path
        try:
            return parse(path.read_bytes().decode("utf-8")) if path else {}
        except (OSError, UnicodeDecodeError, BrokenToml):
            return {}

    def _following(self) -> Loaded:
        """Give the settings of the next start; read anew when a file has changed."""
        stamp = _stamps(self._loaded)
        known = self._known
        if known is None or known[0] != stamp:
            known = self._known = (stamp, examine(self._loaded.inputs))
        return known[1]


def _keeps(path: str, value: object) -> bool:
    return path in _STORED_AS and isinstance(value, str) and not value.strip()


def _refuse(faults: Mapping[str, str]) -> None:
    if faults:
        findings = [fault(path, f"{path}: {text}") for path, text in faults.items()]
        raise ValidationFailed(findings, [found.text for found in findings])


def _stamps(loaded: Loaded) -> object:
    inputs = loaded.inputs
    named = (inputs.env_file_flag or "").strip() or ".env"
    variables = absolute(named, inputs.working_directory, home_of(inputs.environ))
    return _stamp(loaded.config_path), _stamp(variables)


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    try:
        found = path.stat() if path else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found else None
