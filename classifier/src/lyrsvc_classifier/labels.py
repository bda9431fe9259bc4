"""The names of a model's classes: a list, a table, or inside the model file itself."""

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lyrsvc_classifier.faults import ModelUnusable

MOST_BYTES: Final = 4 * 1024 * 1024
NAME_COLUMN: Final = "display_name"


def find_labels(model: Path, labels: Path | None) -> list[str]:
    """Read the names from the file that is named, inside the model, or beside it."""
    if labels is not None:
        return _read(labels)
    inside = _inside(model)
    if inside:
        return inside
    for suffix in (".csv", ".txt"):
        if (beside := model.with_suffix(suffix)).is_file():
            return _read(beside)
    raise ModelUnusable(f"{model} has no labels; name their file with --labels")


def parse_labels(text: str) -> list[str]:
    """Read one name a line, or the column ``display_name`` of a table with a heading."""
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    if lines and NAME_COLUMN in [cell.strip() for cell in lines[0].split(",")]:
        rows = csv.DictReader(io.StringIO("\n".join(lines)), skipinitialspace=True)
        return [(row.get(NAME_COLUMN) or "").strip() for row in rows]
    return [line.strip() for line in lines]


def _read(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            names = parse_labels(file.read(MOST_BYTES).decode("utf-8"))
    except OSError as error:
        raise ModelUnusable(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise ModelUnusable(f"{path} is no list of labels") from error
    return _checked(names, path)


def _inside(model: Path) -> list[str]:
    """Read the list that a TensorFlow Lite file may carry with it."""
    try:
        with zipfile.ZipFile(model) as packed:
            lists = [name for name in packed.namelist() if name.endswith(".txt")]
            with packed.open(lists[0]) as file:
                return _checked(parse_labels(file.read(MOST_BYTES).decode("utf-8")), model)
    except (OSError, zipfile.BadZipFile, IndexError, UnicodeDecodeError):
        return []


def _checked(names: Sequence[str], path: Path) -> list[str]:
    if not names or not all(names):
        raise ModelUnusable(f"{path} has no labels, or an empty one")
    return list(names)
