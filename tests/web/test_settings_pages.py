"""The settings pages, as a browser without script and as a program see them."""

import re
import tomllib
from html import unescape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lyrsvc.services.first_admin import SetupForm
from lyrsvc.settings.registry import Registry
from lyrsvc.web.rendering import environment
from plain_browser import Page, PlainBrowser
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
STRANGER = "203.0.113.9"
PASSWORD = "correct horse battery"
SESSION, CSRF = "lyrsvc_session", "lyrsvc-csrf-token"
UI = {"LYRSVC_WEB_UI_ENABLED": "true"}
SCRIPT = {"accept": "application/json", "x-requested-with": "lyrsvc"}


@pytest.fixture
def house(tmp_path, clock):
    house = House(tmp_path, clock, NOWHERE)
    house.environ.pop("LYRSVC_API_COOLDOWN")
    return house


@pytest.fixture
def config(house):
    return house.place / ".config" / "lyrsvcgo-svc" / "config.toml"


def browser(run, **more):
    return PlainBrowser(run.visitor(**more))


def row(page, path):
    return page.text_of("setting-" + path.replace(".", "-"))


def control(page, path):
    return page.ids["setting-" + path.replace(".", "-") + "-control"]


def scripted(visitor, path, fields, **headers):
    fields = {"csrf_token": visitor.cookies.get(CSRF, ""), **fields}
    return visitor.submit(path, fields, headers={**SCRIPT, **headers})


def shown_registry():
    return [e for e in Registry().entries if not e.setting.internal and e.setting.tab.value]


@pytest.mark.seed("S-079")
def test_the_page_has_three_tabs_and_common_is_the_first(house):
    with house.running(**UI) as run:
        visit = browser(run)
        page = visit.open("/settings")
        tabs = [a for tag, a in page.elements if tag == "a" and "?tab=" in a.get("href", "")]
        assert [a["href"].partition("=")[2] for a in tabs] == ["common", "advanced", "raw"]
        assert [a["href"] for a in tabs if "aria-current" in a] == ["/settings?tab=common"]
        assert visit.open("/settings?tab=nonsense").ids.keys() == page.ids.keys()
        assert page.answer.header("cache-control") == "no-store"


@pytest.mark.seed("S-079")
def test_every_setting_stands_on_its_tab_with_all_there_is_to_know_about_it(house):
    with house.running(**UI) as run:
        pages = {tab: browser(run).open(f"/settings?tab={tab}") for tab in ("common", "advanced")}
        for entry in shown_registry():
            tab = entry.setting.tab.value.lower()
            other = pages["advanced" if tab == "common" else "common"]
            assert f"setting-{entry.path.replace('.', '-')}" not in other.ids
            text = row(pages[tab], entry.path)
            help_text = re.sub(r"\s+", " ", entry.setting.help.replace("`", ""))
            assert help_text in text
            assert entry.setting.tier.value.capitalize() in text
            assert "Source" in text
            assert all(name in text for name in entry.setting.env)
            if not entry.setting.env_only:
                assert entry.path in text
            if not entry.setting.secret:
                assert "Default" in text


def test_the_control_follows_the_type(house):
    toml = '[server]\npath_mappings = [{from="/music", to="/data"}]\n'
    with house.running(toml=toml, **UI) as run:
        common, advanced = (
            browser(run).open("/settings"),
            browser(run).open("/settings?tab=advanced"),
        )
        assert control(common, "output.bilingual_output")["role"] == "switch"
        assert control(common, "api.cooldown")["type"] == "number"
        assert control(common, "api.token")["type"] == "password"
        assert "seconds" in row(common, "api.cooldown")
        assert "0 to 86400" in row(common, "api.cooldown")
        assert "step" in control(advanced, "guard.script_guard_threshold")
        assert ("select", control(common, "logging.level")) in common.elements
        lists = advanced.form_with("path", "realign.identity_keys")
        assert lists.named("value") == ["mbid", "isrc", ""]
        assert ("rows", "down:0:realign.identity_keys") in lists.buttons
        pairs = advanced.form_with("path", "server.path_mappings")
        assert pairs.named("value.from") == ["/music", ""]
        assert pairs.named("value.to") == ["/data", ""]


def test_lanes_are_offered_by_name(house):
    with house.running(**UI) as run:
        page = browser(run).open("/settings")
        offered = [a["value"] for tag, a in page.elements if tag == "option" and "value" in a]
        assert {"defaultprov", "lrclib", "lrclib-dump"} <= set(offered)


