"""The composition root: settings in, wired parts out; nothing below it reads settings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lyrsvc import __version__
from lyrsvc.core.errors import ConfigError, Refused
from lyrsvc.core.judging import GuardPolicy
from lyrsvc.core.pacing import RestPolicy
from lyrsvc.core.ports import Clock, Http, Tokens
from lyrsvc.providers import lane_registry
from lyrsvc.providers.tokens import OperatorToken
from lyrsvc.providers.upstream import Connections, Upstream, user_agent
from lyrsvc.services.lanes import Lane, LaneMemory, Manners, Memory, Waiting
from lyrsvc.services.lookup import NOTHING_TO_ASK, Lookup
from lyrsvc.settings.sections import Settings
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from datetime import datetime

    from lyrsvc.core.orphans import RealignPolicy
    from lyrsvc.files.atomic import Announce
    from lyrsvc.services.enqueueing import Terms
    from lyrsvc.services.listening import Listening
    from lyrsvc.services.scanning import OnRenamed, OnScanned, Scanner


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """The wired parts a face receives."""

    settings: Settings
    clock: Clock
    db: Database

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.db.close()


def build(settings: Settings, *, clock: Clock) -> Runtime:
    """Open the database, making it when it is missing, and wire the parts."""
    if settings.db.path is None:
        raise ConfigError(["there is no place for the database"])
    return Runtime(
        settings=settings,
        clock=clock,
        db=Database.open(settings.db.path, create=True, clock=clock),
    )


def build_scanner(  # noqa: PLR0913 - one keyword for each thing a caller may say
    settings: Settings,
    *,
    db: Database,
    clock: Clock,
    terms: "Callable[[datetime], Terms] | None" = None,
    wake: Callable[[], None] = lambda: None,
    on_scanned: "OnScanned" = lambda _library, _below: None,
    on_renamed: "OnRenamed" = lambda _library, _below, _directories, _lease: None,
    announce: "Announce | None" = None,
) -> "Scanner":
    """Wire what scans libraries; without ``terms`` those of the settings hold."""
    from random import SystemRandom

    from lyrsvc.services.renamed_sidecars import RenamedSidecars
    from lyrsvc.services.scanning import Scanner, ScanSetup
    from lyrsvc.services.serve_backup import NAME as BACKUP_NAME

    sidecars = None
    if settings.db.path is not None:
        sidecars = RenamedSidecars(
            db,
            clock=clock,
            chance=SystemRandom(),
            backup=settings.db.path.parent / BACKUP_NAME,
            announce=announce,
        )
    return Scanner(
        db,
        clock=clock,
        setup=ScanSetup(
            enrich=settings.enrichment.enabled,
            depth=settings.scan.depth,
            tag_workers=settings.scan.tag_workers,
            embedded_lyrics=settings.output.embedded_lyrics,
            retention=timedelta(days=settings.scan.missing_retention_days),
        ),
        terms=terms or enqueue_terms(settings, version=lambda: stored_set_version(settings, db=db)),
        wake=wake,
        on_scanned=on_scanned,
        on_renamed=on_renamed,
        sidecars=sidecars,
    )


def enqueue_terms(
    settings: Settings, *, version: Callable[[], int]
) -> "Callable[[datetime], Terms]":
    """Give what holds for every wish: the defaults, and the lanes the queue is in line with."""
    import os
    from random import SystemRandom

    from lyrsvc.services.enqueueing import Terms

    chance = SystemRandom()

    def terms(now: "datetime") -> Terms:
        return Terms(
            now=now,
            chance=chance,
            output_dir=os.fspath(settings.output.dir or "."),
            provider_set_version=version(),
            detect_default=settings.instrumental_detector.enabled,
        )

    return terms


def stored_set_version(settings: Settings, *, db: Database) -> int:
    """Give the provider set the queue is in line with; before the first, that of the settings."""
    from lyrsvc.core.provider_set import provider_set_version
    from lyrsvc.store import meta

    with db.read() as tx:
        stored = meta.provider_set_version(tx)
    return provider_set_version(lane_names(settings)) if stored is None else stored


def lane_names(settings: Settings) -> list[str]:
    """Name the lanes to ask in their order, each once."""
    chosen = settings.providers
    return list(dict.fromkeys((chosen.primary, *chosen.fallback_order)))


def operator_token(settings: Settings, source: str) -> Tokens:
    """Give the operator's token, with the name of the place it comes from."""
    named = {"flag": "--token", "file": "api.token in the settings file"}
    return OperatorToken(settings.api.token, named.get(source, source.removeprefix("env:")))


