"""The doors of the browser UI: sign in, set up, sign out, and the choice of a theme."""

import logging
from dataclasses import replace
from typing import Final

from lyrsvc import brand
from lyrsvc.core.account import Session
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.security.csrf import ANONYMOUS
from lyrsvc.services.first_admin import Created, Invalid, SetupForm, TooLate
from lyrsvc.services.sign_in import Busy, Denied, Locked, SignedIn, Visitor
from lyrsvc.settings.secret_values import SECRET_SETTINGS, checked_secret
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import ANYONE, DOOR, PAGE
from lyrsvc.web.origins import csrf_cookie
from lyrsvc.web.page_actions import sentence
from lyrsvc.web.problems import Problem
from lyrsvc.web.rendering import THEMES, show_door
from lyrsvc.web.replies import Reply, see_other
from lyrsvc.web.return_paths import safe_next
from lyrsvc.web.route import form, page

SESSION_LIFE_S: Final = 604800
_YEAR_S: Final = 31536000
_WRONG: Final = "The user name or the password is wrong."
_BUSY: Final = "Too many sign-ins at once; try again in a moment."
_LOG = logging.getLogger("lyrsvc.sign_in")


def show_sign_in(exchange: Exchange) -> Reply:
    """Show the form, or go on when somebody is signed in already."""
    wanted = safe_next(_asked_next(exchange))
    if exchange.service.access.session_of(exchange.session_token) is not None:
        return see_other(exchange.url(wanted))
    if not exchange.service.access.has_admin():
        return see_other(exchange.url("/setup"))
    return _sign_in_form(exchange, wanted=wanted)


def sign_in(exchange: Exchange, form: Form) -> Reply:
    """Check name and password; a right pair opens a session."""
    wanted, username = safe_next(form.get("next")), form.get("username")
    visitor = Visitor(
        client=exchange.standing.client,
        user_agent=exchange.header("user-agent"),
        old_token=exchange.session_token,
    )
    outcome = exchange.service.access.sign_in.sign_in(username, form.get("password"), visitor)
    match outcome:
        case SignedIn():
            cookies = session_cookies(exchange, outcome.token, outcome.session)
            return see_other(exchange.url(wanted), cookies=cookies)
        case Denied():
            return _sign_in_form(
                exchange,
                wanted=wanted,
                username=username,
                status=401,
                error=_WRONG,
                delay_s=outcome.delay_s,
            )
        case Locked():
            return _refused(exchange, wanted, "too_many_attempts", outcome, locked_text(outcome))
        case Busy():
            return _refused(exchange, wanted, "busy", outcome, _BUSY)


def sign_out(exchange: Exchange) -> Reply:
    """End the session and forget its cookie."""
    if exchange.service.access.sessions.close(exchange.session_token):
        exchange.service.audit.event(
            "auth.logout",
            actor=exchange.identity.actor,
            client=exchange.standing.client,
            user=exchange.identity.name,
        )
    gone = exchange.cookie(brand.SESSION_COOKIE, "", max_age_s=0)
    fresh = exchange.service.access.csrf.mint(ANONYMOUS)
    return see_other(exchange.url("/login"), cookies=(gone, csrf_cookie(exchange, fresh)))


def show_setup(exchange: Exchange) -> Reply:
    """Show the form that makes the first admin, while there is none."""
    if exchange.service.access.has_admin():
        return see_other(exchange.url("/login"))
    if not exchange.standing.trusted:
        exchange.service.access.first_admin.note_stranger(client=exchange.standing.client)
    return _setup_form(exchange)


def set_up(exchange: Exchange, form: Form) -> Reply:
    """Make the first admin and store the secrets given with it."""
    access = exchange.service.access
    if access.has_admin():
        raise Problem("not_found", "there is nothing at this address")
    secrets, faults = _given_secrets(exchange, form)
    asked = SetupForm(
        username=form.get("username"), password=form.get("password"), confirm=form.get("confirm")
    )
    faults = asked.faults() | faults
    if faults:
        return _setup_form(exchange, form, status=400, faults=faults)
    made = access.first_admin.set_up(asked, client=exchange.standing.client)
    match made:
        case Created():
            _store_secrets(exchange, secrets, made.admin.username)
            token, session = access.sessions.open(
                made.admin,
                client=exchange.standing.client,
                user_agent=exchange.header("user-agent"),
            )
            cookies = session_cookies(exchange, token, session)
            return see_other(exchange.url("/dashboard"), cookies=cookies)
        case Invalid():
            return _setup_form(exchange, form, status=400, faults=made.faults)
        case TooLate():
            return see_other(exchange.url("/login"))
        case Busy():
            return _setup_form(
                exchange,
                form,
                status=503,
                faults={"": _BUSY},
                headers={"Retry-After": str(made.retry_after_s)},
            )


