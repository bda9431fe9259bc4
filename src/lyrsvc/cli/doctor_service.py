"""``doctor`` looks at what the service talks to: lanes, classifier, its own listener."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lyrsvc.cli.call import Call
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.services.diagnosis import Finding, broken, odd, told, well
from lyrsvc.settings.sections import Db

if TYPE_CHECKING:
    from lyrsvc.services.secret_store import SecretStore


def examine_token(call: Call, secrets: "SecretStore | None") -> Iterator[Finding]:
    """Look whether any lane can be asked."""
    from lyrsvc.providers.lane_registry import find_lanes
    from lyrsvc.runtime import lane_names
    from lyrsvc.services.lookup import NOTHING_TO_ASK

    names = lane_names(call.settings)
    lanes = find_lanes(names)
    free = [lane.name for lane in lanes if not lane.needs_token]
    token, source = _token(call, secrets)
    if token:
        yield well("token", f"the token of the default provider comes from {source}")
    elif free:
        yield well("token", f"none, and none is needed: {', '.join(free)} can be asked")
    else:
        remedy = NOTHING_TO_ASK.partition("; ")[2]
        yield odd("token", "none yet; the service asks for one when it starts", remedy)


def examine_lanes(call: Call, secrets: "SecretStore | None") -> Iterator[Finding]:
    """Ask each lane for one song; nothing is counted and nothing written."""
    from lyrsvc import runtime
    from lyrsvc.providers.tokens import OperatorToken
    from lyrsvc.services.lane_desk import try_out

    token, source = _token(call, secrets)
    clock = call.world.clock
    lookup = runtime.build_lookup(
        call.settings,
        tokens=OperatorToken(token, source),
        clock=clock,
        waiting=lambda seconds, _lane: clock.wait(seconds),
    )
    try:
        for lane in lookup.lanes:
            trial = try_out(lane, clock=clock)
            check = f"lane {lane.name}"
            if trial.ok:
                yield well(check, f"{trial.detail} ({trial.ms} ms)")
            elif not lane.active:
                yield odd(check, "it has no token yet, so it was not asked", trial.detail)
            else:
                yield broken(check, trial.detail, "check the network, base_url and the token")
    finally:
        lookup.close()


def examine_detector(call: Call) -> Iterator[Finding]:
    """Look whether instrumentals can be detected, where that is wanted."""
    chosen = call.settings.instrumental_detector
    if not chosen.classifier_url:
        if chosen.enabled:
            remedy = "set instrumental_detector.classifier_url"
            yield odd("classifier", "detection is on, but there is no classifier", remedy)
        else:
            yield well("classifier", "instrumental detection is off")
        return
    tool = str(chosen.ffmpeg_path or "ffmpeg")
    if found := shutil.which(tool):
        yield well("ffmpeg", found)
    else:
        make = broken if chosen.enabled else odd
        remedy = "install ffmpeg, or set instrumental_detector.ffmpeg_path"
        yield make("ffmpeg", f"{tool} is not there; nothing can be detected", remedy)
    yield from _classifier(call)


def examine_listener(call: Call) -> Iterator[Finding]:
    """Ask the service itself, when one runs on this database."""
    from lyrsvc.cli.readiness import NotReady, ask_listener, ask_own
    from lyrsvc.store.serve_lock import is_served

    path = call.settings.db.path
    runs = path is not None and is_served(path)
    try:
        url = ask_own(call.settings) if runs else ask_listener(call.settings.server)
    except NotReady as error:
        if runs:
            yield told("listener", str(error))
        else:
            yield odd("listener", "the service is not running", "start it with: lyrsvc serve")
    except LyrsvcError as error:
        yield told("listener", str(error), state="warn")
    else:
        if runs:
            yield well("listener", f"{url} answers")
        else:
            remedy = f"check {Db.path.env[0]}, or choose another server.addr"
            yield odd("listener", f"a service on another database answers at {url}", remedy)


def _classifier(call: Call) -> Iterator[Finding]:
    from lyrsvc import __version__
    from lyrsvc.detector.classifier import Classifier
    from lyrsvc.providers.upstream import user_agent

    chosen = call.settings.instrumental_detector
    asked = Classifier(
        chosen.classifier_url, user_agent=user_agent(__version__), clock=call.world.clock
    )
    try:
        version = asked.model_version(fresh=True)
    except LyrsvcError as error:
        make = broken if chosen.enabled else odd
        remedy = "start it, or correct instrumental_detector.classifier_url"
        yield make("classifier", f"the classifier does not answer: {error}", remedy)
    else:
        model = f", model {version}" if version else ""
        asked_by = (
            "" if chosen.enabled else "; only libraries and scans that wish it are listened to"
        )
        yield well("classifier", f"it answers{model}{asked_by}")


def _token(call: Call, secrets: "SecretStore | None") -> tuple[str, str]:
    """Give the token in force and where it comes from; empty when there is none."""
    from lyrsvc.security.vault import SecretUnreadable
    from lyrsvc.services.secret_store import PROVIDER_TOKEN

    if call.settings.api.token:
        return call.settings.api.token, call.loaded.source("api.token").removeprefix("env:")
    try:
        stored = secrets.look(PROVIDER_TOKEN) if secrets is not None else None
    except SecretUnreadable:  # a finding of its own
        stored = None
    return (stored.value, "the secret store") if stored else ("", "")