def build_lookup(
    settings: Settings,
    *,
    tokens: Tokens,
    clock: Clock,
    waiting: Waiting,
    remember: Callable[[str], Memory] = lambda _lane: LaneMemory(),
) -> Lookup:
    """Wire the lanes that the settings name, in their order; each remembers its state."""
    connections = Connections(version=__version__, now=clock.now)
    env = lane_registry.HouseEnv(
        version=__version__,
        user_agent=user_agent(__version__),
        tokens=tokens,
        word_timing=settings.output.word_timing != "off",
        translation_language=translation_language(settings),
    )

    def connect(pace: Callable[[], None], settled: Callable[[], None]) -> Http:
        return Upstream(connections, pace=pace, settled=settled)

    lanes = []
    for declared in lane_registry.find_lanes(lane_names(settings)):
        values = _section(settings, declared.name)
        active = _is_active(tokens) if declared.needs_token else _always
        lanes.append(
            Lane(
                declared.make(values, env),
                connect=connect,
                manners=_manners(settings, declared, values, tokens),
                clock=clock,
                waiting=waiting,
                is_active=active,
                memory=remember(declared.name),
            )
        )
    return Lookup(lanes, policy=guard_policy(settings), disconnect=connections.close)


def build_listening(
    settings: Settings, *, clock: Clock, waiting: Waiting, memory: Memory | None = None
) -> "Listening":
    """Wire what listens to tracks that no lane knows; without a classifier it only complains."""
    from lyrsvc.core.instrumental_gates import Gates
    from lyrsvc.detector.classifier import Classifier
    from lyrsvc.detector.ear import Ear
    from lyrsvc.detector.sampler import SamplePlan, Sampler
    from lyrsvc.services.detector_lane import DetectorLane
    from lyrsvc.services.listening import Listening

    chosen = settings.instrumental_detector
    if not chosen.classifier_url:
        return Listening(None, default=chosen.enabled, clock=clock)
    sampler = Sampler(
        ffmpeg=str(chosen.ffmpeg_path or ""),
        ffprobe=str(chosen.ffprobe_path or ""),
        plan=SamplePlan(seconds=chosen.sample_duration_seconds, parts=chosen.spread_samples),
        is_stopping=lambda: clock.wait(0.0),
    )
    if chosen.enabled:
        sampler.find_tool()  # so that its lack is told at the start
    lane = DetectorLane(
        Ear(
            sampler,
            Classifier(chosen.classifier_url, user_agent=user_agent(__version__), clock=clock),
        ),
        Gates(
            music_classes=chosen.instrumental_classes,
            vocal_classes=chosen.vocal_classes,
            speech_classes=chosen.speech_classes,
            min_music=chosen.min_confidence,
            vocal_below=chosen.vocal_max_confidence,
            speech_below=chosen.speech_max_confidence,
        ),
        manners=Manners(
            cooldown=timedelta(seconds=chosen.cooldown_seconds), rest=_rest_policy(settings)
        ),
        memory=memory or LaneMemory(),
        clock=clock,
        waiting=waiting,
    )
    return Listening(lane, default=chosen.enabled, clock=clock)


def require_active(lanes: Iterable[Lane]) -> None:
    """Refuse when nothing can be asked, and say what would help."""
    every = list(lanes)
    if any(lane.active for lane in every):
        return
    names = ", ".join(lane.name for lane in every)
    wants_token = any(lane.name == "defaultprov" for lane in every)
    raise Refused(
        NOTHING_TO_ASK if wants_token else f"no lane can be asked: {names} has no credential"
    )


def translation_language(settings: Settings) -> str | None:
    """Name the language that bilingual lyrics are asked for and written in; None without them."""
    output = settings.output
    return output.translation_language if output.bilingual_output else None


def guard_policy(settings: Settings) -> GuardPolicy:
    """Give what the operator wants of the guards."""
    return GuardPolicy(
        accepted_scripts=settings.guard.accepted_scripts,
        script_threshold=settings.guard.script_guard_threshold,
        word_output=settings.output.word_timing != "off",
    )


def realign_policy(settings: Settings) -> "RealignPolicy":
    """Give what the operator wants of realign."""
    from lyrsvc.core.orphans import RealignPolicy

    chosen = settings.realign
    return RealignPolicy(
        require_provenance=chosen.require_provenance,
        cross_directory=chosen.cross_directory,
        min_confidence=chosen.min_confidence,
        min_margin=chosen.min_margin,
        name_match=chosen.name_match,
        identity_keys=tuple(chosen.identity_keys),
    )


def _section(settings: Settings, lane: str) -> dict[str, Any]:
    section = vars(settings.providers).get(lane.replace("-", "_"))
    return dict(vars(section)) if section is not None else {}


def _manners(
    settings: Settings, lane: lane_registry.Lane, values: dict[str, Any], tokens: Tokens
) -> Manners:
    api = settings.api
    own = values.get("cooldown_seconds")
    return Manners(
        cooldown=timedelta(seconds=api.cooldown if own is None else own),
        from_end=lane.from_end,
        rest=_rest_policy(settings),
        token_source=getattr(tokens, "source", "") if lane.needs_token else "",
    )


def _rest_policy(settings: Settings) -> RestPolicy:
    api = settings.api
    return RestPolicy(
        base=timedelta(seconds=api.circuit_backoff_base_seconds),
        cap=timedelta(seconds=api.circuit_open_duration),
    )


def _is_active(tokens: Tokens) -> Callable[[], bool]:
    return lambda: bool(tokens.current())


def _always() -> bool:
    return True
