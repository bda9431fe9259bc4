"""The composition root of what the HTTP face looks at and operates."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lyrsvc.core.ports import Clock
from lyrsvc.core.schedule import plan_text
from lyrsvc.logs.log_memory import LogMemory
from lyrsvc.runtime import Runtime
from lyrsvc.security.certificates import Certificates
from lyrsvc.security.self_signed import Pair, SelfSigned
from lyrsvc.services import health_rules as rules
from lyrsvc.services.access import Access
from lyrsvc.services.announcing import Announcer
from lyrsvc.services.health_checks import Check, HealthChecks
from lyrsvc.services.housekeeping import Housekeeper
from lyrsvc.services.intake import Intake
from lyrsvc.services.keyring import Keyring
from lyrsvc.services.lane_desk import LaneDesk
from lyrsvc.services.library_board import LibraryBoard
from lyrsvc.services.lookup import Lookup
from lyrsvc.services.news_sources import news_sources
from lyrsvc.services.noticing import Noticer
from lyrsvc.services.root_probes import RootProbes
from lyrsvc.services.scan_desk import ScanDesk
from lyrsvc.services.secret_store import SecretStore
from lyrsvc.services.task_board import Task, TaskBoard, TaskRecord
from lyrsvc.services.upkeep import Upkeep
from lyrsvc.services.webhook_memory import WebhookMemory
from lyrsvc.services.worker import Worker
from lyrsvc.settings.loading import Loaded
from lyrsvc.settings.sections import Settings
from lyrsvc.settings.settings_desk import SecretKeeping, SettingsDesk
from lyrsvc.surveying import Survey, scan_plan


@dataclass(frozen=True, kw_only=True)
class Front:
    """What the face shows and operates."""

    announcer: Announcer
    noticer: Noticer
    library_board: LibraryBoard
    scan_desk: ScanDesk
    tasks: TaskBoard
    lane_desk: LaneDesk
    health: HealthChecks
    settings_desk: SettingsDesk
    log_memory: LogMemory
    webhooks: WebhookMemory
    certificates: Certificates | None


@dataclass(frozen=True, kw_only=True)
class Workings:
    """The parts of the service that the face is about."""

    loaded: Loaded
    secrets: SecretStore
    lookup: Lookup
    worker: Worker
    upkeep: Upkeep
    survey: Survey
    housekeeper: Housekeeper
    record: TaskRecord
    intake: Intake
    access: Access
    announcer: Announcer
    log_memory: LogMemory
    webhooks: WebhookMemory
    marks: set[str]
    stop: threading.Event


def build(base: Runtime, parts: Workings) -> Front:
    """Wire what is shown: boards and desks, health, tasks, and the news of all of it."""
    settings, db, clock = base.settings, base.db, base.clock
    secrets, survey, worker = parts.secrets, parts.survey, parts.worker
    probes = RootProbes()
    detects = settings.instrumental_detector
    lane_desk = LaneDesk(
        db,
        parts.lookup.lanes,
        clock=clock,
        wake=worker.wake,
        detector=(lambda: bool(detects.classifier_url)) if detects.enabled else None,
    )
    settings_desk = SettingsDesk(
        parts.loaded,
        clock=clock,
        secrets=SecretKeeping(
            put=secrets.set_all,
            forget=secrets.forget,
            names=lambda: [row["name"] for row in secrets.listing()],
        ),
    )
    tasks = TaskBoard(_tasks(settings, parts), parts.record)
    certificates = obtain_certificates(settings, clock)
    health = HealthChecks(
        (
            rules.check_lanes(lane_desk),
            rules.check_libraries(db, probes),
            rules.check_scans(db, probes),
            *_place_checks(settings, probes),
            rules.check_marks(parts.marks),
            rules.check_restart(settings_desk.pending, settings_desk.faults),
            rules.check_webhook(
                expected=lambda: _takes_webhooks(parts.access.keyring),
                last=lambda: last.at if (last := parts.webhooks.last) else None,
            ),
            rules.check_webhook_paths(lambda: parts.webhooks.missed),
            rules.check_certificate(_expiry_of(certificates), clock=clock),
            rules.check_clock(clock),
            rules.check_worker(lambda: worker.pause),
            rules.check_watcher((lambda: watcher.state) if (watcher := survey.watcher) else None),
        ),
        clock=clock,
    )
    scan_desk = ScanDesk(db, survey.scanner, clock=clock, record=parts.record.count)
    noticer = Noticer(
        parts.announcer,
        news_sources(
            db,
            lane_desk=lane_desk,
            tasks=tasks,
            health=health,
            pending=settings_desk.pending,
            saved=settings_desk.stamp,
            live=scan_desk.live,
        ),
        is_stopping=parts.stop.is_set,
    )
    return Front(
        announcer=parts.announcer,
        noticer=noticer,
        library_board=LibraryBoard(db, probes=probes, takes_paths=parts.intake.takes_paths_of),
        scan_desk=scan_desk,
        tasks=tasks,
        lane_desk=lane_desk,
        health=health,
        settings_desk=settings_desk,
        log_memory=parts.log_memory,
        webhooks=parts.webhooks,
        certificates=certificates,
    )


def obtain_certificates(settings: Settings, clock: Clock) -> Certificates | None:
    """Give what TLS is served with; None when it is off, ``ConfigError`` when it cannot be."""
    tls = settings.server.tls
    if tls.cert_file is not None and tls.key_file is not None:
        return Certificates.of_operator(Pair(tls.cert_file, tls.key_file), clock=clock)
    if tls.self_signed and settings.db.path is not None:
        place = settings.db.path.parent / "tls"
        return Certificates.self_signed(SelfSigned(place, tls.self_signed_hosts), clock=clock)
    return None


def _tasks(settings: Settings, parts: Workings) -> tuple[Task, ...]:
    """Name what is done by the clock or at the start; each can be run by hand too."""
    survey, keeper, upkeep = parts.survey, parts.housekeeper, parts.upkeep
    sweep_s = settings.server.sweep_interval_seconds
    return (
        Task(
            name="scan",
            schedule=plan_text(scan_plan(settings)),
            work=lambda: survey.scan_all("user"),
            next_at=lambda: survey.scheduler.next_at,
        ),
        Task(
            name="retention",
            schedule="every hour",
            work=keeper.forget,
            next_at=lambda: keeper.next_round_at,
        ),
        Task(
            name="sweep",
            schedule=f"every {sweep_s / 3600:g} h" if sweep_s else "off",
            work=keeper.sweep,
            next_at=lambda: keeper.next_sweep_at,
        ),
        Task(name="counts", schedule="at start", work=upkeep.check_counts),
        Task(
            name="lanes",
            schedule="at start and when a lane becomes active",
            work=upkeep.follow_lanes,
        ),
    )


def _place_checks(settings: Settings, probes: RootProbes) -> tuple[Check, ...]:
    key_file = None if settings.environment.master_key else settings.secrets.key_file
    checks = [rules.check_key_file(key_file)]
    if settings.db.path is not None:
        checks.append(rules.check_database_place(settings.db.path, probes))
    return tuple(checks)


def _takes_webhooks(keyring: Keyring) -> bool:
    return bool(keyring.static_sources) or any(key.revoked_at is None for key in keyring.listing())


def _expiry_of(certificates: Certificates | None) -> Callable[[], datetime | None]:
    return lambda: certificates.expires_at if certificates else None
