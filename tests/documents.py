"""The documents of the repository as tests read them: fences, commands, links, names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from source_tree import ROOT

GENERATED: Final = frozenset({"configuration.md", "cli.md", "http-api.md", "seed-checklist.md"})
"""Pages that the program writes about itself; other tests keep them fresh."""

COMMANDS: Final = frozenset({"sh", "console", "powershell"})
OTHER: Final = frozenset(
    {"toml", "ini", "json", "yaml", "text", "python", "nginx", "caddyfile", "apache", "promql"}
)

_FENCE: Final = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)\s*$")
_MARKER: Final = re.compile(r"^\s*<!-- not run: (?P<reason>\S.*?) -->\s*$")
_STOPPED: Final = re.compile(r"^\s*<!-- the service is stopped here -->\s*$")
_HEREDOC: Final = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_LINK: Final = re.compile(
    r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|source)\b[^>]*?\bsrc(?:set)?=\"([^\"]+)\""
)
_SPAN: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_HEADING: Final = re.compile(r"^#{1,6} +(.*?)\s*$")
_ENDS: Final = re.compile(r"\s+# ends with (\d+)\s*$")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command as it stands in a document, and what is shown to come of it."""

    text: str
    line: int
    shows: tuple[str, ...] = ()
    ends_with: int = 0
    on_screen: bool = False
    """Typed at a terminal, whose output is shown."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block; ``not_run`` is why its commands are not run.

    Before a block that ``stops``, whoever reads has stopped the service.
    """

    document: Path
    line: int
    language: str
    text: str
    not_run: str = ""
    stops: bool = False

    @property
    def where(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[Command]:
        """Give the commands of a block of commands, one by one."""
        if self.language == "console":
            return list(_typed(self))
        return list(_scripted(self))


@dataclass(frozen=True)
class Document:
    """A document, read once."""

    path: Path
    blocks: list[Block] = field(default_factory=list)
    prose: list[tuple[int, str]] = field(default_factory=list)
    """Every line outside of fences, with its number."""

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def spans(self) -> Iterator[tuple[int, str]]:
        """Give what stands between backticks."""
        for number, line in self.prose:
            yield from ((number, found[1]) for found in _SPAN.finditer(line))

    @property
    def links(self) -> Iterator[tuple[int, str]]:
        """Give where links and pictures lead."""
        for number, line in self.prose:
            bare = _SPAN.sub("", line)
            yield from ((number, found[1] or found[2]) for found in _LINK.finditer(bare))

    @property
    def anchors(self) -> set[str]:
        """Give the names under which headings can be reached."""
        found: set[str] = set()
        for _, line in self.prose:
            if heading := _HEADING.match(line):
                slug = _slug(heading[1])
                names = (slug, *(f"{slug}-{count}" for count in range(1, 50)))
                found.add(next(name for name in names if name not in found))
        return found


def written_documents() -> list[Document]:
    """Read every document that people write: the front page, docs/ and the examples."""
    paths = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "decisions").glob("*.md")),
        *sorted((ROOT / "examples").glob("*/README.md")),
    ]
    return [read_document(path) for path in paths if path.name not in GENERATED]


def read_document(path: Path) -> Document:
    """Divide a document into fenced blocks and prose."""
    document = Document(path)
    lines = path.read_text("utf-8").splitlines()
    at, reason, stops = 0, "", False
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            marker = _MARKER.match(lines[at])
            if lines[at].strip():
                reason = marker["reason"] if marker else ""
                stops = bool(_STOPPED.match(lines[at]))
            document.prose.append((at + 1, lines[at]))
            at += 1
            continue
        indent = fence["indent"]
        end = next(n for n in range(at + 1, len(lines)) if lines[n] == f"{indent}```")
        inside = [line.removeprefix(indent) for line in lines[at + 1 : end]]
        document.blocks.append(
            Block(
                document=path,
                line=at + 2,
                language=fence["language"],
                text="\n".join(inside),
                not_run=reason,
                stops=stops,
            )
        )
        at, reason, stops = end + 1, "", False
    return document


def _scripted(block: Block) -> Iterator[Command]:
    """Give the commands of a block that is copied as a whole."""
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        start = at
        if not lines[at].strip() or lines[at].lstrip().startswith("#"):
            at += 1
            continue
        at = _end_of_command(lines, at)
        yield Command(text="\n".join(lines[start:at]), line=block.line + start)


def _typed(block: Block) -> Iterator[Command]:
    """Give the commands after each ``$``, with the output that is shown below."""
    lines = block.text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        end = _end_of_command(lines, start)
        text = "\n".join(lines[start:end]).removeprefix("$ ")
        ends = _ENDS.search(text)
        yield Command(
            text=_ENDS.sub("", text),
            line=block.line + start,
            shows=tuple(line for line in lines[end:following] if line.strip()),
            ends_with=int(ends[1]) if ends else 0,
            on_screen=True,
        )


def _end_of_command(lines: list[str], at: int) -> int:
    """Give the line after a command: lines that go on and here-documents belong to it."""
    while lines[at].endswith("\\"):
        at += 1
    if heredoc := _HEREDOC.search(lines[at]):
        at = lines.index(heredoc[1], at)
    return at + 1


def _slug(heading: str) -> str:
    """Name a heading as the usual renderers of Markdown do."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
