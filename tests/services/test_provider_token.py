"""The token of a running service, from its first request to its renewal."""

import logging
import threading

import pytest

from fakes import FakeClock
from lyrsvc.core.errors import StorageFailed, Transient
from lyrsvc.core.outcome import Answer
from lyrsvc.demo.stand_in import TOKEN_PATH, StandIn
from lyrsvc.services.lanes import Cancelled
from lyrsvc.services.provider_token import (
    STORE,
    Choice,
    Given,
    choose,
    given_by,
    identity_of,
)
from lyrsvc.services.secret_store import Secret
from lyrsvc.services.token_pace import TokenPace
from lyrsvc.settings.loading import Inputs, Lanes, examine
from secret_service import APP_ID, Service

MINUTE = 60
ZEROS = "0" * 56
FINISHED_UNLESS_NEWEST = {"mode": "finished", "lane": "defaultprov", "accept_newest": True}


@pytest.fixture
def stand_in():
    with StandIn() as stand_in:
        yield stand_in


@pytest.fixture
def service(tmp_path, stand_in, clock) -> Service:
    return Service(tmp_path, stand_in, clock)


@pytest.fixture
def identity(stand_in) -> str:
    return identity_of(stand_in.url, APP_ID)


def store_automatic(service: Service, value: str, identity: str) -> None:
    with service.open() as db:
        service.secrets(db).keep_automatic(value, identity=identity)


def stored(service: Service) -> Secret | None:
    with service.open() as db:
        return service.secrets(db).read("provider_token")


# -- which token --------------------------------------------------------------------------------


def test_precedence_is_given_then_the_operators_then_an_automatic_one():
    given = Given(value="given", source="PROVIDER_TOKEN")
    assert choose(given, Secret("stored"), "i") == Choice(value="given", source="PROVIDER_TOKEN")
    assert choose(Given(), Secret("stored"), "i") == Choice(value="stored", source=STORE)
    assert choose(Given(), Secret("auto", "i"), "i") == Choice(value="auto")
    assert choose(Given(), None, "i") == Choice()


@pytest.mark.parametrize("value", [ZEROS, "a", "UpgradeOnlyUpgradeOnly"])
def test_an_automatic_placeholder_is_none(value):
    choice = choose(Given(), Secret(value, "i"), "i")
    assert (choice.value, choice.discarded) == (None, "it is a placeholder")


def test_an_automatic_token_of_another_identity_is_none():
    choice = choose(Given(), Secret("auto", "other"), "i")
    assert choice.value is None
    assert "identity" in choice.discarded


@pytest.mark.seed("S-011")
def test_an_operators_token_is_used_as_it_is_even_a_strange_one():
    assert choose(Given(), Secret(ZEROS), "i").value == ZEROS
    assert choose(Given(value="x", source="--token"), None, "i").value == "x"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("flag", "--token"),
        ("env:PROVIDER_TOKEN", "PROVIDER_TOKEN"),
        ("env:LYRSVC_API_TOKEN_FILE", "LYRSVC_API_TOKEN_FILE"),
        ("file", "api.token in the settings file"),
    ],
)
def test_a_given_token_has_the_name_of_its_place(source, named):
    assert given_by(" tok ", source) == Given(value="tok", source=named)
    assert "hush" not in repr(given_by("hush", "flag"))


@pytest.mark.parametrize("source", ["store", "default"])
def test_the_store_and_a_default_give_no_token(source):
    assert given_by("tok", source) == Given()


def test_an_identity_is_the_pair_not_its_spelling():
    one = identity_of("https://a.example", "app")
    assert one == identity_of("https://a.example/", "app")
    assert len(one) == 16
    assert (
        len({one, identity_of("https://b.example", "app"), identity_of("https://a.example", "b")})
        == 3
    )
    assert identity_of("https://a.example/x", "y") != identity_of("https://a.example", "/xy")


