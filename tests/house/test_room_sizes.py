"""When a room grows too large, a second thing has moved in."""

from source_tree import ROOT, modules

MOST_LINES = 450


def test_no_module_is_longer_than_a_few_hundred_lines() -> None:
    rooms = [*modules(), ROOT / "dev.py", *sorted((ROOT / "devtools").glob("*.py"))]
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines())
        for path in rooms
    }
    assert {room: length for room, length in lengths.items() if length > MOST_LINES} == {}
