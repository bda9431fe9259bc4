"""What people read about settings: documentation, example, views."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.setting import Flag, Section, Tab, Tier, clamp, table
from lyrsvc.core.setting_kinds import Integer
from lyrsvc.settings import reference
from lyrsvc.settings.registry import Registry
from lyrsvc.settings.sections import Settings
from lyrsvc.settings.toml_values import toml_value

SECRET = "tok-5ecret-0123456789"


class Dummy(Section):
    """A section that exists only here."""

    knob = Integer(
        7, "Turns of the knob.", unit="turns", check=clamp(1, 11), env="LYRSVC_KNOB",
        flag=Flag("--knob", ("serve",)), tab=Tab.COMMON, tier=Tier.CAUTION,
    )  # fmt: skip


class WithDummy(Settings):
    """All settings and one more."""


for _name, _member in list(vars(Settings).items()):
    if not _name.startswith("__"):
        setattr(WithDummy, _name, _member)
WithDummy.dummy = table(Dummy)


@pytest.mark.spec("C-73")
def test_the_example_uncommented_as_a_whole_equals_the_defaults(machine):
    text = reference.example(Registry())
    uncommented = re.sub(r"(?m)^# ", "", text)
    loaded = machine.examine(uncommented)
    plain = machine.examine("")
    assert loaded.findings == ()
    assert loaded.resolution.values == plain.resolution.values
    written = sum(source == "file" for source in loaded.resolution.sources.values())
    assert written > 60
    assert machine.examine(re.sub(r"(?m)^#", "", text)).findings == ()


def test_the_example_as_it_stands_sets_nothing(machine):
    loaded = machine.examine(reference.example(Registry()))
    assert loaded.findings == ()
    assert set(loaded.resolution.sources.values()) == {"default"}


def test_the_example_shows_every_setting_of_the_file_that_is_not_deprecated():
    text = reference.example(Registry())
    shown = tomllib.loads(re.sub(r"(?m)^# ", "", text))
    for entry in Registry().entries:
        node = shown
        for part in entry.path.split("."):
            node = node.get(part, {}) if isinstance(node, dict) else {}
        expected = not (entry.setting.env_only or entry.setting.deprecated)
        assert (node != {}) is expected, entry.path


@pytest.mark.spec("C-72")
def test_a_new_setting_appears_everywhere_by_its_declaration_alone(machine):
    registry = Registry(WithDummy)
    row = next(line for line in reference.markdown(registry).splitlines() if "dummy.knob" in line)
    for part in ("`LYRSVC_KNOB`", "`LYRSVC_DUMMY_KNOB`", "`--knob` (serve)", "int turns", "`7`"):
        assert part in row
    for part in ("1..11", "Common", "caution", "Turns of the knob."):
        assert part in row
    assert "# knob = 7" in reference.example(registry)
    assert registry.by_variable["LYRSVC_KNOB"].path == "dummy.knob"

    loaded = machine.examine("", {"LYRSVC_DUMMY_KNOB": "9"}, root=WithDummy)
    assert loaded.findings == ()
    assert loaded.settings.dummy.knob == 9
    written = reference.effective_toml(loaded)
    assert "knob = 9  # env:LYRSVC_DUMMY_KNOB" in written
    assert machine.examine("[dummy]\nknob = 4\n", root=WithDummy).settings.dummy.knob == 4
    assert machine.examine("", {}, {"dummy.knob": "5"}, root=WithDummy).settings.dummy.knob == 5
    clamped = machine.examine("[dummy]\nknob = 40\n", root=WithDummy)
    assert (clamped.settings.dummy.knob, len(clamped.warnings)) == (11, 1)
    machine.save({"dummy.knob": 6}, root=WithDummy)
    assert "knob = 6" in machine.config.read_text()
    assert machine.examine("[dummy]\nknob = 4\n").warnings != ()


@pytest.mark.spec("C-20")
@pytest.mark.parametrize(
    "toml",
    [
        f"[api]\ntoken = '{SECRET}'\n",
        f"api.token = '{SECRET}'\n",
        f"api = {{ token = '{SECRET}', cooldown = 3 }}\n",
        f'[api]\ntoken = """\n{SECRET}\n"""\n',
        f'"api" . "token" = "{SECRET}"\n',
        f"[server]\nwebhook_api_keys = [\n  '{SECRET}',\n  '{SECRET}-2',\n]\n",
        f"server.webhook_api_keys = ['{SECRET}']\n",
        f"[providers.lrclib]\nbase_url = 'https://me:{SECRET}@mirror.example/x'\n",
        f"[instrumental_detector]\nclassifier_url = 'http://{SECRET}@box/'\n",
    ],
)
def test_no_view_shows_a_secret_however_it_was_written(machine, toml):
    loaded = machine.examine(toml)
    assert loaded.faults == ()
    text = reference.effective_toml(loaded)
    assert SECRET not in text
    assert reference.REDACTED in text
    tomllib.loads(text)
    revealed = set()
    for entry in loaded.registry.entries:
        value = loaded.resolution.values[entry.path]
        assert SECRET not in reference.shown(entry, value)
        if SECRET in reference.shown(entry, value, reveal=True):
            revealed.add(entry.path)
    assert len(revealed) == 1
    assert not any(SECRET in found.text for found in loaded.findings)


def test_an_unset_secret_is_called_not_set(machine):
    loaded = machine.examine("")
    entry = loaded.registry.by_path["api.token"]
    assert reference.shown(entry, "") == "(not set)"
    assert reference.shown(entry, "x") == "[REDACTED]"


def test_effective_settings_are_valid_toml_that_means_the_same(machine):
    toml = (
        '[server]\ninstance_name = "Anna\'s \\"box\\" \\\\ 歌"\n'
        "path_mappings = [{from = '/a', to = '/b'}]\n"
        '[output]\ndir = "sub/dir"\n[providers.lrclib]\ncooldown_seconds = 2.5\n'
    )
    loaded = machine.examine(toml, {"LYRSVC_SCAN_DEPTH": "3"}, {"server.addr": ":1"})
    text = reference.effective_toml(loaded)
    assert "depth = 3  # env:LYRSVC_SCAN_DEPTH" in text
    assert 'addr = ":1"  # flag' in text
    assert "cooldown = 15  # default" in text
    again = machine.examine(text)
    assert again.resolution.values == loaded.resolution.values
    assert again.faults == ()


def test_names_that_are_no_unicode_are_shown_all_the_same(machine):
    loaded = machine.examine("", {"LYRSVC_LOG_FILE": "/x/\udcff.log"})
    text = reference.effective_toml(loaded)
    assert tomllib.loads(text)["logging"]["file"].startswith("/x/")
    text.encode("utf-8")


@given(
    st.recursive(
        st.text() | st.booleans() | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["from", "to"]), inner),
        max_leaves=6,
    )
)  # fmt: skip
def test_whatever_is_written_as_toml_is_read_back_as_it_was(value):
    assert tomllib.loads(f"x = {toml_value(value)}\n") == {"x": value}


def test_the_page_speaks_of_paths_and_file_twins():
    page = reference.markdown(Registry())
    assert "`PROVIDER_TOKEN`†" in page
    assert "`LYRSVC_WEBAUTH_ADMIN_PASSWORD`†" not in page
    assert "| container (`LYRSVC_DOCKER=true`) | `/config/config.toml` |" in page
    assert "LYRSVC_COMPLETE" not in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert all(line.count(" | ") == 6 for line in rows)


def test_numbers_are_shown_without_losing_digits(machine):
    loaded = machine.examine("[realign]\nmin_margin = 0.1234567\n[scan]\ndepth = 3\n")
    entry = loaded.registry.by_path["realign.min_margin"]
    assert reference.shown(entry, loaded.settings.realign.min_margin) == "0.1234567"
    assert reference.shown(loaded.registry.by_path["providers.lrclib.cooldown_seconds"], 1.0) == "1"
    entry = loaded.registry.by_path["server.path_mappings"]
    assert reference.shown(entry, (("/a", "/b"), ("/c", "/d"))) == "/a=/b, /c=/d"