@pytest.mark.seed("S-080")
@pytest.mark.spec("H-43", "H-53")
def test_a_saved_setting_goes_to_the_file_and_waits_for_the_restart(house, config):
    before = "# mine\n[api]\ncooldown = 20 # slow\n\n[strange]\nkept = 1\n"
    with house.running(toml=before, **UI) as run:
        visit = browser(run)
        form = visit.open("/settings").form_with("path", "api.cooldown")
        page = visit.press(form, value="33")
        assert config.read_text() == before.replace("20", "33")
        assert run.service.settings.api.cooldown == 20
        assert "Saved, restart to apply: Cooldown." in page.text
        assert "Running: 20 s" in row(page, "api.cooldown")
        assert "saved: 33 s" in row(page, "api.cooldown")
        assert control(page, "api.cooldown")["value"] == "33"
        again = visit.open("/settings")
        assert "Saved, restart to apply: Cooldown." not in again.text
    with house.running(toml=config.read_text(), **UI) as run:
        assert run.service.settings.api.cooldown == 33


@pytest.mark.spec("H-43")
def test_the_same_value_leaves_the_file_untouched_and_is_not_called_saved(house, config):
    with house.running(toml="[api]\ncooldown = 20\n", **UI) as run:
        visit = browser(run)
        stamp = config.stat().st_mtime_ns
        page = visit.press(visit.open("/settings").form_with("path", "api.cooldown"))
        assert "Nothing was changed." in page.text
        assert "Saved" not in page.text_of("message")
        answer = scripted(visit.visitor, "/settings/field", {"path": "api.cooldown", "value": "20"})
        assert answer.json["saved"] == []
        assert config.stat().st_mtime_ns == stamp


@pytest.mark.spec("H-43", "H-44")
@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("api.cooldown", "-5", "outside 0..86400"),
        ("api.cooldown", "soon", "Must be a whole number"),
        ("api.cooldown", "", "Must be a whole number"),
        ("api.cooldown", "1" * 2000, "Must be a whole number"),
        ("guard.script_guard_threshold", "nan", "Must be a number"),
        ("server.addr", "127.0.0.1:99999", "Must be host:port"),
        ("guard.accepted_scripts", "Klingon", "Must be of Latin"),
        ("output.translation_language", "English", "two-letter"),
        ("providers.lrclib.base_url", "ftp://x", "Must be an http or https URL"),
        ("server.base_path", "/a/", "trailing slash"),
    ],
)
def test_a_bad_value_is_refused_shown_again_and_tied_to_its_control(
    house, config, path, value, why
):
    house.environ.pop("LYRSVC_LRCLIB_BASE_URL")
    house.environ.pop("LYRSVC_LRCLIB_COOLDOWN_SECONDS")
    with house.running(**UI) as run:
        visit = browser(run)
        before = config.read_bytes()
        tab = Registry().by_path[path].setting.tab.value.lower()
        form = visit.open(f"/settings?tab={tab}").form_with("path", path)
        name = "value" if form.action.endswith("field") else path
        page = visit.press(form, **{name: value})
        assert page.answer.status == 400
        assert config.read_bytes() == before
        fault = "setting-" + path.replace(".", "-") + "-error"
        assert why in page.text_of(fault)
        assert why in page.text_of("summary")
        assert "hidden" not in page.ids[fault]
        marked = [a for _, a in page.elements if a.get("aria-invalid")]
        assert marked
        assert all(fault in a["aria-describedby"].split() for a in marked)
        assert value in [a.get("value") for a in marked] or "select" in str(page.elements)
        assert "Not saved." in page.text
        assert page.answer.text.count(">Saved") == 0


@pytest.mark.spec("H-44")
@pytest.mark.parametrize(
    ("first", "typed", "why"),
    [
        (
            "server.scan_schedule.frequency",
            {"server.scan_schedule.frequency": "weekly", "server.scan_schedule.at": "03:00"},
            "also needs day",
        ),
        ("server.tls.cert_file", {"server.tls.cert_file": "/c.pem", "confirm": "yes"}, "need each"),
        (
            "server.trusted_networks.cidrs",
            {"server.trusted_networks.cidrs": "10.0.0.0/99", "confirm": "yes"},
            "networks such as",
        ),
    ],
)
def test_dependent_settings_are_saved_together_or_not_at_all(house, config, first, typed, why):
    with house.running(**UI) as run:
        visit = browser(run)
        tab = Registry().by_path[first].setting.tab.value.lower()
        form = visit.open(f"/settings?tab={tab}").form_with("path", first)
        assert form.action == "/settings/section"
        before = config.read_bytes()
        page = visit.press(form, **typed)
        assert page.answer.status == 400
        assert why in page.text
        assert config.read_bytes() == before
        assert page.ids["setting-" + first.replace(".", "-")]


