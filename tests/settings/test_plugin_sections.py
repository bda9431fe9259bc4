"""Settings that plugin lanes bring along."""

import tomllib

import pytest

from lyrsvc.core.errors import ConfigError
from lyrsvc.core.setting import Section, Tier, clamp
from lyrsvc.core.setting_kinds import Integer, Text
from lyrsvc.settings import reference
from lyrsvc.settings.registry import Registry
from lyrsvc.settings.sections import Settings


class Songbook(Section):
    """The songbook lane."""

    api_key = Text("", "Key of the songbook.", secret=True, tier=Tier.CRITICAL)
    pages = Integer(3, "Pages to turn.", check=clamp(1, 9), env="SONGBOOK_PAGES")


@pytest.fixture
def machine(machine):
    machine.plugins = {"song-book": Songbook, "plain": None}
    return machine


def test_a_plugin_lane_can_be_chosen_and_configured_like_a_built_in_one(machine):
    toml = (
        '[providers]\nprimary = "song-book"\nfallback_order = ["plain", "lrclib"]\n'
        '[providers.song_book]\npages = 5\napi_key = "k-0123456"\n'
    )
    loaded = machine.examine(toml)
    assert loaded.findings == ()
    assert loaded.settings.providers.song_book.pages == 5
    assert loaded.source("providers.song_book.pages") == "file"
    assert "k-0123456" in set(loaded.secrets())


def test_its_variables_work_also_from_the_env_file(machine):
    (machine.cwd / ".env").write_text("LYRSVC_PROVIDERS_SONG_BOOK_API_KEY=k-0123456\n")
    toml = '[providers]\nprimary = "song-book"\n'
    loaded = machine.examine(toml, {"SONGBOOK_PAGES": "20"})
    assert loaded.settings.providers.song_book.api_key == "k-0123456"
    assert loaded.settings.providers.song_book.pages == 9
    assert loaded.source("providers.song_book.pages") == "env:SONGBOOK_PAGES"
    [text] = loaded.warnings
    assert "providers.song_book.pages from SONGBOOK_PAGES: 20 is outside 1..9" in text


def test_a_table_or_a_variable_alone_makes_it_known(machine):
    assert machine.examine("[providers.song_book]\npages = 5\n").findings == ()
    env = {"LYRSVC_PROVIDERS_SONG_BOOK_PAGES": "4"}
    loaded = machine.examine("", env)
    assert loaded.findings == ()
    assert loaded.settings.providers.song_book.pages == 4


def test_its_mistyped_keys_get_advice(machine):
    [text] = machine.examine("[providers.song_book]\npage = 5\n").warnings
    assert 'did you mean "providers.song_book.pages"?' in text


def test_nobody_looks_for_plugins_while_nothing_names_one(machine):
    machine.examine('[providers]\nprimary = "lrclib"\n[providers.lrclib_dump]\npath = "x"\n')
    assert machine.asked == []
    machine.examine('[providers]\nprimary = "song-book"\n')
    assert machine.asked == [["song-book"]]


def test_a_table_that_nobody_knows_stays_unknown(machine):
    loaded = machine.examine("[providers.nobody]\nx = 1\n")
    [text] = loaded.warnings
    assert 'unknown setting "providers.nobody"' in text


def test_a_plugin_that_cannot_be_loaded_is_a_fault_beside_the_others(machine):
    def broken(wanted):
        raise ConfigError(["lane song-book of a package cannot be loaded"])

    from lyrsvc.settings.loading import Lanes, examine

    machine.write('[providers]\nprimary = "song-book"\n[api]\ncooldown = true\n')
    inputs = machine.inputs()
    loaded = examine(inputs._replace(lanes=Lanes(inputs.lanes.builtin, broken)))
    assert "lane song-book of a package cannot be loaded" in loaded.faults
    assert any("api.cooldown" in fault for fault in loaded.faults)


@pytest.mark.parametrize("name", ["primary", "fallback-order", "lrclib"])
def test_a_plugin_cannot_hide_what_is_there(machine, name):
    machine.plugins = {name: Songbook, "song-book": None}
    with pytest.raises(ConfigError, match="plugin lane"):
        Registry().with_lanes({name: Songbook})


def test_its_settings_appear_in_every_derived_place(machine):
    loaded = machine.examine('[providers]\nprimary = "song-book"\n', {"SONGBOOK_PAGES": "2"})
    page = reference.markdown(loaded.registry)
    assert "`providers.song_book.pages`" in page
    assert "The songbook lane." in page
    assert "Which lanes are asked" in page
    assert "# pages = 3" in reference.example(loaded.registry)
    written = tomllib.loads(reference.effective_toml(loaded))
    assert written["providers"]["song_book"] == {"api_key": "", "pages": 2}


def test_the_built_in_declarations_are_left_as_they_were():
    extended = Registry().with_lanes({"song-book": Songbook})
    assert "providers.song_book.pages" in extended.by_path
    assert "providers.song_book.pages" not in Registry().by_path
    assert Registry().with_lanes({}).root is Settings
