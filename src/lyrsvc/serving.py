"""The composition root of the running service: everything ``serve`` needs, wired once."""

import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import SystemRandom
from types import TracebackType

from lyrsvc import admitting, following, fronting, runtime, surveying
from lyrsvc.core.errors import ConfigError, Refused
from lyrsvc.core.ports import Clock, Tokens
from lyrsvc.core.redaction import Redactor
from lyrsvc.core.settling import Settled
from lyrsvc.core.sidecar import FetchMode, WordTiming
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.files.atomic import Announce
from lyrsvc.files.sidecar_writing import SidecarWriter
from lyrsvc.logs.audit import Audit
from lyrsvc.logs.log_memory import LogMemory
from lyrsvc.providers.defaultprov import DefaultProv, mint_token
from lyrsvc.runtime import Runtime
from lyrsvc.security.master_key import MasterKey
from lyrsvc.security.vault import Vault
from lyrsvc.services.announcing import Announcer
from lyrsvc.services.audit_trail import AuditTrail
from lyrsvc.services.away_roots import AwayRoots
from lyrsvc.services.chores import Chores
from lyrsvc.services.enqueueing import Enqueuer, Terms
from lyrsvc.services.first_admin import Bootstrap
from lyrsvc.services.housekeeping import Housekeeper, Keeping
from lyrsvc.services.intake import Followers, Intake, IntakeRules
from lyrsvc.services.item_worker import ItemWorker
from lyrsvc.services.lane_memory import StoredLaneMemory
from lyrsvc.services.lanes import Lane
from lyrsvc.services.leasing import LeaseKeeper
from lyrsvc.services.listening import LANE as DETECTOR
from lyrsvc.services.lookup import Lookup
from lyrsvc.services.parked_check import ParkedCheck
from lyrsvc.services.pausing import Gate
from lyrsvc.services.provider_token import ProviderToken, given_by, greet, identity_of
from lyrsvc.services.secret_store import SecretStore
from lyrsvc.services.steadying import Steady, SteadyMemory
from lyrsvc.services.stored_words import StoredWords
from lyrsvc.services.target_writing import OutputStyle, TargetDesk, stored_ownership
from lyrsvc.services.task_board import TaskRecord
from lyrsvc.services.token_pace import TokenPace
from lyrsvc.services.upkeep import Upkeep
from lyrsvc.services.webhook_memory import WebhookMemory
from lyrsvc.services.worker import Slots, Worker
from lyrsvc.services.write_refusals import WriteRefusals
from lyrsvc.settings.loading import Loaded
from lyrsvc.settings.rules import work_interval_s
from lyrsvc.settings.sections import Settings
from lyrsvc.store.database import Database
from lyrsvc.surveying import Onlookers

