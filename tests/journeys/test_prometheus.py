"""A real Prometheus reads the metrics of a running service."""

import json
import subprocess
import urllib.parse
import urllib.request

import pytest

from devtools.system_tools import TOOLS
from ports import free_port
from served import Served, wait_until


@pytest.mark.needs_tool("prometheus")
@pytest.mark.seed("S-073")
def test_prometheus_scrapes_the_service(tmp_path):
    environ = {"LYRSVC_PROVIDERS_PRIMARY": "lrclib", "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9"}
    port = free_port()
    with Served(tmp_path, environ) as served:
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n"
            f"  - job_name: lyrsvc\n    static_configs: [{{targets: ['{served.address}']}}]\n"
        )
        command = [
            TOOLS["prometheus"].path(),
            f"--config.file={config}",
            f"--storage.tsdb.path={tmp_path / 'series'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with (tmp_path / "prometheus.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until(lambda: asked(port, "up") == {"1"}, "a scrape succeeds")
            wait_until(lambda: asked(port, "count(lyrsvcgo_queue_items)") == {"5"}, "five statuses")
            assert asked(port, 'lyrsvcgo_lane_closed{lane="lrclib"}') == {"0"}
            assert asked(port, "lyrsvcgo_build_info") == {"1"}
        finally:
            process.terminate()
            process.wait(timeout=20)


def asked(port: int, query: str) -> set[str]:
    """Give the values a query has now; nothing while Prometheus does not answer."""
    url = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return {one["value"][1] for one in json.load(answer)["data"]["result"]}
    except OSError:
        return set()
