"""Editing the settings file: only the named value changes."""

import difflib
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lyrsvc.core.errors import ConfigError
from lyrsvc.settings.document import edit
from lyrsvc.settings.resolving import written_at
from lyrsvc.settings.save_errors import FileInvalid

ODD = """\
# The settings of Anna's box
# (do not touch)


[zzz_unknown]   # nobody knows this
list = [ 1,   2, # two
  3 ]
'quoted key' = "x"  # odd

[server]    # the server
  addr   =   ':4000'   # here
  tls = { self_signed = false , self_signed_hosts = ['a'] } # inline
[[server.path_mappings]]
from = "/a"
to = "/b"
[api]
# how slow
cooldown = 1_0   # ten
token = \"\"\"
several # lines
[api]
cooldown = 5
\"\"\"
# after the token

# before scan
[scan]
depth = 0x10
"""


def changed_lines(old, new):
    """Give the lines that went and the lines that came."""
    lines = list(difflib.ndiff(old.splitlines(), new.splitlines()))
    return [x[2:] for x in lines if x[0] == "-"], [x[2:] for x in lines if x[0] == "+"]


@pytest.mark.spec("C-15")
@pytest.mark.parametrize(
    ("path", "value", "gone", "come"),
    [
        ("api.cooldown", 20, ["cooldown = 1_0   # ten"], ["cooldown = 20   # ten"]),
        ("scan.depth", 7, ["depth = 0x10"], ["depth = 7"]),
        ("server.addr", ":1", ["  addr   =   ':4000'   # here"], ["  addr   =   ':1'   # here"]),
        (
            "server.addr",
            "it's:1",
            ["  addr   =   ':4000'   # here"],
            ['  addr   =   "it\'s:1"   # here'],
        ),
        (
            "server.tls.self_signed",
            True,
            ["  tls = { self_signed = false , self_signed_hosts = ['a'] } # inline"],
            ["  tls = { self_signed = true , self_signed_hosts = ['a'] } # inline"],
        ),
        (
            "server.tls.redirect_http",
            ":80",
            ["  tls = { self_signed = false , self_signed_hosts = ['a'] } # inline"],
            [
                "  tls = { self_signed = false , self_signed_hosts = ['a'], "
                'redirect_http = ":80" } # inline'
            ],
        ),
        ("api.max_miss_attempts", 3, [], ["max_miss_attempts = 3"]),
        ("server.worker_slots", 3, [], ["  worker_slots = 3"]),
        ("scan.tag_workers", 3, [], ["tag_workers = 3"]),
        ("logging.level", "debug", [], ["", "[logging]", 'level = "debug"']),
        ("api.cooldown", None, ["cooldown = 1_0   # ten"], ["# ten"]),
        ("scan.depth", None, ["depth = 0x10"], []),
        (
            "server.tls.self_signed",
            None,
            ["  tls = { self_signed = false , self_signed_hosts = ['a'] } # inline"],
            ["  tls = { self_signed_hosts = ['a'] } # inline"],
        ),
        (
            "api.token",
            "x",
            ['token = """', "several # lines", "[api]", "cooldown = 5", '"""'],
            ['token = "x"'],
        ),
    ],
)
def test_the_difference_shows_that_value_alone(path, value, gone, come):
    for text in (ODD, ODD.replace("\n", "\r\n"), "\ufeff" + ODD):
        line_end = "\r\n" if "\r\n" in text else "\n"
        new = edit(text, {path: value})
        assert new.count("\ufeff") == text.count("\ufeff")
        assert ("\r\n" in new) is (line_end == "\r\n")
        assert new.count("\n") == new.count(line_end)
        went, came = changed_lines(text.replace("\r\n", "\n"), new.replace("\r\n", "\n"))
        assert (went, came) == (gone, come)


def test_a_file_without_a_final_line_break_stays_without():
    assert edit("[api]\ncooldown = 5", {"api.cooldown": 6}) == "[api]\ncooldown = 6"
    assert edit("[api]\ncooldown = 5", {"api.max_miss_attempts": 1}) == (
        "[api]\ncooldown = 5\nmax_miss_attempts = 1"
    )
    assert edit("[api]", {"api.cooldown": 6}) == "[api]\ncooldown = 6"