_LOG = logging.getLogger("lyrsvc.serve")
_MINUTE_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the process hands to the service.

    ``stop`` ends every wait; ``redactor`` is told each secret, so that no log line shows
    it; ``log_memory`` holds the latest lines, ``scan_mode`` is how far scheduled scans may go.
    """

    clock: Clock
    stop: threading.Event
    redactor: Redactor = field(default_factory=Redactor)
    log_memory: LogMemory | None = None
    scan_mode: FetchMode = FetchMode.NORMAL


@dataclass(frozen=True, kw_only=True)
class Service(fronting.Front, fronting.Workings, Runtime):
    """The wired parts of a running service."""

    audit: Audit
    enqueuer: Enqueuer
    following: following.Following
    started_at: datetime
    chores: Chores = field(default_factory=Chores)
    obtain_token: Callable[[], None]
    """Ask for a token until there is one; for a thread of its own."""

    def keep_minutes(self) -> None:
        """Write down every minute what was noted off the path of requests."""
        self.warn_of_libraries()
        while not self.clock.wait(_MINUTE_S):
            self.flush()
        self.flush()

    def warn_of_libraries(self) -> None:
        """Say which libraries cannot be seen; a disk may take its time, so not while starting."""
        for entry in self.health.entries():
            if entry.code in ("library_missing", "library_empty"):
                _LOG.warning("%s; %s", entry.detail, entry.remedy)

    def flush(self) -> None:
        """Write down what was noted: uses of keys, moved sessions, the last webhook, floods."""
        self.access.flush()
        self.webhooks.flush()
        self.audit.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.lookup.close()
        self.audit.close()
        super().__exit__(kind, error, trace)


def open_vault(settings: Settings) -> Vault:
    """Give the vault; a key that cannot be used is fatal before anything else is opened."""
    if settings.secrets.key_file is None:
        raise ConfigError(["there is no place for the key file"])
    vault = Vault(MasterKey(text=settings.environment.master_key, file=settings.secrets.key_file))
    vault.has_key()
    return vault


def build(loaded: Loaded, vault: Vault, around: Surroundings) -> Service:
    """Open the database and wire everything; nothing runs yet."""
    base = runtime.build(loaded.settings, clock=around.clock)
    try:
        return _wired(base, loaded, vault, around)
    except BaseException:
        base.db.close()
        raise


def prepare(service: Service) -> None:
    """Put things right before the first request: old sessions, cut-off scans, the first admin."""
    environment = service.settings.environment
    service.access.first_admin.bootstrap(
        Bootstrap(
            user=environment.admin_user,
            password=environment.admin_password,
            ui_enabled=service.settings.server.web_ui_enabled,
        )
    )
    service.access.sessions.purge()
    service.scan_desk.tidy()


def _wired(base: Runtime, loaded: Loaded, vault: Vault, around: Surroundings) -> Service:
    settings, db, clock = base.settings, base.db, around.clock
    chance, steady, owner = SystemRandom(), Steady(clock), uuid.uuid4().hex[:16]
    secrets = SecretStore(db, vault, clock=clock, keep_back=around.redactor.register)
    on_token: list[Callable[[], None]] = []
    tokens = _tokens(loaded, secrets, db, clock, on_token)
    audit = Audit(clock=clock, redactor=around.redactor, keep=AuditTrail(db).keep)
    lookup = runtime.build_lookup(
        settings,
        tokens=tokens,
        clock=clock,
        waiting=lambda seconds, _lane: clock.wait(seconds),
        remember=lambda lane: SteadyMemory(
            StoredLaneMemory(db, lane, clock=clock, owner=owner), steady
        ),
    )
    record = TaskRecord(db, clock=clock)
    upkeep = Upkeep(
        db,
        lookup.lanes,
        clock=clock,
        chance=chance,
        embedded=settings.output.embedded_lyrics,
        record=record.count,
    )
    terms = runtime.enqueue_terms(settings, version=lambda: upkeep.provider_set_version)
    survey = surveying.build(
        settings,
        db=db,
        clock=clock,
        terms=terms,
        mode=around.scan_mode,
        onlookers=Onlookers(
            wake=lambda: worker.wake(),
            record=record.run,
            on_scanned=lambda library, below: follow.scanned(library, below),
            on_renamed=lambda *what: follow.renamed(*what),
        ),
    )
    announcer = Announcer(clock=clock, on_first=lambda: front.noticer.start())
    desk = _desk(settings, db, clock, announce=survey.announce)
    slots = Slots(
        owner=owner,
        remote=settings.server.worker_slots,
        poll_s=float(work_interval_s(settings)),
    )
    worker = _worker(
        base,
        lookup,
        desk,
        slots=slots,
        steady=steady,
        terms=terms,
        on_settled=lambda settled: announcer.tell_outcome(settled.item),
    )
    on_token += [upkeep.greet_lane, worker.wake]
    webhooks = WebhookMemory(db, clock=clock)
    intake = Intake(
        db,
        clock=clock,
        terms=terms,
        rules=IntakeRules(
            path_mappings=settings.server.path_mappings, enrich=settings.enrichment.enabled
        ),
        followers=Followers(
            wake=worker.wake,
            sub_scan=survey.scan_soon,
            ring=lambda: follow.renamer.wake(),
            heard=webhooks.note,
            missed=webhooks.note_missed,
        ),
    )
    follow = following.build(
        settings,
        db=db,
        clock=clock,
        roots=intake.roots,
        announce=survey.announce,
        sub_scan=survey.scan_soon,
    )
    workings = fronting.Workings(
        loaded=loaded,
        secrets=secrets,
        lookup=lookup,
        worker=worker,
        upkeep=upkeep,
        survey=survey,
        housekeeper=Housekeeper(
            db,
            clock=clock,
            keeping=_keeping(settings),
            record=record.run,
            parked=ParkedCheck(db, clock=clock, chance=chance).run,
        ),
        record=record,
        intake=intake,
        access=admitting.build(
            loaded, db=db, vault=vault, secrets=secrets, clock=clock, audit=audit
        ),
        announcer=announcer,
        log_memory=around.log_memory or LogMemory(around.redactor),
        webhooks=webhooks,
        marks=set(),
        stop=around.stop,
    )
    front = fronting.build(base, workings)
    return Service(
        **{**vars(base), **vars(workings), **vars(front)},
        audit=audit,
        enqueuer=Enqueuer(db, clock=clock, terms=terms, wake=worker.wake),
        following=follow,
        started_at=clock.now(),
        obtain_token=_bootstrap(settings, tokens, lookup.lanes),
    )


def _tokens(
    loaded: Loaded,
    secrets: SecretStore,
    db: Database,
    clock: Clock,
    on_token: list[Callable[[], None]],
) -> Tokens:
    """Give the default provider's token; where nobody needs one, none is looked for."""
    settings, source = loaded.settings, loaded.source("api.token")
    chosen = settings.providers
    if DefaultProv.name not in runtime.lane_names(settings):
        return runtime.operator_token(settings, source)
    identity = identity_of(chosen.defaultprov.base_url, chosen.defaultprov.app_id)

    def tell() -> None:
        for listener in on_token:
            listener()

    tokens = ProviderToken(
        secrets,
        TokenPace(db, identity=identity, clock=clock, chance=SystemRandom().random),
        given=given_by(settings.api.token, source),
        identity=identity,
        on_token=tell,
    )
    greet(db, DefaultProv.name, tokens, now=clock.now())
    return tokens


