"""The composition root of the running service: everything ``serve`` needs, wired once."""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import SystemRandom
from types import TracebackType

from lyrsvc import runtime, surveying
from lyrsvc.core.errors import ConfigError
from lyrsvc.core.ports import Clock, Tokens
from lyrsvc.core.settling import Settled
from lyrsvc.core.sidecar import WordTiming
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.files.sidecar_writing import SidecarWriter
from lyrsvc.providers.defaultprov import DefaultProv, mint_token
from lyrsvc.runtime import Runtime
from lyrsvc.security.master_key import MasterKey
from lyrsvc.security.vault import Vault
from lyrsvc.services.enqueueing import Enqueuer
from lyrsvc.services.housekeeping import Housekeeper, Keeping
from lyrsvc.services.item_worker import ItemWorker
from lyrsvc.services.lane_memory import StoredLaneMemory
from lyrsvc.services.lanes import Lane
from lyrsvc.services.leasing import LeaseKeeper
from lyrsvc.services.listening import Listening
from lyrsvc.services.lookup import Lookup
from lyrsvc.services.pausing import Gate
from lyrsvc.services.provider_token import ProviderToken, given_by, identity_of
from lyrsvc.services.secret_store import SecretStore
from lyrsvc.services.steadying import Steady, SteadyMemory
from lyrsvc.services.stored_words import StoredWords
from lyrsvc.services.target_writing import OutputStyle, TargetDesk, stored_ownership
from lyrsvc.services.token_pace import TokenPace
from lyrsvc.services.upkeep import Upkeep
from lyrsvc.services.worker import Slots, Worker
from lyrsvc.settings.rules import work_interval_s
from lyrsvc.settings.sections import Settings
from lyrsvc.store.database import Database


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the process hands to the service.

    ``stop`` ends every wait; ``keep_back`` is told each secret, so that no log line shows
    it; ``token_source`` says where the setting of the token comes from. ``on_settled``
    is told of every item afterwards.
    """

    clock: Clock
    stop: threading.Event
    keep_back: Callable[[str], None] = lambda _secret: None
    token_source: str = "default"  # noqa: S105 - the name of a place
    on_settled: Callable[[Settled], None] = lambda _settled: None


@dataclass(frozen=True, kw_only=True)
class Service(Runtime):
    """The wired parts of a running service."""

    secrets: SecretStore
    lookup: Lookup
    enqueuer: Enqueuer
    worker: Worker
    upkeep: Upkeep
    survey: surveying.Survey
    housekeeper: Housekeeper
    obtain_token: Callable[[], None]
    """Ask for a token until there is one; for a thread of its own."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.lookup.close()
        super().__exit__(kind, error, trace)


def open_vault(settings: Settings) -> Vault:
    """Give the vault; a key that cannot be used is fatal before anything else is opened."""
    if settings.secrets.key_file is None:
        raise ConfigError(["there is no place for the key file"])
    vault = Vault(MasterKey(text=settings.environment.master_key, file=settings.secrets.key_file))
    vault.has_key()
    return vault


def build(settings: Settings, vault: Vault, around: Surroundings) -> Service:
    """Open the database and wire everything; nothing runs yet."""
    base = runtime.build(settings, clock=around.clock)
    try:
        return _wired(base, vault, around)
    except BaseException:
        base.db.close()
        raise


def _wired(base: Runtime, vault: Vault, around: Surroundings) -> Service:
    settings, db, clock = base.settings, base.db, around.clock
    chance, steady, owner = SystemRandom(), Steady(clock), uuid.uuid4().hex[:16]
    secrets = SecretStore(db, vault, clock=clock, keep_back=around.keep_back)
    on_token: list[Callable[[], None]] = []
    tokens = _tokens(settings, secrets, db, around, on_token)
    lookup = runtime.build_lookup(
        settings,
        tokens=tokens,
        clock=clock,
        waiting=lambda seconds, _lane: clock.wait(seconds),
        remember=lambda lane: SteadyMemory(
            StoredLaneMemory(db, lane, clock=clock, owner=owner), steady
        ),
    )
    upkeep = Upkeep(db, lookup.lanes, clock=clock, chance=chance)
    terms = runtime.enqueue_terms(settings, version=lambda: upkeep.provider_set_version)
    survey = surveying.build(settings, db=db, clock=clock, terms=terms, wake=lambda: worker.wake())
    desk = _desk(settings, db, clock, announce=survey.announce)
    worker = _worker(base, lookup, around, desk=desk, steady=steady, owner=owner)
    on_token += [upkeep.follow_lanes, worker.wake]
    return Service(
        settings=settings,
        clock=clock,
        db=db,
        secrets=secrets,
        lookup=lookup,
        enqueuer=Enqueuer(db, clock=clock, terms=terms, wake=worker.wake),
        worker=worker,
        upkeep=upkeep,
        survey=survey,
        housekeeper=Housekeeper(db, clock=clock, keeping=_keeping(settings)),
        obtain_token=_bootstrap(settings, tokens, lookup.lanes),
    )