def test_a_comment_above_the_next_table_stays_with_it():
    text = "[api]\ncooldown = 5\n\n# about the server\n[server]\n"
    assert edit(text, {"api.max_miss_attempts": 1}) == (
        "[api]\ncooldown = 5\nmax_miss_attempts = 1\n\n# about the server\n[server]\n"
    )


@pytest.mark.parametrize(
    ("text", "path", "value", "wanted"),
    [
        ("", "api.cooldown", 5, "[api]\ncooldown = 5\n"),
        ("\n", "api.cooldown", 5, "\n[api]\ncooldown = 5\n"),
        ("# x", "api.cooldown", 5, "# x\n\n[api]\ncooldown = 5\n"),
        ("api = {}\n", "api.cooldown", 5, "api = { cooldown = 5 }\n"),
        ("api.token = ''\n", "api.cooldown", 5, "api.token = ''\napi.cooldown = 5\n"),
        (
            "[server.tls]\nself_signed = true\n",
            "server.addr",
            ":1",
            '[server.tls]\nself_signed = true\n\n[server]\naddr = ":1"\n',
        ),
        (
            "[server]\n\ttls.self_signed = true\n",
            "server.tls.redirect_http",
            ":1",
            '[server]\n\ttls.self_signed = true\n\ttls.redirect_http = ":1"\n',
        ),
        (
            "[server]\naddr = ':1'\n",
            "server.tls.self_signed",
            True,
            "[server]\naddr = ':1'\n\n[server.tls]\nself_signed = true\n",
        ),
        (
            "server = { tls.self_signed = true }\n",
            "server.tls.redirect_http",
            ":1",
            'server = { tls.self_signed = true, tls.redirect_http = ":1" }\n',
        ),
        (
            "[api]\n[server]\n[api.unknown]\nx = 1\n",
            "api.cooldown",
            5,
            "[api]\ncooldown = 5\n[server]\n[api.unknown]\nx = 1\n",
        ),
        (
            "[[server.path_mappings]]\nfrom = '/a'\nto = '/b' # why\n[server]\n",
            "server.path_mappings",
            [{"from": "/c", "to": "/d"}],
            '# why\n[server]\npath_mappings = [{ from = "/c", to = "/d" }]\n',
        ),
        ("[[server.path_mappings]]\nfrom='/a'\nto='/b'\n", "server.path_mappings", None, ""),
        ("[api.cooldown]\nx = 1\n", "api.cooldown", 5, "[api]\ncooldown = 5\n"),
        ("api.cooldown = 5 # c\n", "api.cooldown", None, "# c\n"),
        ("[enrichment]\nenabled = 1\n", "enrichment.enabled", True, "[enrichment]\nenabled = true\n"),
        ("[api]\ncooldown = 15.0\n", "api.cooldown", 15, "[api]\ncooldown = 15\n"),
        ("x = nan\n[api]\ncooldown = 1\n", "api.cooldown", 2, "x = nan\n[api]\ncooldown = 2\n"),
    ],
)  # fmt: skip
def test_every_way_to_write_a_table_can_be_edited(text, path, value, wanted):
    assert edit(text, {path: value}) == wanted


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("[api]\ncooldown = 0x14\n", {"api.cooldown": 20}),
        ("[api]\ntoken = '''x'''\n", {"api.token": "x"}),
        ("[api]\n", {"api.cooldown": None}),
        ("", {"api.cooldown": None, "server.tls.self_signed": None}),
        ("[server]\nallowed_hosts = [\n'a', # x\n]\n", {"server.allowed_hosts": ["a"]}),
    ],
)
def test_a_value_that_is_there_already_changes_nothing(text, changes):
    assert edit(text, changes) == text


def test_several_changes_are_made_at_once():
    new = edit(ODD, {"api.cooldown": 1, "scan.depth": None, "output.word_timing": "inline"})
    assert changed_lines(ODD, new)[1] == [
        "cooldown = 1   # ten",
        "",
        "[output]",
        'word_timing = "inline"',
    ]


def test_a_broken_file_is_not_touched():
    with pytest.raises(FileInvalid, match=r"line 1, column 3"):
        edit("[[[", {"api.cooldown": 5})


def test_a_value_where_a_table_should_be_is_not_replaced():
    with pytest.raises(ConfigError, match="api is not a table"):
        edit("api = 5\n", {"api.cooldown": 5})


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("api.cooldown.x = 1\n", {"api.cooldown": 5}),
        ("[[server]]\naddr = ':1'\n", {"server.addr": ":2"}),
    ],
)
def test_what_cannot_be_edited_is_refused(text, changes):
    with pytest.raises(ConfigError, match=r"cannot be edited|not a table"):
        edit(text, changes)


