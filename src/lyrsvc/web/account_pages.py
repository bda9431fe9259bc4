"""The account page: another password, and the browsers that are signed in."""

from dataclasses import replace
from typing import Final

from lyrsvc.core.account import Session
from lyrsvc.services.account_changes import Changed, Invalid, PasswordForm
from lyrsvc.services.password_check import Busy, Denied, Locked
from lyrsvc.services.sign_in import Visitor
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import ACCOUNT
from lyrsvc.web.page_actions import sentence
from lyrsvc.web.page_messages import Message, go_back, write
from lyrsvc.web.problems import Problem, unauthorized
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply, see_other
from lyrsvc.web.route import form, page
from lyrsvc.web.sign_in_pages import locked_text, session_cookies

ACCOUNT_PAGE: Final = "/settings/account"


def show_account(exchange: Exchange) -> Reply:
    """Show who is signed in, and where else."""
    return _show(exchange)


def change_account(exchange: Exchange, form: Form) -> Reply:
    """Change the password or end sessions, as ``action`` says."""
    match form.get("action", "password"):
        case "password":
            return _change_password(exchange, form)
        case "revoke":
            return _end_session(exchange, form)
        case "revoke-others":
            return _end_others(exchange, form)
    raise Problem("invalid_request", "action: must be password, revoke or revoke-others")


def _change_password(exchange: Exchange, form: Form) -> Reply:
    asked = PasswordForm(
        current=form.get("current"), new=form.get("new"), confirm=form.get("confirm")
    )
    visitor = Visitor(client=exchange.standing.client, user_agent=exchange.header("user-agent"))
    account = exchange.service.access.account
    outcome = account.change_password(_own(exchange).admin, asked, visitor)
    match outcome:
        case Changed():
            return _signed_in_again(exchange, outcome)
        case Invalid():
            faults = {field: sentence(text) for field, text in outcome.faults.items()}
            return _show(exchange, status=400, faults=faults)
        case Denied():
            reply = _show(exchange, status=400, faults={"current": "This password is wrong."})
            return replace(reply, delay_s=outcome.delay_s)
        case Locked():
            return _later(exchange, 429, locked_text(outcome), outcome.retry_after_s)
        case Busy():
            text = "Too much to do at once; try again in a moment."
            return _later(exchange, 503, text, outcome.retry_after_s)


def _signed_in_again(exchange: Exchange, changed: Changed) -> Reply:
    others = changed.sessions_ended - 1
    ended = f" {_counted(others)} ended." if others > 0 else ""
    message = Message("ok", f"The password was changed.{ended}")
    cookies = session_cookies(exchange, changed.token, changed.session)
    return see_other(exchange.url(ACCOUNT_PAGE), cookies=(*cookies, write(exchange, message)))


def _end_session(exchange: Exchange, form: Form) -> Reply:
    own, wanted = _own(exchange), form.get("id")
    if wanted == own.token_hash:
        raise Problem("invalid_request", "this is the session of this browser; sign out instead")
    sessions = exchange.service.access.sessions
    session = next((one for one in sessions.listing(own.admin) if one.token_hash == wanted), None)
    if session is None:
        return go_back(exchange, ACCOUNT_PAGE, "This session had ended already.", level="info")
    if form.get("ask") and not form.get("confirm"):
        return _ask(
            exchange,
            f"The browser at {session.last_address or 'an unknown address'} is signed out at once.",
            {"action": "revoke", "id": wanted},
        )
    if sessions.revoke(wanted, admin=own.admin):
        audited(exchange, "session.revoked", sessions=1, address=session.last_address)
    return go_back(exchange, ACCOUNT_PAGE, "The session was ended.")


def _end_others(exchange: Exchange, form: Form) -> Reply:
    own = _own(exchange)
    if form.get("ask") and not form.get("confirm"):
        text = "Every other browser that is signed in is signed out at once; this one stays."
        return _ask(exchange, text, {"action": "revoke-others"})
    number = exchange.service.access.sessions.revoke_others(own)
    if not number:
        return go_back(exchange, ACCOUNT_PAGE, "There was no other session.", level="info")
    audited(exchange, "session.revoked", sessions=number)
    return go_back(exchange, ACCOUNT_PAGE, f"{_counted(number)} ended.")


def _show(exchange: Exchange, *, status: int = 200, faults: dict[str, str] | None = None) -> Reply:
    own = _own(exchange)
    sessions = exchange.service.access.sessions.listing(own.admin)
    return show(
        exchange,
        "account.html",
        title="Account",
        status=status,
        own=own,
        sessions=sorted(sessions, key=lambda one: one.token_hash != own.token_hash),
        faults=faults or {},
    )


def _later(exchange: Exchange, status: int, text: str, after_s: int) -> Reply:
    reply = _show(exchange, status=status, faults={"": text})
    return replace(reply, headers={"Retry-After": str(after_s)})


def _ask(exchange: Exchange, text: str, fields: dict[str, str]) -> Reply:
    return show(
        exchange,
        "end_confirm.html",
        title="End it?",
        text=text,
        action=ACCOUNT_PAGE,
        button="Sign out",
        back=ACCOUNT_PAGE,
        fields=[*fields.items(), ("confirm", "yes")],
    )


def _own(exchange: Exchange) -> Session:
    """Give the session of this browser; it may have ended since the gate."""
    session = exchange.service.access.session_of(exchange.session_token)
    if session is None:
        raise unauthorized("sign in first")
    return session


def _counted(number: int) -> str:
    return "1 other session was" if number == 1 else f"{number} other sessions were"


ROUTES: Final = (
    page(ACCOUNT_PAGE, ACCOUNT, show_account),
    form(ACCOUNT_PAGE, ACCOUNT, change_account),
)
