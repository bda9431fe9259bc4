"""A stack trace or a search hit names one place."""

from collections import defaultdict

from source_tree import modules, name


def test_no_two_modules_share_a_name() -> None:
    places = defaultdict(list)
    for path in modules():
        if path.name != "__init__.py":
            places[path.name].append(name(path))
    assert [shared for shared in places.values() if len(shared) > 1] == []