@pytest.mark.spec("H-44")
def test_a_lane_nobody_knows_is_refused(house, config):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings").form_with("path", "providers.primary")
        page = visit.press(form, providers__primary="nobody")
        assert page.answer.status == 400
        assert "known: defaultprov, lrclib" in page.text
        assert config.read_text() == ""


def test_a_fault_on_another_tab_is_named_with_a_way_there(house):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings").form_with("path", "providers.primary")
        page = visit.press(form, providers__primary="lrclib-dump")
        links = [a["href"] for tag, a in page.elements if tag == "a" and "#setting-" in a["href"]]
        assert "/settings?tab=advanced#setting-providers-lrclib_dump-path" in links


def test_saving_a_group_writes_only_what_was_changed(house, config):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings").form_with("path", "server.scan_schedule.at")
        visit.press(form, **{"server.scan_schedule.frequency": "hourly"})
        assert tomllib.loads(config.read_text()) == {
            "server": {"scan_schedule": {"frequency": "hourly"}}
        }


@pytest.mark.seed("S-081")
@pytest.mark.spec("H-45")
def test_a_setting_of_the_environment_or_a_flag_is_locked(house, config, tmp_path):
    token = tmp_path / "token"
    token.write_text("a-token-in-a-file")
    environ = {"LYRSVC_API_COOLDOWN": "30", "PROVIDER_TOKEN_FILE": str(token)}
    flags = {"server.addr": "127.0.0.1:4000"}
    with house.running(flags=flags, **environ, **UI) as run:
        visit = browser(run)
        page = visit.open("/settings")
        for path, winner in (
            ("api.cooldown", "environment variable LYRSVC_API_COOLDOWN"),
            ("api.token", "environment variable PROVIDER_TOKEN_FILE"),
            ("server.addr", "flag --listen"),
        ):
            text = row(page, path)
            assert "Locked" in text
            assert f"Locked by {winner}" in text
            assert not any(path in form.named("path") for form in page.forms)
        assert "disabled" in control(page, "api.cooldown")
        before = config.read_bytes()
        for path, value in (("api.cooldown", "30"), ("api.token", "x"), ("server.addr", ":5000")):
            fields = {"path": path, "value": value, "confirm": "yes"}
            answer = scripted(visit.visitor, "/settings/field", fields)
            assert (answer.status, answer.json["error"]) == (409, "locked")
            plain = visit.visitor.submit(
                "/settings/field", {**fields, "csrf_token": visit.visitor.cookies[CSRF]}
            )
            assert plain.status == 409
            assert f"Not saved. {path} is decided by" in Page(plain).text
        assert config.read_bytes() == before
        assert "a-token-in-a-file" not in page.answer.text


@pytest.mark.seed("S-079")
@pytest.mark.spec("H-48", "H-53")
def test_a_critical_setting_asks_once_on_a_page_of_its_own(house, config):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings?tab=advanced").form_with("path", "server.allowed_hosts")
        asked = visit.press(form, value=["music.example", ""])
        assert config.read_text() == ""
        assert "Please confirm" in asked.text
        assert "now none → then music.example" in asked.text
        again = asked.form_with("path", "server.allowed_hosts")
        done = visit.press(again)
        assert "Saved, restart to apply: Allowed hosts." in done.text
        assert tomllib.loads(config.read_text())["server"]["allowed_hosts"] == ["music.example"]


@pytest.mark.spec("H-48")
def test_a_script_is_told_that_a_critical_setting_needs_confirming(house, config):
    with house.running(**UI) as run:
        visitor = run.visitor()
        visitor.get("/settings")
        fields = {"path": "server.allowed_hosts", "value": "music.example"}
        answer = scripted(visitor, "/settings/field", fields)
        assert (answer.status, answer.json["error"]) == (409, "confirmation_required")
        assert answer.json["confirm"] == ["server.allowed_hosts"]
        assert config.read_text() == ""
        answer = scripted(visitor, "/settings/field", {**fields, "confirm": "yes"})
        assert answer.status == 200
        assert answer.json["saved"] == ["server.allowed_hosts"]
        assert answer.json["restart_pending"] == ["server.allowed_hosts"]
        assert re.fullmatch("[0-9a-f]{64}", answer.json["version"])


