"""The kinds of settings: how each reads text, reads TOML and shows itself."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Unpack

from lyrsvc.core.host_names import is_host, is_ipv6
from lyrsvc.core.setting import Attributes, Place, Setting

_MOST: Final = 2**63 - 1
_LEAST: Final = -(2**63)
_MOST_PORT: Final = 65535


class Integer(Setting[int]):
    """A whole number; one that no machine word holds counts as the largest or smallest."""

    kind = "int"
    wanted = "a whole number"

    def from_text(self, text: str, place: Place) -> int:
        """Read digits with an optional sign."""
        if not re.fullmatch(r"[+-]?[0-9]{1,999}", text.strip()):
            raise ValueError(self.wanted)
        return _within_word(int(text))

    def from_toml(self, value: object, place: Place) -> int:
        """Take an integer, and no boolean for one."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(self.wanted)
        return _within_word(value)


class Decimal(Setting[float]):
    """A number with a fraction."""

    kind = "float"
    wanted = "a number"
    finite = "a finite number"

    def from_text(self, text: str, place: Place) -> float:
        """Read a decimal number; ``nan`` and ``inf`` are none."""
        form = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]{1,3})?"
        if not re.fullmatch(form, text.strip(), re.IGNORECASE):
            raise ValueError(self.wanted)
        return self._finite(float(text))

    def from_toml(self, value: object, place: Place) -> float:
        """Take a whole or a fractional number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(self.wanted)
        return self._finite(float(_within_word(value)) if isinstance(value, int) else value)

    def show(self, value: float) -> str:
        """Write no fraction where there is none."""
        return repr(float(value)).removesuffix(".0")

    def _finite(self, value: float) -> float:
        if not math.isfinite(value):
            raise ValueError(self.finite)
        return value


class Toggle(Setting[bool]):
    """On or off."""

    kind = "bool"
    wanted = "true or false"
    YES: Final = frozenset({"true", "1", "yes", "on", "t"})
    NO: Final = frozenset({"false", "0", "no", "off", "f"})

    @property
    def choices(self) -> tuple[str, ...]:
        """Offer the two plain words."""
        return ("true", "false")

    def from_text(self, text: str, place: Place) -> bool:
        """Read the usual words of both meanings, in any case."""
        word = text.strip().lower()
        if word not in self.YES | self.NO:
            raise ValueError("true or false (also 1 0 yes no on off)")
        return word in self.YES

    def from_toml(self, value: object, place: Place) -> bool:
        """Take a boolean."""
        if not isinstance(value, bool):
            raise TypeError(self.wanted)
        return value

    def show(self, value: bool) -> str:  # noqa: FBT001 - the value itself
        """Write it as TOML does."""
        return "true" if value else "false"


class Text(Setting[str]):
    """One line of text; blanks at both ends do not count."""

    def from_text(self, text: str, place: Place) -> str:
        """Take the text, trimmed."""
        return text.strip()


class Choice(Setting[str]):
    """One of a closed list of words."""

    kind = "enum"

    def __init__(
        self,
        words: tuple[str, ...],
        default: str,
        help_text: str,
        *,
        also: Mapping[str, str] | None = None,
        **attributes: Unpack[Attributes],
    ) -> None:
        super().__init__(default, help_text, **attributes)
        self._words = words
        self._also = dict(also or {})

    @property
    def choices(self) -> tuple[str, ...]:
        """Give the closed list."""
        return self._words

    def from_text(self, text: str, place: Place) -> str:
        """Take a word in any case, or one of its other spellings."""
        word = text.strip().lower()
        word = self._also.get(word, word)
        if word not in self._words:
            raise ValueError("one of " + ", ".join(self._words))
        return word


class Names(Setting[tuple[str, ...]]):
    """A list of words; in variables and flags separated by commas."""

    kind = "list"
    wanted = "a list of strings"
    blank = ()

    def from_text(self, text: str, place: Place) -> tuple[str, ...]:
        """Divide at commas (and line breaks, for secrets in files)."""
        parts = re.split(r"[,\n]" if self.secret else ",", text)
        return self.tidy(parts, place)

    def from_toml(self, value: object, place: Place) -> tuple[str, ...]:
        """Take a list of strings."""
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise TypeError(self.wanted)
        return self.tidy(value, place)

    def tidy(self, parts: list[str], place: Place) -> tuple[str, ...]:
        """Trim, drop blanks, keep the first of equal ones, and check each."""
        seen = dict.fromkeys(part.strip() for part in parts if part.strip())
        return tuple(dict.fromkeys(self.one(part) for part in seen))

    def one(self, part: str) -> str:
        """Check and normalise one word."""
        return part

    def to_toml(self, value: tuple[str, ...]) -> list[str]:
        """Write a TOML list."""
        return list(value)

    def show(self, value: tuple[str, ...]) -> str:
        """Write a comma list, as a variable would hold it."""
        return ", ".join(value)


class Words(Names):
    """A list of words of a closed list."""

    def __init__(
        self,
        words: tuple[str, ...],
        default: tuple[str, ...],
        help_text: str,
        **attributes: Unpack[Attributes],
    ) -> None:
        super().__init__(default, help_text, **attributes)
        self._words = {word.lower(): word for word in words}

    @property
    def choices(self) -> tuple[str, ...]:
        """Give the closed list."""
        return tuple(self._words.values())

    def one(self, part: str) -> str:
        """Take a word in any case."""
        if part.lower() not in self._words:
            raise ValueError("of " + ", ".join(self._words.values()))
        return self._words[part.lower()]


class Cidrs(Names):
    """A list of networks; a bare address is a network of one."""

    kind = "cidrs"

    def one(self, part: str) -> str:
        """Take a network as it is usually written."""
        import ipaddress  # seldom needed, costs start-up time

        try:
            network = part.replace("%", " ")  # a zone means nothing to other machines
            return str(ipaddress.ip_network(network, strict=False))
        except ValueError:
            raise ValueError("networks such as 192.168.1.0/24") from None


class PathName(Setting[Path | None]):
    """A file or directory name."""

    kind = "path"
    blank = None

    def from_text(self, text: str, place: Place) -> Path:
        """Make it absolute: ``~`` is the home, relative names start at the place."""
        name = text.strip()
        if "\0" in name:
            raise ValueError("a path without NUL")
        if name == "~" or name.startswith("~/"):
            if place.home is None:
                raise ValueError("a path without ~, because there is no home directory")
            return place.home / name[2:]
        return place.directory / name

    def to_toml(self, value: Path | None) -> str:
        """Write it as text."""
        return "" if value is None else str(value)

    def as_written(self, text: str, place: Place) -> str:
        """Keep a relative name relative."""
        self.from_text(text, place)
        return text.strip()


class Url(Setting[str]):
    """An http or https address with a host, without a trailing slash."""

    kind = "url"
    FORM: Final = (
        r"https?://([^\x00-\x20\x7f/?#@\\]*@)?"
        r"(\[[0-9a-f:.]+\]|[^\x00-\x20\x7f/?#@:\[\]\\\"<>^`{|}]+)"
        r"(:([0-9]{1,5}))?(/[^\x00-\x20\x7f?#\\]*)?"
    )

    def from_text(self, text: str, place: Place) -> str:
        """Check scheme, host and port."""
        url = text.strip().rstrip("/")
        match = re.fullmatch(self.FORM, url, re.IGNORECASE)
        if match is None or not 0 < int(match[4] or 1) <= _MOST_PORT or not _fits(match[2]):
            raise ValueError("an http or https URL with a host and without ? or #")
        return url


class HostPort(Setting[str]):
    """A listen address ``host:port``; ``:port`` means every address."""

    kind = "hostport"

    def from_text(self, text: str, place: Place) -> str:
        """Check host and port."""
        address = text.strip()
        match = re.fullmatch(r"(\[[0-9A-Za-z:.%]+\]|[A-Za-z0-9._-]*):([0-9]{1,5})", address)
        if match is None or int(match[2]) > _MOST_PORT or not self._is_host(match[1]):
            raise ValueError("host:port, [v6 address]:port or :port, port 0..65535")
        return address

    def _is_host(self, host: str) -> bool:
        if host.startswith("["):
            return is_ipv6(host[1:-1].partition("%")[0])
        return not host or is_host(host.replace("_", "-"))


class Pairs(Setting[tuple[tuple[str, str], ...]]):
    """Pairs ``from`` and ``to``; in variables ``from=to``, separated by commas."""

    kind = "pairs"
    wanted = "a list of tables with from and to"
    blank = ()

    def from_text(self, text: str, place: Place) -> tuple[tuple[str, str], ...]:
        """Divide at commas and the first equals sign."""
        pairs = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            before, sign, after = part.partition("=")
            if not sign or not before.strip() or not after.strip():
                raise ValueError("a list such as /music=/data/music")
            pairs.append((before.strip(), after.strip()))
        return tuple(pairs)

    def from_toml(self, value: object, place: Place) -> tuple[tuple[str, str], ...]:
        """Take an array of tables."""
        if not isinstance(value, list):
            raise TypeError(self.wanted)
        return tuple(self._pair(item) for item in value)

    def _pair(self, item: object) -> tuple[str, str]:
        if not isinstance(item, dict) or set(item) != {"from", "to"}:
            raise TypeError(self.wanted)
        before, after = item["from"], item["to"]
        if not isinstance(before, str) or not isinstance(after, str):
            raise TypeError(self.wanted)
        if not before.strip() or not after.strip():
            raise ValueError("tables whose from and to are not blank")
        return before.strip(), after.strip()

    def to_toml(self, value: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
        """Write an array of tables."""
        return [{"from": before, "to": after} for before, after in value]

    def show(self, value: tuple[tuple[str, str], ...]) -> str:
        """Write it as a variable would hold it."""
        return ", ".join(f"{before}={after}" for before, after in value)


def _within_word(value: int) -> int:
    return min(max(value, _LEAST), _MOST)


def _fits(host: str) -> bool:
    return not host.startswith("[") or is_ipv6(host[1:-1])
