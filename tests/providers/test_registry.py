"""Which lanes there are, and how a stranger's lane is let in or turned away."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lyrsvc.core.errors import ConfigError, Malformed, Miss, Transient
from lyrsvc.core.lyrics import Candidate, Matched
from lyrsvc.core.matching import judge_match
from lyrsvc.core.recording import Recording
from lyrsvc.providers.lane_registry import BUILTIN, HouseEnv, find_lanes, known_lanes
from lyrsvc.providers.tokens import OperatorToken

ENV = HouseEnv(version="9.9.9", user_agent="agent", tokens=OperatorToken("secret", "--token"))
ASKED = Recording(title="Song", artist="Band", duration_ms=200_000)
GOOD = """
from lyrsvc.core.lyrics import Candidate, Cue, Matched

class Lane:
    name = "{name}"
    local = False
    needs_token = False

    def __init__(self, settings, env):
        self.settings, self.env = settings, env

    def lookup(self, recording, ctx):
        {lookup}

    def probe(self, ctx):
        {probe}

    def close(self):
        pass

def make(settings, env):
    return Lane(settings, env)
"""
ANSWER = (
    'return [Candidate(matched=Matched(artist="Band", title="Song", duration_ms=200_000), '
    'cues=(Cue(1000, "one"), Cue(2500, "two")))]'
)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution with one entry point, as pip would leave it."""
    count = 0

    def install(lane: str, module_text: str, *, package: str = "strange-lyrics", target="make"):
        nonlocal count
        count += 1
        site = tmp_path / f"site{count}"
        module = f"strange_lyrics_{tmp_path.name.replace('-', '_')}_{count}"
        info = site / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[lyrsvc.providers]\n{lane} = {module}:{target}\n")
        (site / f"{module}.py").write_text(module_text)
        monkeypatch.syspath_prepend(str(site))
        return module

    return install


def source(name="strange", lookup=ANSWER, probe="pass"):
    return GOOD.format(name=name, lookup=lookup, probe=probe)


def fault_of(*names, make=False) -> str:
    def use():
        for lane in find_lanes(names):
            if make:
                lane.make({}, ENV)

    with pytest.raises(ConfigError) as caught:
        use()
    return str(caught.value)


def test_the_built_in_lanes_are_declared_once_and_agree_with_themselves(tmp_path):
    settings = {"base_url": "http://127.0.0.1:9", "app_id": "x"}
    for lane in BUILTIN[:2]:
        provider = lane.make(settings, ENV)
        assert (provider.name, provider.needs_token) == (lane.name, lane.needs_token)
    assert known_lanes()[:3] == ("defaultprov", "lrclib", "lrclib-dump")
    assert [lane.name for lane in find_lanes(["lrclib", "defaultprov", "lrclib"])] == [
        "lrclib",
        "defaultprov",
    ]


def test_the_dump_lane_is_made_from_its_path(tmp_path):
    (lane,) = find_lanes(["lrclib-dump"])

    with pytest.raises(ConfigError, match="absent"):
        lane.make({"path": tmp_path / "absent"}, ENV)


@pytest.mark.spec("P-39")
def test_a_good_stranger_is_used_and_judged_like_any_other(install, context):
    module = install("strange", source())

    assert "strange" in known_lanes()
    assert module not in sys.modules
    (lane,) = find_lanes(["strange"])
    provider = lane.make({"colour": "blue"}, ENV)
    (candidate,) = provider.lookup(ASKED, context(ASKED))

    assert judge_match(ASKED, candidate.matched).accepted
    assert judge_match(replace(ASKED, artist="Other"), candidate.matched).rejected
    inner = provider._provider
    assert inner.settings == {"colour": "blue"}
    assert (inner.env.version, inner.env.user_agent) == ("9.9.9", "agent")
    assert not hasattr(inner.env, "tokens")
    provider.probe(context())
    provider.close()
    provider.close()


@pytest.mark.parametrize("holder", ["", "make."])
def test_a_stranger_declares_its_settings_beside_or_on_its_maker(install, holder):
    install("strange", source() + f"\n{holder}Section = 'declared'\n")

    (lane,) = find_lanes(["strange"])

    assert lane.source.Section == "declared"