def _bootstrap(settings: Settings, tokens: Tokens, lanes: tuple[Lane, ...]) -> Callable[[], None]:
    lane = next((lane for lane in lanes if lane.name == DefaultProv.name), None)
    if lane is None or not isinstance(tokens, ProviderToken):
        return partial(_warn_unless_active, lanes)
    pair = settings.providers.defaultprov
    return partial(tokens.obtain, partial(mint_token, lane.http, pair.base_url, pair.app_id))


def _warn_unless_active(lanes: tuple[Lane, ...]) -> None:
    """Say what would help where no lane can be asked and nobody will get it a credential."""
    try:
        runtime.require_active(lanes)
    except Refused as error:
        _LOG.warning("%s", error)


def _worker(  # noqa: PLR0913 - one keyword for each part it is made of
    base: Runtime,
    lookup: Lookup,
    desk: TargetDesk,
    *,
    slots: Slots,
    steady: Steady,
    terms: Callable[[datetime], Terms],
    on_settled: Callable[[Settled], None],
) -> Worker:
    settings, db, clock, chance = base.settings, base.db, base.clock, SystemRandom()
    owner = slots.owner
    policy = _wait_policy(settings)
    output = settings.output
    keeper = LeaseKeeper(db, owner=owner, clock=clock, chance=chance, steady=steady, policy=policy)
    items = ItemWorker(
        db,
        lookup,
        desk,
        words=StoredWords(db, lookup, embedded=output.embedded_lyrics),
        listening=runtime.build_listening(
            settings,
            clock=clock,
            waiting=lambda seconds, _lane: clock.wait(seconds),
            memory=SteadyMemory(StoredLaneMemory(db, DETECTOR, clock=clock, owner=owner), steady),
        ),
        keeper=keeper,
        steady=steady,
        clock=clock,
        chance=chance,
        policy=policy,
        terms=terms,
        on_settled=on_settled,
    )
    return Worker(
        db,
        items,
        gate=Gate(lookup.lanes, steady=steady, is_stopping=lambda: clock.wait(0.0)),
        keeper=keeper,
        steady=steady,
        clock=clock,
        chance=chance,
        slots=slots,
    )


def _desk(settings: Settings, db: Database, clock: Clock, *, announce: Announce) -> TargetDesk:
    """Wire what writes sidecars; the watcher hears of each write first."""
    return TargetDesk(
        SidecarWriter(clock=clock, ownership=stored_ownership(db), announce=announce),
        style=OutputStyle(
            translation_language=runtime.translation_language(settings),
            word_timing=WordTiming(settings.output.word_timing),
        ),
        away=AwayRoots(clock=clock),
        refusals=WriteRefusals(in_container=settings.environment.docker),
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