@pytest.mark.spec("H-48")
def test_what_somebody_else_changed_meanwhile_is_not_overwritten(house, config):
    with house.running(toml="[api]\ncooldown = 20\n", **UI) as run:
        visit = browser(run)
        page = visit.open("/settings")
        config.write_text("[api]\ncooldown = 99\n")
        other = visit.press(page.form_with("path", "output.bilingual_output"), value="true")
        assert other.answer.status == 200
        assert tomllib.loads(config.read_text())["api"]["cooldown"] == 99
        stale = visit.press(page.form_with("path", "api.cooldown"), value="33")
        assert stale.answer.status == 409
        assert "changed by somebody else" in stale.text_of("summary")
        assert control(stale, "api.cooldown")["value"] == "33"
        assert tomllib.loads(config.read_text())["api"]["cooldown"] == 99
        knowing = visit.press(stale.form_with("path", "api.cooldown"))
        assert knowing.answer.status == 200
        assert tomllib.loads(config.read_text())["api"]["cooldown"] == 33


def test_a_file_that_is_broken_now_is_told_and_left_alone(house, config):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings").form_with("path", "api.cooldown")
        config.write_text("[api\n")
        page = visit.press(form, value="33")
        assert page.answer.status == 409
        assert "The next start would fail." in page.text
        assert config.read_text() == "[api\n"
        assert "The next start would fail." in visit.open("/settings?tab=raw&view=next").text


def test_a_certificate_without_its_key_is_refused_in_a_sentence(house, config, tmp_path):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings?tab=advanced").form_with("path", "server.tls.cert_file")
        asked = visit.press(form, **{"server.tls.cert_file": str(tmp_path / "cert.pem")})
        page = visit.press(asked.form_with("path", "server.tls.cert_file"))
        assert "A certificate goes with its key" in page.text


@pytest.mark.spec("H-46")
def test_a_file_that_cannot_be_written_disables_its_settings_but_not_secrets(house, config):
    with house.running(**UI) as run:
        config.chmod(0o400)
        visit = browser(run)
        page = visit.open("/settings")
        assert "cannot be written" in page.text
        assert "disabled" in control(page, "api.cooldown")
        fields = {"path": "api.cooldown", "value": "9"}
        answer = scripted(visit.visitor, "/settings/field", fields)
        assert (answer.status, answer.json["error"]) == (403, "settings_read_only")
        asked = visit.press(page.form_with("path", "api.token"), value="stored-anyway")
        visit.press(asked.form_with("path", "api.token"))
        assert run.service.secrets.get("provider_token") == "stored-anyway"
        assert config.read_text() == ""


@pytest.mark.spec("H-50")
def test_a_token_goes_to_the_encrypted_store_and_leaves_the_file(house, config):
    toml = '[api]\ntoken = "an-old-token"\ncooldown = 20\n'
    with house.running(toml=toml, **UI) as run:
        visit = browser(run)
        page = visit.open("/settings")
        assert "set (settings file)" in row(page, "api.token")
        assert control(page, "api.token")["value"] == ""
        asked = visit.press(page.form_with("path", "api.token"), value="a-brand-new-token")
        assert "1 in the file stop working" in asked.text
        assert "an-old-token" in config.read_text()
        assert "a-brand-new-token" not in asked.answer.text
        done = visit.press(asked.form_with("path", "api.token"))
        assert "Saved, restart to apply: Token." in done.text
        assert config.read_text() == "[api]\ncooldown = 20\n"
        assert run.service.secrets.get("provider_token") == "a-brand-new-token"
        everything = done.answer.text + visit.open("/settings?tab=raw&view=next").answer.text
        assert "a-brand-new-token" not in everything
        assert "an-old-token" not in everything
    with house.running(toml=config.read_text(), **UI) as run:
        assert "set (encrypted store)" in row(browser(run).open("/settings"), "api.token")


def test_a_blank_secret_is_kept_and_clear_takes_it_away(house, config):
    with house.running(**UI) as run:
        run.service.secrets.set("provider_token", "kept-token-1")
        visit = browser(run)
        page = visit.open("/settings")
        assert "set (encrypted store)" in row(page, "api.token")
        kept = visit.press(page.form_with("path", "api.token"), value="  ")
        assert "Nothing was changed." in kept.text
        assert run.service.secrets.get("provider_token") == "kept-token-1"
        form = page.form_with("path", "api.token")
        assert ("clear", "api.token") in form.buttons
        asked = visit.press(form, ("clear", "api.token"), value="")
        assert run.service.secrets.get("provider_token") == "kept-token-1"
        visit.press(asked.form_with("path", "api.token"))
        assert run.service.secrets.get("provider_token") is None
        gone = visit.open("/settings")
        assert "not set" in row(gone, "api.token")
        assert ("clear", "api.token") not in gone.form_with("path", "api.token").buttons


