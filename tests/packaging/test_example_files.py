"""Every variable, metric and label in the files for other programs is one that exists."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET

import pytest

from builders import minimal_flac
from devtools.system_tools import TOOLS
from lyrsvc.settings.registry import Registry
from served import Served, wait_until
from source_tree import ROOT

yaml = pytest.importorskip("yaml")

PACKAGING = ROOT / "packaging"
RULES = PACKAGING / "prometheus/lyrsvc.rules.yml"
SCRAPER = {"job", "instance"}
"""Labels that Prometheus itself puts on everything."""


def unknown(names) -> list[str]:
    registry = Registry()
    return [name for name in names if not registry.knows_variable(name)]


# Containers


@pytest.mark.spec("C-67")
@pytest.mark.seed("S-128")
def test_compose_file() -> None:
    service = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]["lyrsvc"]
    assert unknown(service["environment"]) == []
    assert (
        service["environment"].items()
        >= {
            "PUID": "1000",
            "PGID": "1000",
            "UMASK": "002",
            "LYRSVC_WEB_UI_ENABLED": "true",
        }.items()
    )
    assert service["volumes"] == ["./config:/config", "/srv/media:/data"]
    assert service["ports"] == ["50705:50705"]
    assert (service["read_only"], service["tmpfs"]) == (True, ["/var/tmp"])
    assert (service["cap_drop"], service["cap_add"]) == (["ALL"], ["CHOWN", "SETUID", "SETGID"])
    commented = re.findall(r"# (LYRSVC\w*):", (PACKAGING / "compose.yaml").read_text())
    assert commented
    assert unknown(commented) == []


def instructions() -> list[tuple[str, str]]:
    text = (PACKAGING / "docker/Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


@pytest.mark.seed("S-111", "S-112")
def test_the_image_listens_on_its_port_and_keeps_its_state_in_config() -> None:
    last = [n for n, (word, _) in enumerate(instructions()) if word == "FROM"][-1]
    final = instructions()[last:]
    said = {word: rest for word, rest in final if word not in ("RUN", "COPY", "ARG")}
    environ = dict(pair.split("=", 1) for pair in said["ENV"].split())
    assert environ == {
        "LYRSVC_DOCKER": "true",
        "LYRSVC_SERVER_ADDR": "0.0.0.0:50705",
        "HOME": "/config",
        "TMPDIR": "/var/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    assert unknown(name for name in environ if name.startswith("LYRSVC_")) == []
    assert (said["WORKDIR"], said["VOLUME"], said["EXPOSE"]) == ("/config", "/config", "50705")
    assert json.loads(said["ENTRYPOINT"]) == ["/sbin/tini", "--", "/usr/local/bin/entrypoint"]
    assert json.loads(said["CMD"]) == ["lyrsvc", "serve"]
    assert said["STOPSIGNAL"] == "SIGTERM"
    options, _, command = said["HEALTHCHECK"].partition(" CMD ")
    assert options == "--interval=30s --timeout=5s --start-period=20s --retries=3"
    assert json.loads(command) == ["lyrsvc", "healthcheck"]
    for label in ("title", "description", "source", "version", "revision", "licenses"):
        assert f"org.opencontainers.image.{label}=" in said["LABEL"]
    assert "USER" not in said  # the entrypoint chooses


def test_the_base_image_is_pinned_and_packages_are_hashed() -> None:
    text = (PACKAGING / "docker/Dockerfile").read_text()
    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.\d+-alpine\S*@sha256:[0-9a-f]{64}$", text, re.M)
    assert {rest.split()[0] for word, rest in instructions() if word == "FROM"} == {
        "${PYTHON_IMAGE}"
    }
    installs = re.findall(r"pip(?: --python \S+)? install([^&]*)", text.replace("\\\n", " "))
    assert installs
    assert all("--require-hashes" in words or "--no-deps" in words for words in installs)


def test_the_image_copies_only_what_is_there_and_let_in() -> None:
    allowed = (PACKAGING / "docker/Dockerfile.dockerignore").read_text().splitlines()
    for word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            for source in [part for part in rest.split()[:-1] if not part.startswith("--")]:
                assert (ROOT / source).exists(), source
                assert any(f"!{top}" in allowed for top in (source, source.split("/")[0])), source


@pytest.mark.spec("C-67")
def test_unraid_template() -> None:
    root = ET.parse(PACKAGING / "unraid/lyrsvc.xml").getroot()
    configs = {one.get("Target"): one for one in root.iter("Config")}
    variables = {t: c for t, c in configs.items() if c.get("Type") == "Variable"}
    assert unknown(variables) == []
    values = {target: one.text or "" for target, one in variables.items()}
    assert values.items() >= {"PUID": "99", "PGID": "100", "UMASK": "002"}.items()
    assert values["LYRSVC_WEB_UI_ENABLED"] == "true"
    secret = {e for e, entry in Registry().by_variable.items() if entry.setting.secret}
    masked = {target for target, one in variables.items() if one.get("Mask") == "true"}
    assert masked == {"PROVIDER_TOKEN", "LYRSVC_WEBHOOK_API_KEY", "LYRSVC_MASTER_KEY"}
    assert masked == set(variables) & secret
    wanted = {"TZ", "LYRSVC_PROVIDER_PRIMARY", "LYRSVC_API_COOLDOWN", "LYRSVCGO_WATCH_ENABLED"}
    wanted |= {"LYRSVC_TRUSTED_CIDRS", "LYRSVC_LOG_LEVEL"}
    wanted.add("LYRSVC_INSTRUMENTAL_DETECTOR_CLASSIFIER_URL")
    assert wanted <= set(variables)
    assert (configs["/config"].get("Mode"), configs["/data"].get("Mode")) == ("rw", "rw")
    assert root.findtext("Network") == "bridge"
    assert root.findtext("WebUI") == "http://[IP]:[PORT:50705]/"
    assert [branch.findtext("Tag") for branch in root.iter("Branch")] == ["latest", "nightly"]
    assert all(one.get("Description") for one in configs.values())


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile", "traefik.yaml"])
def test_proxy_examples_name_known_variables(name) -> None:
    named = re.findall(r"\bLYRSVC\w*", (PACKAGING / "proxy" / name).read_text())
    assert "LYRSVC_TRUSTED_PROXIES" in named
    assert unknown(named) == []


def test_the_traefik_example_is_a_router_to_the_service() -> None:
    http = yaml.safe_load((PACKAGING / "proxy/traefik.yaml").read_text())["http"]
    assert set(http["routers"]["lyrsvc"]["middlewares"]) == set(http["middlewares"])
    assert http["routers"]["lyrsvc"]["service"] in http["services"]


# Metrics


@pytest.fixture(scope="module")
def families(tmp_path_factory) -> dict[str, set[str]]:
    """The labels of every family that a service with a library and a failed item shows."""
    home = tmp_path_factory.mktemp("home")
    music = home / "music"
    music.mkdir()
    minimal_flac(music / "Some Artist - Some Title.flac", seconds=200)
    environ = {
        "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_WORK_INTERVAL": "1",
    }
    with Served(home, environ) as served:
        assert served.run("library", "add", str(music)).returncode == 0
        assert served.run("scan").returncode == 0
        wait_until(lambda: b"queue_failures{" in served.get("/metrics")[1], "an item fails")
        text = served.get("/metrics")[1].decode()
    names: dict[str, set[str]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition("{")
        if not line.startswith("#"):
            labels = set(re.findall(r'(\w+)="', rest)) if rest else set()
            names.setdefault(name.split()[0], set()).update(labels)
    return names


def dashboard() -> dict:
    return json.loads((PACKAGING / "grafana/lyrsvc.json").read_text())


def dashboard_queries() -> list[tuple[str, str]]:
    panels = dashboard()["panels"]
    return [(each["expr"], each["legendFormat"]) for panel in panels for each in panel["targets"]]


def rules() -> list[dict]:
    return [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    ]


def queries() -> list[tuple[str, str]]:
    texts = [(rule["expr"], json.dumps(rule["annotations"])) for rule in rules()]
    return [*dashboard_queries(), *texts]


@pytest.mark.spec("C-67")
def test_every_queried_family_and_label_exists_in_a_real_scrape(families) -> None:
    known = families | {"up": set()}
    seen = set()
    for query, shown in queries():
        named = re.findall(r"\b(lyrsvcgo_\w+|up)\b(?:\{([^}]*)\})?", query)
        assert named, query
        available = set(SCRAPER)
        for name, selector in named:
            assert name in known, query
            assert set(re.findall(r"(\w+)\s*=~?", selector)) <= known[name] | SCRAPER, query
            available |= known[name]
            seen.add(name)
        for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", query):
            assert {label.strip() for label in group.split(",")} <= available, query
        labels = re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", shown)
        assert set(labels) <= available, shown
    assert seen == set(known)  # nothing that is measured goes unseen


@pytest.mark.spec("C-67")
def test_the_dashboard_is_whole() -> None:
    board = dashboard()
    variables = [one["name"] for one in board["templating"]["list"]]
    assert variables[0] == "datasource"
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(board["panels"])))
    assert used <= set(variables)
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    spots = set()
    for panel in board["panels"]:
        assert panel["title"]
        box = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(box["x"], box["x"] + box["w"])
            for y in range(box["y"], box["y"] + box["h"])
        }
        assert not cells & spots, panel["title"]
        assert box["x"] + box["w"] <= 24
        spots |= cells


@pytest.mark.spec("C-67")
@pytest.mark.needs_tool("promtool")
def test_prometheus_accepts_every_query(tmp_path) -> None:
    subprocess.run([TOOLS["promtool"].path(), "check", "rules", str(RULES)], check=True)
    recorded = [
        {"record": f"panel:{number}", "expr": re.sub(r"\$\w+", ".*", query)}
        for number, (query, _) in enumerate(dashboard_queries())
    ]
    path = tmp_path / "panels.json"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": recorded}]}))
    subprocess.run([TOOLS["promtool"].path(), "check", "rules", str(path)], check=True)


def series(name: str, values: str, **labels: str) -> dict:
    inner = ",".join(
        f'{key}="{value}"' for key, value in {"job": "lyrsvc", "instance": "a", **labels}.items()
    )
    return {"series": f"{name}{{{inner}}}", "values": values}


def items(**values: str) -> list[dict]:
    every = dict.fromkeys(["pending", "processing", "done", "failed", "deferred"], "0x600")
    return [series("lyrsvcgo_queue_items", v, status=s) for s, v in (every | values).items()]


def lane(hits: str, misses: str) -> list[dict]:
    return [
        series("lyrsvcgo_provider_hits_total", hits, lane="lrclib"),
        series("lyrsvcgo_provider_misses_total", misses, lane="lrclib"),
    ]


BUSY = lane("0+1x3000", "0+1x3000")
STORIES = {
    "down": ([series("up", "1x10 0x20")], "16m", "LyrsvcDown"),
    "just down": ([series("up", "1x10 0x20")], "14m", ""),
    "stalled": (items(pending="7x600"), "4h5m", "LyrsvcQueueStalled"),
    "not yet stalled": (items(pending="7x600"), "1h50m", ""),
    "getting on": (items(pending="7x600", done="0+1x600") + BUSY, "4h5m", ""),
    "idle": (items(), "4h5m", ""),
    "stuck": (items(processing="2x600", done="0+1x600") + lane("5x600", "9x600"), "2h5m", "LyrsvcProcessingStuck"),
    "working": (items(processing="2x600", done="0+1x600") + lane("5+1x600", "9+1x600"), "2h5m", ""),
    "failing": (items(failed="60x600", done="100+1x600") + BUSY, "40m", "LyrsvcFailuresHigh"),
    "a few fail": (items(failed="40x600", done="100+1x600") + BUSY, "40m", ""),
    "few of many": (items(failed="60x600", done="5000+1x600") + BUSY, "40m", ""),
    "no hits": (lane("3x1700", "0+1x1700"), "26h", "LyrsvcLaneNoHits"),
    "a hit": (lane("3x1400 4x300", "0+1x1700"), "26h", ""),
}  # fmt: skip
"""What is measured, when somebody looks, and the one alert that must stand then."""


@pytest.mark.needs_tool("promtool")
def test_alerts_stand_when_they_should_and_only_then(tmp_path) -> None:
    names = [rule["alert"] for rule in rules()]
    assert {alert for _, _, alert in STORIES.values() if alert} == set(names)
    tests = []
    for story, (measured, moment, standing) in STORIES.items():
        looks = [{"eval_time": moment, "alertname": name} for name in names]
        checks = [
            {"expr": f'count(ALERTS{{alertname="{look["alertname"]}",alertstate="firing"}})', "eval_time": moment,
             "exp_samples": [{"labels": "{}", "value": 1}] if look["alertname"] == standing else []}
            for look in looks
        ]  # fmt: skip
        tests.append(
            {"name": story, "interval": "1m", "input_series": measured, "promql_expr_test": checks}
        )
    path = tmp_path / "stories.json"
    path.write_text(
        json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests})
    )
    done = subprocess.run(
        [TOOLS["promtool"].path(), "test", "rules", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
