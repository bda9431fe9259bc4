"""The package's source, as the house tests read it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "lyrsvc"


def modules() -> Iterator[Path]:
    """List the package's modules."""
    yield from sorted(PACKAGE.rglob("*.py"))


def name(path: Path) -> str:
    """Name a module by its path inside the package."""
    return path.relative_to(PACKAGE).as_posix()


def dotted(node: ast.expr) -> str:
    """Spell an expression like ``os.environ``; empty when it is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""
