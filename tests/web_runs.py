"""A whole service for web tests: the open lane first, the stand-in behind it, real time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from lyrsvc.clock import SystemClock
from lyrsvc.demo.stand_in import StandIn
from service_runs import House, Run

LRCLIB_FIRST = '[providers]\nprimary = "lrclib"\nfallback_order = ["defaultprov"]\n'


@contextmanager
def serving_run(place: Path, *, toml: str = LRCLIB_FIRST, **more: str) -> Iterator[Run]:
    stop = Event()
    with (
        StandIn() as stand_in,
        House(place, SystemClock(stop), stand_in.url, stop).running(toml=toml, **more) as run,
    ):
        run.stand_in = stand_in
        run.config = place / ".config" / "lyrsvcgo-svc" / "config.toml"
        try:
            yield run
        finally:
            stop.set()
            run.service.noticer.close()
            run.service.scan_desk.wait(20)