def test_a_sealed_secret_is_good_for_its_setting_and_its_visitor_only(house):
    with house.running(**UI) as run:
        visit = browser(run)
        asked = visit.press(
            visit.open("/settings").form_with("path", "api.token"), value="sealed-token"
        )
        form = asked.form_with("path", "api.token")
        assert form.named("sealed")
        elsewhere = visit.press(form, path="server.webhook_api_keys")
        assert elsewhere.answer.status == 400
        broken = visit.press(form, sealed=form.named("sealed")[0][:-4] + "AAAA")
        assert broken.answer.status == 400
        admin = admin_of(run)
        token, _ = run.service.access.sessions.open(admin, client=STRANGER, user_agent="x")
        other = browser(run, peer=STRANGER, cookies={SESSION: token})
        other.open("/settings")
        stolen = [(n, v) for n, v in form.fields if n != "csrf_token"]
        answer = other.visitor.submit(
            "/settings/field", [*stolen, ("csrf_token", other.visitor.cookies[CSRF])]
        )
        assert answer.status == 400
        assert run.service.secrets.get("provider_token") is None


@pytest.mark.spec("H-49")
def test_no_secret_of_the_file_reaches_any_page(house):
    toml = """
[api]
"token" = '''TOP-SECRET-ONE'''
[server]
webhook_api_keys = ["TOP-SECRET-TWO", "TOP-SECRET-THREE"]
[providers]
lrclib = { base_url = "https://TOP-SECRET-FOUR:TOP-SECRET-FIVE@lyrics.example" }
"""
    house.environ.pop("LYRSVC_LRCLIB_BASE_URL")
    house.environ.pop("LYRSVC_LRCLIB_COOLDOWN_SECONDS")
    with house.running(toml=toml, **UI) as run:
        visit = browser(run)
        for query in ("", "?tab=advanced", "?tab=raw", "?tab=raw&view=next", "?q=token"):
            page = visit.open("/settings" + query)
            assert page.answer.status == 200
            assert "TOP-SECRET" not in page.answer.text
        form = visit.open("/settings?tab=advanced").form_with("path", "providers.lrclib.base_url")
        assert form.named("value") == ["https://[REDACTED]@lyrics.example"]
        assert "Nothing was changed." in visit.press(form).text
        moved = visit.press(form, value="https://[REDACTED]@other.example")
        assert moved.answer.status == 400
        assert "typed again" in moved.text_of("setting-providers-lrclib-base_url-error")


@pytest.mark.seed("S-079")
@pytest.mark.spec("H-49")
def test_the_raw_view_is_toml_of_the_running_settings_or_of_the_next_start(house, config):
    with house.running(toml="[api]\ncooldown = 20\n", PROVIDER_TOKEN="hush-hush", **UI) as run:
        visit = browser(run)
        visit.press(visit.open("/settings").form_with("path", "api.cooldown"), value="33")
        running = visit.open("/settings?tab=raw")
        following = visit.open("/settings?tab=raw&view=next")
        assert tomllib.loads(raw_of(running))["api"]["token"] == "[REDACTED]"
        assert tomllib.loads(raw_of(running))["api"]["cooldown"] == 20
        assert tomllib.loads(raw_of(following))["api"]["cooldown"] == 33
        assert "# file" in raw_of(running)
        assert "hush-hush" not in running.answer.text
        assert "api.cooldown 20 s 33 s" in following.text


def raw_of(page):
    found = re.search(r'<pre[^>]*id="raw-toml"[^>]*>(.*?)</pre>', page.answer.text, re.DOTALL)
    return unescape(found[1])


def test_rows_of_a_list_can_be_moved_added_and_removed_without_script(house, config):
    toml = '[realign]\nidentity_keys = ["mbid", "isrc"]\n'
    with house.running(toml=toml, **UI) as run:
        visit = browser(run)
        form = visit.open("/settings?tab=advanced").form_with("path", "realign.identity_keys")
        moved = visit.press(form, ("rows", "down:0:realign.identity_keys"))
        assert "Not saved yet" in moved.text
        form = moved.form_with("path", "realign.identity_keys")
        assert form.named("value") == ["isrc", "mbid", ""]
        added = visit.press(form, ("rows", "add:0:realign.identity_keys"))
        form = added.form_with("path", "realign.identity_keys")
        assert form.named("value") == ["isrc", "mbid", "", ""]
        assert config.read_text() == toml
        removed = visit.press(form, ("rows", "remove:1:realign.identity_keys"))
        form = removed.form_with("path", "realign.identity_keys")
        assert form.named("value") == ["isrc", ""]
        visit.press(form)
        assert tomllib.loads(config.read_text())["realign"]["identity_keys"] == ["isrc"]


