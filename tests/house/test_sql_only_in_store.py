"""SQL lives in the store; everybody else asks it."""

import ast
import re
from collections.abc import Iterator

import pytest

from source_tree import modules, name

DATABASE_MODULES = ("apsw", "sqlite3", "psycopg")
FOREIGN_FILE_READER = "providers/lrclib_dump.py"
"""Reads somebody else's database, which has nothing to do with ours."""

STATEMENT = re.compile(
    r"""\bSELECT\s.+\sFROM\s | \bINSERT\s+(OR\s+\w+\s+)?INTO\s | \bREPLACE\s+INTO\s
    | \bUPDATE\s+\w+\s+(AS\s+\w+\s+)?SET\s | \bDELETE\s+FROM\s
    | \b(CREATE|ALTER|DROP)\s+(TEMP\s+|UNIQUE\s+|VIRTUAL\s+)*(TABLE|INDEX|TRIGGER|VIEW)\s
    | ^\s*PRAGMA\s+\w | ^\s*BEGIN(\s+IMMEDIATE|\s+EXCLUSIVE)?\s*$ | ^\s*VACUUM\b | ^\s*ATTACH\s""",
    re.DOTALL | re.VERBOSE,
)


def sql_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if STATEMENT.search(node.value):
                yield f"line {node.lineno}: {' '.join(node.value.split())[:60]}"
        elif isinstance(node, ast.Import):
            yield from (
                f"line {node.lineno}: import {a.name}" for a in node.names if is_database(a.name)
            )
        elif isinstance(node, ast.ImportFrom) and is_database(node.module or ""):
            yield f"line {node.lineno}: from {node.module} import"


def is_database(module: str) -> bool:
    return module.partition(".")[0] in DATABASE_MODULES


def test_no_module_outside_the_store_holds_sql_or_imports_a_database() -> None:
    found = {
        name(path): statements
        for path in modules()
        if not name(path).startswith("store/") and name(path) != FOREIGN_FILE_READER
        if (statements := list(sql_in(path.read_text("utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        'x = "SELECT id FROM work_items"',
        'x = """\n  UPDATE work_items\n     SET status = 1\n"""',
        'x = f"DELETE FROM {table}"',
        'x = "INSERT OR IGNORE INTO t (a) VALUES (1)"',
        'x = "PRAGMA user_version"',
        'x = "BEGIN IMMEDIATE"',
        "import apsw",
        "def f():\n    from sqlite3 import connect",
    ],
)
def test_a_statement_or_a_database_import_would_be_seen(source: str) -> None:
    assert len(list(sql_in(source))) == 1


@pytest.mark.parametrize(
    "text", ["Select one lane from the list.", "UPDATE", "begin", "Delete from disk"]
)
def test_plain_words_are_no_sql(text: str) -> None:
    assert list(sql_in(repr(text))) == []