@pytest.mark.spec("C-02")
@pytest.mark.seed("S-102", "S-011")
def test_the_provider_sees_flag_variables_file_and_store_in_this_order(service, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[api]\ntoken = "by-file"\n')
    config.chmod(0o600)
    with service.open() as db:
        service.secrets(db).set("provider_token", "by-store")
    before = service.rows
    environ = {
        "HOME": str(tmp_path),
        "LYRSVC_CONFIG": str(config),
        "LYRSVC_API_TOKEN": "by-alias",
        "PROVIDER_TOKEN": "by-variable",
    }
    flags = {"api.token": "by-flag"}

    def ask() -> None:
        inputs = Inputs(
            environ=environ, working_directory=tmp_path, user="me", flags=flags,
            lanes=Lanes(("defaultprov",), lambda _: {}),
        )  # fmt: skip
        loaded = examine(inputs)
        given = given_by(loaded.settings.api.token, loaded.source("api.token"))
        with service.running(given) as run:
            run.obtain()
            assert run.look_up().answer is Answer.HIT

    ask()
    flags.clear()
    for name in ("PROVIDER_TOKEN", "LYRSVC_API_TOKEN"):
        ask()
        del environ[name]
    ask()
    assert 'token = "by-file"' in config.read_text()
    config.write_text("")
    ask()

    assert service.tokens_seen == ["by-flag", "by-variable", "by-alias", "by-file", "by-store"]
    assert service.mints == 0
    assert service.rows == before


# -- the first token ----------------------------------------------------------------------------


@pytest.mark.spec("P-15")
@pytest.mark.seed("S-010")
def test_without_a_token_one_is_asked_for_stored_and_reused_at_the_next_start(service):
    with service.running() as run:
        assert not run.lane.active
        run.obtain()
        assert run.lane.active
        assert run.activated == ["demo-token-1"]
        assert run.look_up().answer is Answer.HIT
        assert b"demo-token" not in service.bytes_on_disk
    assert service.kept_back[0] == "demo-token-1"

    with service.running() as run:
        assert run.lane.active
        run.obtain()
        assert run.activated == []
        assert run.look_up().answer is Answer.HIT
    assert service.mints == 1
    assert service.tokens_seen == ["demo-token-1"] * 2
    assert b"demo-token" not in service.bytes_on_disk


@pytest.mark.spec("P-13")
@pytest.mark.seed("S-010")
def test_a_placeholder_is_never_stored_nor_used(service, stand_in, clock: FakeClock):
    stand_in.set_mode("placeholder", lane="token", times=1)
    with service.running() as run:
        seen = []
        clock.wait = lambda seconds: seen.append((seconds, run.token.current())) or True
        run.obtain()
        assert seen == [(30 * MINUTE, None)]
        assert not run.lane.active
        assert run.activated == []
    assert stored(service) is None
    assert service.mints == 1


@pytest.mark.spec("P-13")
@pytest.mark.seed("S-010")
def test_a_stored_automatic_token_of_zeros_is_discarded_and_a_new_one_asked_for(
    service, identity, stand_in
):
    store_automatic(service, ZEROS, identity)
    with service.running() as run:
        assert run.token.current() is None
        assert run.secrets.listing() == []
        run.obtain()
    assert stored(service) == Secret("demo-token-1", identity)


@pytest.mark.spec("P-13")
@pytest.mark.seed("S-010")
def test_a_stored_automatic_token_of_another_pair_is_discarded_and_a_new_one_asked_for(service):
    with service.running() as run:
        run.obtain()
    with service.running(app_id="another-player") as run:
        assert run.token.current() is None
        run.obtain()
        run.look_up()
    assert service.mints == 2
    assert service.tokens_seen == ["demo-token-2"]
    assert stored(service).identity == identity_of(service.stand_in.url, "another-player")


@pytest.mark.spec("P-14")
@pytest.mark.seed("S-010")
@pytest.mark.parametrize("mode", ["captcha", "upgrade", "unauthorized", "throttled", "error500"])
def test_a_refusal_is_followed_by_another_request_after_half_an_hour_not_before(
    service, stand_in, clock: FakeClock, mode
):
    stand_in.set_mode(mode, lane="token", times=3)
    with service.running() as run:
        run.obtain()
        assert clock.waits == [30 * MINUTE, 60 * MINUTE, 120 * MINUTE]
        assert run.activated == ["demo-token-1"]
        assert run.lane.active
        assert run.look_up().answer is Answer.HIT
    assert service.mints == 4


@pytest.mark.spec("P-14")
def test_a_restart_is_no_reason_to_ask_earlier(service, stand_in, clock: FakeClock):
    stand_in.set_mode("captcha", lane="token", times=1)
    clock.stopped = True
    with service.running() as run:
        run.obtain()
    clock.moment = FakeClock().moment
    clock.advance(20 * MINUTE)
    clock.waits.clear()
    clock.stopped = False
    with service.running() as run:
        run.obtain()
        assert run.lane.active
    assert clock.waits == [10 * MINUTE]
    assert service.mints == 2


def test_a_missing_token_is_told_with_both_remedies_also_right_after_a_restart(
    service, stand_in, clock: FakeClock, caplog
):
    stand_in.set_mode("captcha", lane="token", times=1)
    clock.stopped = True
    for _ in range(2):  # the second start must wait before it may ask again
        caplog.clear()
        clock.moment = FakeClock().moment
        with service.running() as run:
            run.obtain()
        (told,) = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
        assert told.startswith("no token for lane defaultprov")
        assert "PROVIDER_TOKEN" in told
        assert 'providers.primary = "lrclib"' in told
    assert service.mints == 1


def test_another_identity_does_not_wait_for_the_first_ones_refusal(service, stand_in, clock):
    stand_in.set_mode("captcha", lane="token", times=1)
    clock.stopped = True
    with service.running() as run:
        run.obtain()
    clock.moment = FakeClock().moment
    clock.waits.clear()
    with service.running(app_id="another-player") as run:
        run.obtain()
        assert run.lane.active
    assert clock.waits == []


def test_the_provider_may_ask_for_a_longer_rest(service, stand_in, clock: FakeClock):
    stand_in.set_mode("throttled", lane="token", times=1, retry_after=str(3 * 60 * MINUTE))
    with service.running() as run:
        run.obtain()
    assert clock.waits == [3 * 60 * MINUTE]


def test_a_network_that_is_not_there_yet_is_tried_again_after_a_minute(service, clock: FakeClock):
    with service.running() as run:
        answers = iter([Transient("host name not found", reason="network")] * 2)

        def mint() -> str:
            for error in answers:
                raise error
            return "tok-late"

        run.token.obtain(mint)
        assert run.token.current() == "tok-late"
    assert clock.waits == [MINUTE, 2 * MINUTE]


def test_a_stop_while_waiting_ends_the_asking(service, stand_in, clock: FakeClock):
    stand_in.set_mode("captcha", lane="token")
    clock.stopped = True
    with service.running() as run:
        run.obtain()
        assert run.token.current() is None
    assert service.mints == 1


def test_a_stop_while_waiting_for_a_slot_leaves_the_next_start_free(service, clock: FakeClock):
    def mint() -> str:
        raise Cancelled("stopped while waiting for a slot")

    with service.running() as run:
        run.token.obtain(mint)
    with service.running() as run:
        run.obtain()
        assert run.lane.active
    assert clock.waits == []


def test_a_crash_between_asking_and_storing_costs_half_an_hour(service, clock: FakeClock):
    """Engine: a token obtained and not yet stored is asked for again, at most once in 30 min."""

    class Crash(BaseException):
        pass

    def mint() -> str:
        raise Crash

    with service.running() as run, pytest.raises(Crash):
        run.token.obtain(mint)
    with service.running() as run:
        run.obtain()
        assert run.lane.active
    assert clock.waits == [30 * MINUTE]


@pytest.mark.seed("S-011")
def test_a_token_the_operator_stores_meanwhile_is_used_instead_of_asking_again(
    service, stand_in, clock: FakeClock
):
    stand_in.set_mode("captcha", lane="token")
    with service.running() as run:

        def wait(seconds):
            run.secrets.set("provider_token", "mine")
            clock.advance(seconds)
            return False

        clock.wait = wait
        run.obtain()
        assert run.token.source == STORE
        assert run.activated == ["mine"]
        assert run.look_up().answer is Answer.HIT
    assert service.mints == 1
    assert service.tokens_seen == ["mine"]


def test_a_token_that_cannot_be_stored_serves_this_run_and_the_store_is_named(service, caplog):
    with service.running() as run:

        def fail(*_args, **_more):
            raise StorageFailed("disk full")

        run.secrets.keep_automatic = fail
        with caplog.at_level(logging.ERROR):
            run.obtain()
        assert run.lane.active
        assert run.look_up().answer is Answer.HIT
    assert "secret store" in caplog.text
    assert "demo-token" not in caplog.text
    assert stored(service) is None


def test_a_token_that_cannot_be_read_is_not_overwritten_and_the_service_runs(service, caplog):
    with service.open() as db:
        service.secrets(db).set("provider_token", "mine-1234")
    key = service.key_file.read_bytes()
    service.key_file.unlink()
    with service.running() as run:
        run.obtain()
        assert run.token.current() == "demo-token-1"
        assert run.look_up().answer is Answer.HIT
    errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "secrets set provider_token" in errors[0]
    assert "demo-token" not in caplog.text
    service.key_file.write_bytes(key)
    assert stored(service) == Secret("mine-1234")


def test_a_key_that_breaks_while_the_service_runs_costs_only_the_storing(service, caplog):
    with service.running() as run:
        run.secrets.set("webhook_api_key", "w")
        run.secrets.keep_automatic(ZEROS, identity="x")
        service.key_file.write_bytes(b"broken")
        run.obtain()
        assert run.lane.active
    assert "serves this run only" in caplog.text
    assert service.key_file.read_bytes() == b"broken"


def test_a_database_that_cannot_be_read_does_not_make_a_tight_loop(service, clock: FakeClock):
    with service.running() as run:
        look, failures = run.secrets.look, iter(range(3))

        def failing(name):
            if next(failures, None) is not None:
                raise StorageFailed("input/output error")
            return look(name)

        run.secrets.look = failing
        run.obtain()
        assert run.lane.active
    assert clock.waits == [MINUTE, 2 * MINUTE, 4 * MINUTE]


def test_when_to_ask_is_kept_in_memory_when_it_cannot_be_stored(service, stand_in, clock, caplog):
    stand_in.set_mode("captcha", lane="token", times=1)
    with service.running() as run:

        def fail(*_args, **_more):
            raise StorageFailed("disk full")

        run.token._pace._db = type("Full", (), {"write": fail})()
        run.obtain()
        assert clock.waits == [30 * MINUTE]
    assert "not stored" in caplog.text


def test_a_damaged_memory_of_asking_is_forgotten(service, clock):
    with service.open() as db:
        db.write(
            lambda tx: tx.run(
                "INSERT INTO meta (name, value, created_at, updated_at)"
                " VALUES ('token_request', '[1', '', '')"
            )
        )
        pace = TokenPace(db, identity="i", clock=clock, chance=lambda: 0.5)
        assert pace.rest_s == 0


# -- renewal ------------------------------------------------------------------------------------


@pytest.mark.spec("P-07")
@pytest.mark.seed("S-110")
def test_a_finished_automatic_token_is_replaced_stored_and_the_lookup_repeated_once(
    service, stand_in, identity
):
    store_automatic(service, "old-token", identity)
    stand_in.set_mode(**FINISHED_UNLESS_NEWEST)
    stand_in.set_mode("normal", lane="token")
    with service.running() as run:
        attempt = run.look_up()
        assert attempt.answer is Answer.HIT
    assert service.mints == 1
    assert service.tokens_seen == ["old-token", "demo-token-1"]
    assert stored(service) == Secret("demo-token-1", identity)

    with service.running() as run:
        assert run.look_up().answer is Answer.HIT
    assert service.mints == 1


@pytest.mark.spec("P-08")
@pytest.mark.seed("S-110")
def test_eight_threads_with_a_finished_token_make_one_request(service, stand_in, identity):
    store_automatic(service, "old-token", identity)
    stand_in.set_mode(**FINISHED_UNLESS_NEWEST)
    with service.running() as run:
        everybody = threading.Barrier(8)
        answers = []

        def work():
            everybody.wait()
            answers.append(run.look_up().answer)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [Answer.HIT] * 8
    assert service.mints == 1


@pytest.mark.spec("P-10")
@pytest.mark.seed("S-110")
def test_a_new_token_that_is_refused_too_closes_the_lane_for_the_cap(
    service, stand_in, identity, clock: FakeClock
):
    store_automatic(service, "old-token", identity)
    stand_in.set_mode("finished", lane="defaultprov")
    with service.running() as run:
        assert run.look_up().answer is Answer.IDENTITY_REFUSED
        closed = run.lane.state
        assert closed.cause == "refused"
        assert (closed.closed_until_at - clock.now()).total_seconds() == 30 * MINUTE
        assert run.look_up().answer is Answer.SKIPPED
    assert service.mints == 1
    assert service.tokens_seen == ["old-token", "demo-token-1"]


@pytest.mark.spec("P-09")
@pytest.mark.seed("S-011")
@pytest.mark.parametrize("source", ["--token", "PROVIDER_TOKEN", STORE])
def test_a_finished_operators_token_is_not_replaced_and_its_place_is_named(
    service, stand_in, source
):
    with service.open() as db:
        service.secrets(db).set("provider_token", "by-store")
    before = service.rows
    stand_in.set_mode("finished", lane="defaultprov")
    given = Given() if source == STORE else Given(value="mine", source=source)
    with service.running(given) as run:
        attempt = run.look_up()
    assert attempt.answer is Answer.IDENTITY_REFUSED
    assert source in attempt.text
    assert "portal API key is not a user token" in attempt.text
    assert service.mints == 0
    assert service.rows == before


def test_a_refused_renewal_is_not_repeated_within_half_an_hour(
    service, stand_in, identity, clock: FakeClock
):
    store_automatic(service, "old-token", identity)
    stand_in.set_mode("finished", lane="defaultprov")
    stand_in.set_mode("captcha", lane="token")
    with service.running() as run:
        for _ in range(40):
            run.look_up()
            clock.advance(MINUTE)
    assert service.mints == 2
    assert len(stand_in.calls(TOKEN_PATH)) == 2
    assert stored(service) == Secret("old-token", identity)


def test_a_token_that_ends_soon_after_it_was_stored_is_replaced_at_once(service, stand_in):
    with service.running() as run:
        run.obtain()
    stand_in.set_mode("finished", lane="defaultprov", times=1)
    with service.running() as run:
        assert run.look_up().answer is Answer.HIT
    assert service.tokens_seen == ["demo-token-1", "demo-token-2"]


@pytest.mark.seed("S-011")
def test_a_renewed_token_does_not_replace_one_the_operator_has_stored_meanwhile(
    service, stand_in, identity
):
    store_automatic(service, "old-token", identity)
    stand_in.set_mode(**FINISHED_UNLESS_NEWEST)
    with service.running() as run:
        run.secrets.set("provider_token", "mine")
        assert run.look_up().answer is Answer.HIT
    assert stored(service) == Secret("mine")
    with service.running() as run:
        assert run.token.current() == "mine"
