"""Where the settings file and the database are."""

from pathlib import Path

import pytest

from lyrsvc.core.errors import ConfigError
from lyrsvc.settings.loading import load
from lyrsvc.settings.locations import (
    Circumstances,
    config_place,
    database_place,
    home_of,
    in_container,
    misses_package,
    overlooks_package,
    uses_package_by_itself,
)

PACKAGE_DB = "/var/lib/lyrsvcgo-svc/lyrsvcgo.db"
PACKAGE_CONFIG = "/etc/lyrsvcgo-svc/config.toml"
CWD = Path("/where/we/stand")


def here(environ=None, *, config=None, database=None, user="somebody", there=()):
    return Circumstances(
        environ=environ or {},
        config_flag=config,
        database_flag=database,
        working_directory=CWD,
        user=user,
        exists=lambda path: str(path) in there,
    )


def both(circumstances):
    config, database = config_place(circumstances).path, database_place(circumstances)
    return config and str(config), database and str(database)


@pytest.mark.spec("C-08")
@pytest.mark.seed("S-117")
def test_by_default_both_lie_below_the_home_and_xdg_directories_replace_that():
    assert both(here({"HOME": "/home/me"})) == (
        "/home/me/.config/lyrsvcgo-svc/config.toml",
        "/home/me/.local/share/lyrsvcgo-svc/lyrsvcgo.db",
    )
    xdg = {"HOME": "/home/me", "XDG_CONFIG_HOME": "/xc", "XDG_DATA_HOME": "/xd"}
    assert both(here(xdg)) == ("/xc/lyrsvcgo-svc/config.toml", "/xd/lyrsvcgo-svc/lyrsvcgo.db")
    without_home = {"XDG_CONFIG_HOME": "/xc", "XDG_DATA_HOME": "/xd"}
    assert both(here(without_home)) == both(here(xdg))


@pytest.mark.seed("S-117")
def test_the_profile_directory_is_the_home_where_there_is_no_other():
    assert both(here({"USERPROFILE": "/Users/me"})) == (
        "/Users/me/.config/lyrsvcgo-svc/config.toml",
        "/Users/me/.local/share/lyrsvcgo-svc/lyrsvcgo.db",
    )


def test_relative_homes_and_xdg_directories_do_not_count():
    assert home_of({"HOME": "me"}) is None
    assert home_of({"HOME": " "}) is None
    environ = {"HOME": "/home/me", "XDG_CONFIG_HOME": "relative", "XDG_DATA_HOME": ""}
    assert both(here(environ)) == both(here({"HOME": "/home/me"}))


@pytest.mark.spec("C-08")
@pytest.mark.seed("S-112")
@pytest.mark.parametrize("word", ["true", "1", "YES"])
def test_the_container_keeps_both_under_config(word):
    circumstances = here({"HOME": "/home/me", "LYRSVC_DOCKER": word})
    assert both(circumstances) == ("/config/config.toml", "/config/lyrsvcgo.db")
    assert in_container(circumstances)


def test_a_container_without_a_home_is_known_by_its_mark():
    mark = ("/.dockerenv",)
    assert both(here({}, there=mark)) == ("/config/config.toml", "/config/lyrsvcgo.db")
    assert both(here({"HOME": "/home/me"}, there=mark))[0].startswith("/home/me")
    assert both(here({"LYRSVC_DOCKER": "false"}, there=mark)) == (None, None)


@pytest.mark.spec("C-08")
def test_without_a_home_the_database_variable_is_asked_for(machine):
    machine.environ = {"LYRSVC_DOCKER": "false"}  # these tests may run in a container themselves
    with pytest.raises(ConfigError, match="LYRSVC_DB_PATH") as caught:
        load(machine.inputs())
    assert len(caught.value.faults) == 1
    assert load(machine.inputs({"LYRSVC_DB_PATH": "/x/y.db"})).config_path is None


@pytest.mark.spec("C-09")
@pytest.mark.seed("S-116")
def test_the_package_file_goes_with_the_package_database():
    for circumstances in (
        here({"HOME": "/home/me", "LYRSVC_DB_PATH": PACKAGE_DB}),
        here({"HOME": "/home/me"}, database=PACKAGE_DB),
        here({"HOME": "/home/me", "LYRSVC_DB_PATH": "/var/lib/lyrsvcgo-svc//lyrsvcgo.db"}),
    ):
        place = config_place(circumstances)
        assert (str(place.path), place.named) == (PACKAGE_CONFIG, False)
    named = here({"HOME": "/home/me", "LYRSVC_DB_PATH": PACKAGE_DB}, config="/mine.toml")
    assert str(config_place(named).path) == "/mine.toml"
    by_variable = here({"LYRSVC_DB_PATH": PACKAGE_DB, "LYRSVC_CONFIG": "/mine.toml"})
    assert str(config_place(by_variable).path) == "/mine.toml"