@pytest.mark.parametrize(
    "wish", ["up:99:x", "down:-1:realign.identity_keys", "", "::", "up:0:api.cooldown"]
)
def test_nonsense_about_rows_changes_nothing(house, config, wish):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings?tab=advanced").form_with("path", "realign.identity_keys")
        page = visit.press(form, ("rows", wish))
        assert page.answer.status == 200
        assert config.read_text() == ""


def test_pairs_are_saved_as_tables(house, config):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings?tab=advanced").form_with("path", "server.path_mappings")
        visit.press(form, **{"value.from": ["/music", ""], "value.to": ["/data/music", ""]})
        assert tomllib.loads(config.read_text())["server"]["path_mappings"] == [
            {"from": "/music", "to": "/data/music"}
        ]
        form = visit.open("/settings?tab=advanced").form_with("path", "server.path_mappings")
        half = visit.press(form, **{"value.from": ["/x"], "value.to": [""]})
        assert half.answer.status == 400


def test_a_switch_is_saved_on_and_off(house, config):
    with house.running(**UI) as run:
        visit = browser(run)
        form = visit.open("/settings").form_with("path", "enrichment.enabled")
        assert form.named("value") == ["false", "true"]
        visit.press(form, value="false")
        assert tomllib.loads(config.read_text())["enrichment"]["enabled"] is False
        form = visit.open("/settings").form_with("path", "enrichment.enabled")
        visit.press(form, value=["false", "true"])
        assert tomllib.loads(config.read_text())["enrichment"]["enabled"] is True


def test_use_default_takes_the_setting_out_of_the_file(house, config):
    with house.running(toml="[api]\ncooldown = 20\n", **UI) as run:
        visit = browser(run)
        form = visit.open("/settings").form_with("path", "api.cooldown")
        assert ("reset", "api.cooldown") in form.buttons
        page = visit.press(form, ("reset", "api.cooldown"))
        assert "cooldown" not in config.read_text()
        assert control(page, "api.cooldown")["value"] == "15"
        assert ("reset", "api.cooldown") not in page.form_with("path", "api.cooldown").buttons


@pytest.mark.parametrize(
    ("route", "fields", "status"),
    [
        ("/settings/field", [], 400),
        ("/settings/field", [("path", "api.cooldown"), ("path", "scan.depth")], 400),
        ("/settings/field", [("path", "api.cooldown")], 400),
        ("/settings/field", [("path", "api.colldown"), ("value", "1")], 400),
        (
            "/settings/field",
            [("path", "secrets.key_file"), ("value", "/k"), ("confirm", "yes")],
            400,
        ),
        ("/settings/field", [("path", "watcher.enabled"), ("value", "true")], 400),
        ("/settings/field", [("path", "environment.master_key"), ("value", "x")], 400),
        ("/settings/field", [("path", "../../etc"), ("value", "x")], 400),
        ("/settings/field", [("path", "server"), ("value", "x")], 400),
        ("/settings/section", [], 400),
        ("/settings/section", [("path", f"x{n}") for n in range(101)], 400),
    ],
)
def test_a_form_nobody_was_shown_is_refused(house, config, route, fields, status):
    with house.running(**UI) as run:
        visitor = run.visitor()
        visitor.get("/settings")
        token = ("csrf_token", visitor.cookies[CSRF])
        assert visitor.submit(route, [*fields, token]).status == status
        answer = visitor.submit(route, [*fields, token], headers=SCRIPT)
        assert answer.status == status
        assert set(answer.json) >= {"error", "detail"}
        assert config.read_text() == ""


ODD = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", " ", "true", "0", "-1", "1e999", "[REDACTED]", "\0", "a\nb", "'\"\\", "x=y,z"]
    ),
    st.integers().map(str),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(path=st.sampled_from([e.path for e in shown_registry()]), typed=st.lists(ODD, max_size=3))
