"""The tags of the container image: ``python3 -m devtools.image_tags v1.4.2`` or ``nightly``.

A stable release takes ``latest`` and its minor line only from what is older, a prerelease takes
``beta`` likewise; so a late fix for an old line never turns the clock back.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from devtools import Refusal

NIGHTLY = "nightly"

_NUMBER = r"(0|[1-9]\d*)"
_PART = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_RELEASE = re.compile(rf"v{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_PART}(?:\.{_PART})*))?", re.ASCII)
_DAY = re.compile(r"\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", re.ASCII)


@dataclass(frozen=True, order=True)
class Release:
    """A version in the order of versions: a prerelease comes before its release."""

    line: tuple[int, int]
    patch: int
    is_stable: bool
    rank: tuple[tuple[bool, int, str], ...]
    text: str = field(compare=False)


def read_release(tag: str) -> Release | None:
    """Read a release tag such as ``v1.4.2`` or ``v1.5.0-rc.1``; None when it is something else."""
    found = _RELEASE.fullmatch(tag)
    if found is None:
        return None
    major, minor, patch, before = found.groups()
    return Release(
        line=(int(major), int(minor)),
        patch=int(patch),
        is_stable=before is None,
        rank=tuple(_rank(part) for part in before.split(".")) if before else (),
        text=tag.removeprefix("v"),
    )


def release_tags(tag: str, known: Iterable[str] = ()) -> list[str]:
    """List the image tags of a release, given the tags of all releases that exist."""
    release = read_release(tag)
    if release is None:
        raise Refusal(f"{tag!r} is no release tag; v<major>.<minor>.<patch>[-<pre>] is", usage=True)
    others = [other for other in map(read_release, known) if other is not None]
    rivals = [other for other in others if other.is_stable == release.is_stable]
    is_newest = all(other <= release for other in rivals)
    if not release.is_stable:
        return [release.text, *(["beta"] if is_newest else [])]
    leads_line = all(other <= release for other in rivals if other.line == release.line)
    minor = ".".join(map(str, release.line))
    return [
        release.text,
        *([minor] if leads_line else []),
        *(["latest"] if is_newest else []),
    ]


def nightly_tags(day: str) -> list[str]:
    """List the image tags of a scheduled build of the main branch, on a day of UTC: YYYYMMDD."""
    if _DAY.fullmatch(day) is None:
        raise Refusal(f"{day!r} is no day; YYYYMMDD is", usage=True)
    return ["dev", NIGHTLY, f"{NIGHTLY}-{day}"]


def main(words: Sequence[str]) -> int:
    """Print one tag a line; the releases that exist are those of the repository."""
    try:
        if words[:1] == [NIGHTLY] and len(words) <= 2:
            tags = nightly_tags(words[1] if words[1:] else time.strftime("%Y%m%d", time.gmtime()))
        elif len(words) == 1:
            listed = subprocess.run(
                ["git", "tag", "--list"], check=True, capture_output=True, text=True
            )
            tags = release_tags(words[0], listed.stdout.split())
        else:
            print("usage: python3 -m devtools.image_tags TAG | nightly [YYYYMMDD]", file=sys.stderr)
            return 2
    except (Refusal, OSError, subprocess.CalledProcessError) as error:
        print(f"image_tags: {error}", file=sys.stderr)
        return 2
    print("\n".join(tags))
    return 0


def _rank(part: str) -> tuple[bool, int, str]:
    """Order the parts of a prerelease: numbers by value, before all words."""
    return (False, int(part), "") if part.isdigit() else (True, 0, part)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
