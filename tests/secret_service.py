"""A service's secrets and its default lane against the stand-in, as ``serve`` will wire them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fakes import FakeClock
from lyrsvc.core import judging
from lyrsvc.core.judging import GuardPolicy
from lyrsvc.core.outcome import Attempt
from lyrsvc.core.recording import Recording
from lyrsvc.demo.stand_in import LYRICS_PATH, TOKEN_PATH, StandIn
from lyrsvc.providers.defaultprov import DefaultProv, mint_token
from lyrsvc.providers.upstream import Connections, Upstream
from lyrsvc.security.master_key import MasterKey
from lyrsvc.security.vault import Vault
from lyrsvc.services.lanes import Lane, Manners
from lyrsvc.services.provider_token import Given, ProviderToken, identity_of
from lyrsvc.services.secret_store import SecretStore
from lyrsvc.services.token_pace import TokenPace
from lyrsvc.store.database import Database

APP_ID = "test-player"
KITCHEN_RADIO = Recording(
    title="Kitchen Radio",
    artist="The Quiet Ferrymen",
    album="Low Tide Almanac",
    duration_ms=34_000,
)


class Run:
    """One run of the service, from its start to its end."""

    def __init__(self, service: "Service", db: Database, given: Given, app_id: str) -> None:
        self._service = service
        self.activated: list[str | None] = []
        identity = identity_of(service.stand_in.url, app_id)
        self.secrets = service.secrets(db)
        pace = TokenPace(db, identity=identity, clock=service.clock, chance=lambda: 0.5)
        self.token = ProviderToken(
            self.secrets,
            pace,
            given=given,
            identity=identity,
            on_token=lambda: self.activated.append(self.token.current()),
        )
        self._connections = Connections(version="9.9.9", now=service.clock.now)
        http = Upstream(self._connections)
        url = service.stand_in.url
        self._mint = partial(mint_token, http, url, app_id)
        self.lane = Lane(
            DefaultProv(base_url=url, app_id=app_id, tokens=self.token),
            connect=lambda _pace, _settled: http,
            manners=Manners(),
            clock=service.clock,
            waiting=lambda seconds, _lane: service.clock.wait(seconds),
            is_active=lambda: bool(self.token.current()),
        )

    def obtain(self) -> None:
        """Do what the background thread does."""
        self.token.obtain(self._mint)

    def look_up(self, recording: Recording = KITCHEN_RADIO) -> Attempt:
        """Ask the lane, as the worker does."""
        judge = partial(judging.judge, recording, policy=GuardPolicy())
        return self.lane.ask(recording, judge)

    def close(self) -> None:
        self._connections.close()


class Service:
    """A service that can be started and stopped on one database."""

    def __init__(self, directory: Path, stand_in: StandIn | None, clock: FakeClock) -> None:
        self.database = directory / "state" / "lyrsvcgo.db"
        self.key_file = directory / "state" / ".lyrsvcgo.key"
        self.stand_in = stand_in
        self.clock = clock
        self.kept_back: list[str] = []

    @contextmanager
    def running(self, given: Given | None = None, *, app_id: str = APP_ID) -> Iterator[Run]:
        with self.open() as db:
            run = Run(self, db, given or Given(), app_id)
            try:
                yield run
            finally:
                run.close()

    @contextmanager
    def open(self) -> Iterator[Database]:
        with Database.open(self.database, create=True, clock=self.clock) as db:
            yield db

    def secrets(self, db: Database) -> SecretStore:
        vault = Vault(MasterKey(text="", file=self.key_file))
        return SecretStore(db, vault, clock=self.clock, keep_back=self.kept_back.append)

    @property
    def mints(self) -> int:
        return len(self.stand_in.calls(TOKEN_PATH))

    @property
    def tokens_seen(self) -> list[str]:
        return [call.query["usertoken"] for call in self.stand_in.calls(LYRICS_PATH)]

    @property
    def rows(self) -> list[dict[str, object]]:
        """The stored secrets, byte for byte."""
        with self.open() as db, db.read() as tx:
            return [dict(row) for row in tx.all("SELECT * FROM secrets ORDER BY name")]

    @property
    def bytes_on_disk(self) -> bytes:
        """Everything the database holds, its log included."""
        return b"".join(
            path.read_bytes() for path in self.database.parent.glob(f"{self.database.name}*")
        )