def test_whatever_is_typed_the_next_start_works_and_nothing_breaks(fuzzed, path, typed):
    run, config = fuzzed
    visitor = run.visitor()
    visitor.get("/settings")
    before = config.read_bytes()
    fields = [("path", path), ("csrf_token", visitor.cookies[CSRF]), ("confirm", "yes")]
    fields += [("value", text) for text in typed] + [("value.from", text) for text in typed]
    answer = visitor.submit("/settings/field", [*fields, *[("value.to", "/x") for _ in typed]])
    assert answer.status in (303, 400, 409)
    if answer.status != 303:
        assert config.read_bytes() == before
    assert run.service.settings_desk.faults() == ()
    assert visitor.get("/settings?tab=advanced").status == 200


@pytest.fixture
def fuzzed(house, config):
    with house.running(**UI) as run:
        yield run, config


def test_read_only_settings_are_shown_and_say_what_sets_them(house):
    with house.running(LYRSVCGO_WATCH_DEBOUNCE_MS="500", **UI) as run:
        page = browser(run).open("/settings?tab=advanced")
        assert "Cannot be changed on this page" in row(page, "secrets.key_file")
        assert "Only the environment sets this: LYRSVCGO_WATCH_ENABLED" in row(
            page, "watcher.enabled"
        )
        assert "Source environment" in row(page, "watcher.debounce_ms")
        assert not any("secrets.key_file" in form.named("path") for form in page.forms)


def test_settings_are_found_by_a_word_on_all_tabs(house):
    with house.running(**UI) as run:
        visit = browser(run)
        page = visit.open("/settings?q=cooldown")
        assert {"setting-api-cooldown", "setting-providers-lrclib-cooldown_seconds"} <= set(
            page.ids
        )
        assert "setting-logging-level" not in page.ids
        assert "No setting found" in visit.open("/settings?q=zebra").text
        odd = visit.open("/settings?q=%3Cscript%3Ealert(1)%3C/script%3E")
        assert "<script>alert(1)" not in odd.answer.text


@pytest.mark.spec("H-32")
def test_a_network_that_may_only_look_sees_the_settings_and_cannot_save(house, config):
    with house.running(LYRSVC_TRUSTED_UI_ACCESS="read", **UI) as run:
        admin_of(run)
        visit = browser(run)
        page = visit.open("/settings")
        assert page.answer.status == 200
        assert "may only look" in page.text
        assert "disabled" in control(page, "api.cooldown")
        fields = {"path": "api.cooldown", "value": "33", "csrf_token": visit.visitor.cookies[CSRF]}
        assert visit.visitor.submit("/settings/field", fields).status == 401
        assert scripted(visit.visitor, "/settings/field", fields).status == 401
        assert config.read_text() == ""


@pytest.mark.spec("H-39")
@pytest.mark.seed("S-083")
@pytest.mark.parametrize("route", ["/settings/field", "/settings/section"])
def test_a_save_that_does_not_come_from_our_page_is_refused(house, config, route):
    with house.running(**UI) as run:
        visitor = run.visitor()
        good = {"path": "api.cooldown", "value": "33", "api.cooldown": "33"}
        assert visitor.submit(route, good).status == 403
        visitor.get("/settings")
        token = visitor.cookies[CSRF]
        for fields, headers, query in (
            (good, {}, f"?csrf_token={token}"),
            ({**good, "csrf_token": token[:-1] + "x"}, {}, ""),
            ({**good, "csrf_token": token}, {"origin": "http://evil.example"}, ""),
            ({**good, "csrf_token": token}, {"origin": "null"}, ""),
            ({**good, "csrf_token": token}, {"sec-fetch-site": "cross-site"}, ""),
        ):
            assert visitor.submit(route + query, fields, headers=headers).status == 403
        assert config.read_text() == ""
        assert visitor.submit(route, {**good, "csrf_token": token}).status == 303


@pytest.mark.spec("H-40")
def test_two_tabs_both_save_even_hours_later(house, config):
    with house.running(**UI) as run:
        visit = browser(run)
        first, second = visit.open("/settings"), visit.open("/settings?tab=advanced")
        assert visit.press(second.form_with("path", "scan.depth"), value="7").answer.status == 200
        house.clock.advance(6 * 3600)
        assert visit.press(first.form_with("path", "api.cooldown"), value="33").answer.status == 200
        saved = tomllib.loads(config.read_text())
        assert (saved["api"]["cooldown"], saved["scan"]["depth"]) == (33, 7)