def choose_theme(exchange: Exchange, form: Form) -> Reply:
    """Remember light, dark or the system's theme in a cookie."""
    theme = form.get("theme")
    if theme not in THEMES:
        raise Problem("invalid_request", "theme: must be auto, light or dark")
    cookie = exchange.cookie(brand.THEME_COOKIE, theme, max_age_s=_YEAR_S)
    return see_other(exchange.url(safe_next(form.get("next"))), cookies=(cookie,))


def go_home(exchange: Exchange) -> Reply:
    """Send whoever asks for the root to the dashboard."""
    return Reply(status=302, text=b"", headers={"Location": exchange.url("/dashboard")})


def session_cookies(exchange: Exchange, token: str, session: Session) -> tuple[str, str]:
    """Give the cookies of a browser that is signed in from now on; forms get a new value."""
    value = exchange.service.access.csrf.mint(session.token_hash)
    return (
        exchange.cookie(brand.SESSION_COOKIE, token, max_age_s=SESSION_LIFE_S),
        csrf_cookie(exchange, value),
    )


def locked_text(locked: Locked) -> str:
    """Say for how long nobody of this network is let in."""
    minutes = -(-locked.retry_after_s // 60)
    return f"Too many failed attempts from your network; try again in {minutes} min."


def _asked_next(exchange: Exchange) -> str:
    return next((value for name, value in exchange.query_pairs if name == "next"), "")


def _sign_in_form(
    exchange: Exchange,
    *,
    wanted: str,
    username: str = "",
    status: int = 200,
    error: str = "",
    delay_s: float = 0.0,
) -> Reply:
    return show_door(
        exchange,
        "login.html",
        title="Sign in",
        status=status,
        delay_s=delay_s,
        wanted=wanted,
        username=username,
        error=error,
    )


def _refused(
    exchange: Exchange, wanted: str, code: str, outcome: Locked | Busy, words: str
) -> Reply:
    problem = Problem(code, words, headers={"Retry-After": str(outcome.retry_after_s)})
    if exchange.wants_json:
        raise problem
    reply = _sign_in_form(exchange, wanted=wanted, status=problem.status, error=words)
    return replace(reply, headers=problem.headers)


def _setup_form(
    exchange: Exchange,
    form: Form | None = None,
    *,
    status: int = 200,
    faults: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    return show_door(
        exchange,
        "setup.html",
        title="Set up",
        status=status,
        headers=headers,
        username=form.get("username") if form else "",
        faults={name: sentence(text) for name, text in (faults or {}).items()},
    )


def _given_secrets(exchange: Exchange, form: Form) -> tuple[dict[str, str], dict[str, str]]:
    given, faults = {}, {}
    for name in SECRET_SETTINGS:
        if text := form.get(name).strip():
            try:
                given[name] = checked_secret(exchange.service.loaded.registry, name, text)
            except ValueError as error:
                faults[name] = str(error)
    return given, faults


def _store_secrets(exchange: Exchange, secrets: dict[str, str], username: str) -> None:
    """Store what was given; the admin is made already, so a failure is told in the log."""
    if not secrets:
        return
    try:
        exchange.service.secrets.set_all(secrets)
    except LyrsvcError:
        _LOG.exception("the secrets of the set-up page were not stored; use: lyrsvc secrets set")
        return
    for name in secrets:
        exchange.service.audit.event(
            "secret.stored",
            actor=f"user:{username}",
            client=exchange.standing.client,
            name=name,
        )


ROUTES: Final = (
    page("/", ANYONE, go_home),
    page("/login", DOOR, show_sign_in),
    form("/login", DOOR, sign_in),
    page("/setup", DOOR, show_setup),
    form("/setup", DOOR, set_up),
    form("/logout", PAGE, sign_out),
    form("/theme", DOOR, choose_theme),
)