def _tokens(
    settings: Settings,
    secrets: SecretStore,
    db: Database,
    around: Surroundings,
    on_token: list[Callable[[], None]],
) -> Tokens:
    """Give the default provider's token; where nobody needs one, none is looked for."""
    chosen = settings.providers
    if DefaultProv.name not in (chosen.primary, *chosen.fallback_order):
        return runtime.operator_token(settings, around.token_source)
    identity = identity_of(chosen.defaultprov.base_url, chosen.defaultprov.app_id)

    def tell() -> None:
        for listener in on_token:
            listener()

    return ProviderToken(
        secrets,
        TokenPace(db, identity=identity, clock=around.clock, chance=SystemRandom().random),
        given=given_by(settings.api.token, around.token_source),
        identity=identity,
        on_token=tell,
    )


def _bootstrap(settings: Settings, tokens: Tokens, lanes: tuple[Lane, ...]) -> Callable[[], None]:
    lane = next((lane for lane in lanes if lane.name == DefaultProv.name), None)
    if lane is None or not isinstance(tokens, ProviderToken):
        return lambda: None
    pair = settings.providers.defaultprov
    return partial(tokens.obtain, partial(mint_token, lane.http, pair.base_url, pair.app_id))


def _worker(
    base: Runtime,
    lookup: Lookup,
    around: Surroundings,
    *,
    desk: TargetDesk,
    steady: Steady,
    owner: str,
) -> Worker:
    settings, db, clock, chance = base.settings, base.db, around.clock, SystemRandom()
    policy = _wait_policy(settings)
    output = settings.output
    keeper = LeaseKeeper(db, owner=owner, clock=clock, chance=chance, steady=steady, policy=policy)
    items = ItemWorker(
        db,
        lookup,
        desk,
        words=StoredWords(db, lookup, embedded=output.embedded_lyrics),
        listening=Listening(None, default=settings.instrumental_detector.enabled, clock=clock),
        keeper=keeper,
        steady=steady,
        clock=clock,
        chance=chance,
        policy=policy,
        on_settled=around.on_settled,
    )
    return Worker(
        db,
        items,
        gate=Gate(lookup.lanes, steady=steady, is_stopping=around.stop.is_set),
        keeper=keeper,
        steady=steady,
        clock=clock,
        chance=chance,
        slots=Slots(
            owner=owner,
            remote=settings.server.worker_slots,
            poll_s=float(work_interval_s(settings)),
        ),
    )


def _desk(
    settings: Settings, db: Database, clock: Clock, *, announce: Callable[[Path], None]
) -> TargetDesk:
    """Wire what writes sidecars; the watcher hears of each write first."""
    output = settings.output
    return TargetDesk(
        SidecarWriter(clock=clock, ownership=stored_ownership(db), announce=announce),
        style=OutputStyle(
            bilingual=output.bilingual_output, word_timing=WordTiming(output.word_timing)
        ),
    )


def _keeping(settings: Settings) -> Keeping:
    done, sweep = settings.queue.done_retention_days, settings.server.sweep_interval_seconds
    return Keeping(
        history=timedelta(days=settings.history.retention_days),
        done_items=timedelta(days=done) if done else None,
        missing_files=timedelta(days=settings.scan.missing_retention_days),
        sweep_every=timedelta(seconds=sweep) if sweep else None,
    )


def _wait_policy(settings: Settings) -> WaitPolicy:
    api = settings.api
    return WaitPolicy(
        miss_base=timedelta(hours=api.miss_backoff_base_hours),
        miss_cap=timedelta(hours=api.miss_backoff_cap_hours),
        max_misses=api.max_miss_attempts,
    )