def test_a_stranger_is_not_loaded_unless_named(install):
    module = install("strange", "raise SystemError('loaded')")

    assert find_lanes(["lrclib"])
    assert module not in sys.modules


@pytest.mark.spec("P-39")
def test_what_a_stranger_raises_is_brought_into_the_closed_set(install, context):
    install(
        "strange", source(lookup='raise ValueError("https://secret.example/token")', probe="1 / 0")
    )
    provider = find_lanes(["strange"])[0].make({}, ENV)

    with pytest.raises(Transient) as caught:
        provider.lookup(ASKED, context())
    assert str(caught.value) == "ValueError"
    with pytest.raises(Transient, match="ZeroDivisionError"):
        provider.probe(context())


@pytest.mark.parametrize(
    ("lookup", "expected"),
    [
        ("return []", Miss),
        ("return None", Miss),
        ('return ["words"]', Malformed),
        ("from lyrsvc.core.errors import Miss; raise Miss()", Miss),
    ],
)
def test_what_a_stranger_answers_is_brought_into_the_contract(install, context, lookup, expected):
    install("strange", source(lookup=lookup))
    provider = find_lanes(["strange"])[0].make({}, ENV)

    with pytest.raises(expected):
        provider.lookup(ASKED, context())


def test_a_stranger_gives_at_most_fifty_candidates(install, context):
    install("strange", source(lookup="return [Candidate(matched=Matched())] * 90"))
    provider = find_lanes(["strange"])[0].make({}, ENV)

    assert provider.lookup(ASKED, context()) == [Candidate(matched=Matched())] * 50


@pytest.mark.spec("P-39")
def test_a_stranger_by_another_name_is_refused(install):
    install("strange", source(name="other"))

    assert fault_of("strange", make=True) == (
        "lane strange of strange-lyrics calls itself by another name"
    )


@pytest.mark.spec("P-39")
@pytest.mark.parametrize("name", ["lrclib", "defaultprov", "detector"])
def test_a_built_in_name_cannot_be_replaced(install, name):
    install(name, source(name=name))

    assert fault_of(name) == f"lane {name} is built in and cannot be replaced by strange-lyrics"


@pytest.mark.spec("P-39")
def test_a_lane_nobody_offers_is_refused_naming_the_group():
    fault = fault_of("absent")

    assert "absent" in fault
    assert "lyrsvc.providers" in fault


@pytest.mark.parametrize(
    ("module", "target"),
    [
        ("raise RuntimeError('x')", "make"),
        ("import absent_module", "make"),
        ("", "make"),
        ("make = 5", "make"),
    ],
)
def test_a_stranger_that_cannot_be_loaded_is_refused_naming_its_package(install, module, target):
    install("strange", module, target=target)

    assert "strange-lyrics" in fault_of("strange")


def test_a_stranger_that_cannot_be_made_is_refused_naming_its_package(install):
    install("strange", "def make(settings, env):\n    raise KeyError('key')")

    assert (
        fault_of("strange", make=True) == "lane strange of strange-lyrics cannot be made: KeyError"
    )


def test_two_packages_with_one_lane_are_refused(install):
    install("strange", source())
    install("strange", source(), package="stranger-lyrics")

    fault = fault_of("strange")
    assert "strange-lyrics and stranger-lyrics" in fault


@pytest.mark.parametrize("name", ["Strange", "x", "a" * 33, "1st", "with_line"])
def test_a_name_that_is_no_label_is_refused(install, name):
    install(name, source(name=name))

    assert "no lane name" in fault_of(name)


def test_every_fault_is_told_at_once(install):
    install("lrclib", source(name="lrclib"))

    with pytest.raises(ConfigError) as caught:
        find_lanes(["absent", "lrclib", "gone"])
    assert len(caught.value.faults) == 3


def test_the_registry_imports_no_lane_and_no_metadata_reader():
    code = "import sys, lyrsvc.providers.lane_registry; print(*sys.modules)"
    src = Path(__file__).parents[2] / "src"

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(src)},
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.split())
    assert not loaded & {"urllib3", "sqlite3", "importlib.metadata", "lyrsvc.providers.lrclib"}