def test_another_database_leaves_the_package_file_alone():
    assert both(here({"HOME": "/home/me", "LYRSVC_DB_PATH": "/srv/lyrsvcgo.db"}))[0] == (
        "/home/me/.config/lyrsvcgo-svc/config.toml"
    )


@pytest.mark.parametrize("user", ["root", "lyrsvcgo-svc"])
def test_an_installed_service_is_found_by_root_and_its_own_user(user):
    circumstances = here({"HOME": "/root"}, user=user, there=(PACKAGE_DB,))
    assert both(circumstances) == (PACKAGE_CONFIG, PACKAGE_DB)
    assert uses_package_by_itself(circumstances)


@pytest.mark.parametrize(
    "circumstances",
    [
        here({"HOME": "/home/me"}, user="somebody", there=(PACKAGE_DB,)),
        here({"HOME": "/root"}, user="root"),
        here({"HOME": "/root"}, user="root", there=(PACKAGE_DB,), config="/x.toml"),
        here({"HOME": "/root", "LYRSVC_CONFIG": "/x"}, user="root", there=(PACKAGE_DB,)),
        here({"HOME": "/root", "LYRSVC_DB_PATH": "/x"}, user="root", there=(PACKAGE_DB,)),
        here({"HOME": "/root", "LYRSVC_DOCKER": "1"}, user="root", there=(PACKAGE_DB,)),
    ],
)
def test_anything_given_or_anybody_else_does_not_use_the_installed_service(circumstances):
    assert not uses_package_by_itself(circumstances)
    assert database_place(circumstances) != Path(PACKAGE_DB)


def test_an_installed_service_is_overlooked_by_users_who_have_nothing_of_their_own():
    state, own = "/var/lib/lyrsvcgo-svc", "/home/me/.local/share/lyrsvcgo-svc/lyrsvcgo.db"
    home = {"HOME": "/home/me"}
    assert overlooks_package(here(home, there=(state,)))
    for circumstances in (
        here(home),
        here(home, there=(state, own)),
        here(home, there=(state,), config="/x.toml"),
        here({**home, "LYRSVC_DB_PATH": "/x.db"}, there=(state,)),
        here({**home, "LYRSVC_DOCKER": "1"}, there=(state,)),
        here({"HOME": "/root"}, user="root", there=(state,)),
    ):
        assert not overlooks_package(circumstances)


def test_an_installed_service_that_never_ran_is_missed_by_root_alone():
    state = ("/var/lib/lyrsvcgo-svc",)
    missed = here({"HOME": "/root"}, user="root", there=state)
    assert PACKAGE_DB in misses_package(missed)
    assert database_place(missed) != Path(PACKAGE_DB)
    for circumstances in (
        here({"HOME": "/root"}, user="root"),
        here({"HOME": "/root"}, user="root", there=(*state, PACKAGE_DB)),
        here({"HOME": "/root"}, user="root", there=state, config="/x.toml"),
        here({"HOME": "/root", "LYRSVC_DB_PATH": PACKAGE_DB}, user="root", there=state),
        here({"HOME": "/root", "LYRSVC_DOCKER": "1"}, user="root", there=state),
        here({"HOME": "/home/me"}, there=state),
    ):
        assert misses_package(circumstances) == ""


def test_the_flag_wins_over_the_variable_and_relative_names_start_where_we_stand():
    environ = {"HOME": "/home/me", "LYRSVC_CONFIG": "by-variable.toml"}
    assert config_place(here(environ)).path == CWD / "by-variable.toml"
    place = config_place(here(environ, config="by-flag.toml"))
    assert (place.path, place.named, place.named_by) == (CWD / "by-flag.toml", True, "--config")
    assert config_place(here(environ, config="~/x.toml")).path == Path("/home/me/x.toml")
    assert config_place(here(environ, config=" ")).path == CWD / "by-variable.toml"


def test_a_missing_file_is_fine_unless_it_was_named(machine):
    assert machine.examine().findings == ()
    [fault] = machine.examine(config_flag="gone.toml").faults
    assert f"no settings file at {machine.cwd / 'gone.toml'}, which --config names" in fault
    [fault] = machine.examine(None, {"LYRSVC_CONFIG": "/gone.toml"}).faults
    assert "which LYRSVC_CONFIG names" in fault


def test_the_file_may_name_the_database_relative_to_itself(machine):
    loaded = machine.examine("[db]\npath = 'state/x.db'\n")
    assert loaded.settings.db.path == machine.config.parent / "state" / "x.db"
    assert loaded.source("db.path") == "file"
    assert loaded.settings.secrets.key_file == (machine.config.parent / "state" / ".lyrsvcgo.key")
    own = machine.examine("[db]\npath = '/s/x.db'\n[secrets]\nkey_file = '/k'\n")
    assert str(own.settings.secrets.key_file) == "/k"