@pytest.mark.spec("H-41")
def test_without_a_session_nothing_is_saved(house, config):
    with house.running(**UI) as run:
        admin_of(run)
        stranger = run.visitor(peer=STRANGER)
        fields = {"path": "api.cooldown", "value": "33"}
        answer = scripted(stranger, "/settings/field", fields)
        assert (answer.status, answer.json["error"]) == (401, "unauthorized")
        plain = stranger.submit("/settings/field", fields)
        assert (plain.status, plain.header("location")) == (303, "/login?next=/settings")
        assert config.read_text() == ""


def test_a_save_is_audited_with_old_and_new_and_a_secret_without(house):
    with house.running(toml="[api]\ncooldown = 20\n", **UI) as run:
        visit = browser(run)
        visit.press(visit.open("/settings").form_with("path", "api.cooldown"), value="33")
        form = visit.open("/settings").form_with("path", "api.token")
        visit.press(visit.press(form, value="audited-token").form_with("path", "api.token"))
        told = run.rows("SELECT event, actor, data FROM audit_log ORDER BY id")
        kinds = [row["event"] for row in told]
        assert "setting.changed" in kinds
        assert "secret.stored" in kinds
        assert "33" in next(row["data"] for row in told if row["event"] == "setting.changed")
        assert "audited-token" not in str(told)


@pytest.mark.spec("H-54")
def test_the_pages_hold_nothing_the_content_policy_would_stop(house):
    with house.running(toml='[server]\ninstance_name = "<script>alert(1)</script>"\n', **UI) as run:
        visit = browser(run)
        for query in ("", "?tab=advanced", "?tab=raw"):
            page = visit.open("/settings" + query)
            assert "<script>alert" not in page.answer.text
            for tag, given in page.elements:
                assert "style" not in given
                assert not [name for name in given if name.startswith("on")]
                assert tag != "script" or given.get("src")
            assert "unsafe-" not in page.answer.header("content-security-policy")


def test_every_control_has_a_label(house):
    with house.running(**UI) as run:
        for query in ("", "?tab=advanced"):
            page = browser(run).open("/settings" + query)
            labelled = {a["for"] for tag, a in page.elements if tag == "label" and "for" in a}
            for tag, given in page.elements:
                if tag in ("input", "select") and given.get("type") != "hidden":
                    assert given.get("id") in labelled or given.get("aria-label")
                for name in given.get("aria-describedby", "").split():
                    assert name in page.ids


@pytest.mark.seed("S-087")
def test_the_settings_exist_only_while_the_ui_is_on_and_the_variable_decides(house):
    off = "[server]\nweb_ui_enabled = false\n"
    for toml, environ in (
        ("", {}),
        (off.replace("false", "true"), {"LYRSVC_WEB_UI_ENABLED": "false"}),
    ):
        with house.running(toml=toml, **environ) as run:
            visitor = run.visitor()
            for path in ("/settings", "/settings/keys", "/settings/account"):
                assert visitor.get(path).status == 404
            for path in ("/settings/field", "/settings/section", "/settings/keys/revoke"):
                assert visitor.submit(path, {}).status == 404
    with house.running(toml=off, **UI) as run:
        assert run.visitor().get("/settings").status == 200


@pytest.mark.seed("S-086")
def test_the_pages_open_with_a_session_or_from_a_trusted_network(house):
    with house.running(LYRSVC_TRUSTED_CIDRS="198.51.100.0/24", **UI) as run:
        token, _ = run.service.access.sessions.open(admin_of(run), client="", user_agent="")
        for path in ("/settings", "/settings/keys"):
            assert run.visitor(peer=STRANGER).get(path).header("location") == f"/login?next={path}"
            assert run.visitor(peer=STRANGER, cookies={SESSION: "x" * 43}).get(path).status == 303
            assert run.visitor(peer=STRANGER, cookies={SESSION: token}).get(path).status == 200
            assert run.visitor(peer="198.51.100.7").get(path).status == 200
            assert run.visitor().get(path).status == 200


def test_links_and_forms_stand_below_the_base_path(house):
    with house.running(LYRSVC_BASE_PATH="/lyrics", **UI) as run:
        visit = browser(run)
        page = visit.open("/lyrics/settings")
        own = [form.action for form in page.forms]
        assert own
        assert all(action.startswith("/lyrics/") for action in own)
        answer = visit.visitor.submit(
            "/lyrics/settings/field",
            {"path": "api.cooldown", "value": "33", "csrf_token": visit.visitor.cookies[CSRF]},
        )
        assert answer.header("location").startswith("/lyrics/settings?tab=common")
    environment.cache_clear()


def admin_of(run):
    form = SetupForm(username="Ann", password=PASSWORD, confirm=PASSWORD)
    return run.service.access.first_admin.set_up(form, client=STRANGER).admin
