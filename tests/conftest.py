"""What every test gets: a clock, a closed network, tools or a reason, and the list of promises."""

import os
import socket
from collections.abc import Iterator
from ipaddress import ip_address

import pytest
from hypothesis import settings

from devtools.system_tools import TOOLS, is_required
from fakes import FakeClock
from seed_checklist import unproven_rows

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1_000)
"""A test run fails for the change at hand, not by chance or by load; ``search`` looks further:
``--hypothesis-profile search``."""

OURS = ("LYRSVC_", "LYRSVCGO_", "PROVIDER_TOKEN")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "needs_tool(*names): the programs this test cannot do without"
    )
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]  # whoever runs the tests may also run the service
    settings.load_profile(config.getoption("--hypothesis-profile") or "steady")
    close_the_network()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def pytest_runtest_setup(item: pytest.Item) -> None:
    names = [name for mark in item.iter_markers("needs_tool") for name in mark.args]
    missing = [name for name in names if TOOLS[name].path() is None]
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        if is_required(os.environ):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Keep captured text that is no Unicode from breaking the line between test processes."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return  # a chosen few tests say nothing about all promises
    rows = unproven_rows()
    if rows:
        terminalreporter.section(f"{len(rows)} promises without a test", sep="-")
        for line in _shown(rows, in_full=config.get_verbosity() > 0):
            terminalreporter.line(line)


def _shown(rows: dict[str, str], *, in_full: bool) -> Iterator[str]:
    if in_full:
        yield from (f"{row}  {promise}" for row, promise in rows.items())
        return
    names = list(rows)
    for start in range(0, len(names), 14):
        yield " ".join(names[start : start + 14])


def close_the_network() -> None:
    """Let sockets of this process reach loopback only; a test that tries more fails.

    The failure is no OSError, so that code which forgives network faults does not hide it.
    """
    for method in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, method, _guarded(getattr(socket.socket, method)))
    resolve = socket.getaddrinfo

    def getaddrinfo(host, *args, **kwargs):
        if not _is_near(host):
            pytest.fail(f"a test asked for the address of {host!r}")
        return resolve(host, *args, **kwargs)

    socket.getaddrinfo = getaddrinfo


def _guarded(method):
    def call(self, *args):
        address = args[-1]
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_near(address[0]):
            pytest.fail(f"a test tried to reach {address!r}; only loopback is allowed")
        return method(self, *args)

    return call


def _is_near(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in ("", "localhost"):
        return True
    try:
        address = ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