# -- files as anybody might write them --------------------------------------------------------

COMMENTS = st.sampled_from(["", " # c", "\t#[x] = 'y'", " #"])
BLANKS = st.sampled_from(["", " ", "\t", "  "])
VALUES = st.sampled_from(
    [
        "1", "0x1", "1.5e3", "true", "'li]t'", '"ba\\"s # ic"', "'''a\n] # '' b'''",
        '"""x\n"quoted" \\\n  y"""', "[1, 2]", "[\n  'a', # x ]\n  'b',\n]", "{ a = 1, b.c = [{}] }",
        "{}", "[]", "1979-05-27 07:32:00", "07:32:00", "inf", '""""five"""""', "[[1], ['a']]",
    ]
)  # fmt: skip
OWN = ("cooldown", "token", "depth", "enabled")


@st.composite
def documents(draw):  # noqa: C901 - one statement after the other
    """Write a TOML file in odd ways; keys are unique, so that it is always valid."""
    lines = []

    def gap():
        for _ in range(draw(st.integers(0, 2))):
            lines.append(draw(st.sampled_from(["", "  ", "# note", "#[api]", "\t# x = 1"])))

    def pair(key, value):
        before, around = draw(BLANKS), draw(BLANKS)
        lines.append(f"{before}{key}{around}={around}{value}{draw(COMMENTS)}")

    for number in range(draw(st.integers(0, 2))):
        gap()
        pair(f"root{number}", draw(VALUES))
    dotted = draw(st.booleans())
    if dotted:
        for key in draw(st.lists(st.sampled_from(OWN), unique=True, max_size=2)):
            pair(draw(st.sampled_from([f"api.{key}", f'"api" . {key}'])), draw(VALUES))
    elif draw(st.booleans()):
        members = draw(st.lists(st.sampled_from(OWN), unique=True, max_size=3))
        inside = draw(st.sampled_from([", ", " , ", ","])).join(f"{key} = 1" for key in members)
        pair("api", f"{{{inside}}}")
        dotted = True
    tables = draw(st.permutations(["scan", "server.tls", "server", "other.x", "api", "'o.o'"]))
    for table in tables[: draw(st.integers(0, 6))]:
        if table == "api" and dotted:
            continue
        gap()
        lines.append(f"{draw(BLANKS)}[{draw(BLANKS)}{table}{draw(BLANKS)}]{draw(COMMENTS)}")
        for key in draw(st.lists(st.sampled_from([*OWN, "'odd key'"]), unique=True, max_size=3)):
            gap()
            pair(key, draw(VALUES))
    gap()
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", "\ufeff"])) + text


def plain(value):
    """Drop empty tables, and let NaN and types count."""
    if isinstance(value, dict):
        parts = {key: plain(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part != {}}
    return [plain(part) for part in value] if isinstance(value, list) else repr(value)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    documents(),
    st.sampled_from(["api", "scan", "server", "server.tls", "realign"]),
    st.sampled_from(OWN),
    st.sampled_from([None, 7, True, "text 'x'", ["a", "b"], [{"from": "/a", "to": "/b"}]]),
)
@pytest.mark.spec("C-15")
def test_any_file_keeps_everything_but_the_one_value(text, table, key, value):
    path = f"{table}.{key}"
    before = tomllib.loads(text.removeprefix("\ufeff"))
    new = edit(text, {path: value})
    after = tomllib.loads(new.removeprefix("\ufeff"))
    assert written_at(after, path) == value

    def without(document):
        node = document
        for part in table.split("."):
            node = node.get(part, {})
        node.pop(key, None)
        return plain(document)

    present = written_at(before, path) is not None
    assert without(before) == without(after)
    kept = text.splitlines()
    came = new.splitlines()
    shared = sum(
        block.size
        for block in difflib.SequenceMatcher(None, kept, came, False).get_matching_blocks()
    )
    if not present and value is None:
        assert new == text
    elif not present:
        # one line is new (or one inline table's line is another), or a table of two and a gap
        assert len(came) - shared <= 3
        assert len(kept) - shared <= 1
    elif value is not None:
        assert len(came) - shared <= 1
        assert len(kept) - shared <= 4  # no value above has more lines
    assert edit(new, {path: value}) == new
