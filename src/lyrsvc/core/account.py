"""Admin accounts: what names and passwords must be, who is signed in."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lyrsvc.core.display import escape_controls
from lyrsvc.core.library import name_key
from lyrsvc.core.normal_forms import normal_form
from lyrsvc.core.ptext import clean_text

LONGEST_NAME: Final = 64
SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD_BYTES: Final = 1024
LONGEST_AGENT: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Admin:
    """Somebody who may sign in."""

    id: str
    username: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One browser that is signed in; ``token_hash`` names it and opens nothing."""

    token_hash: str
    admin: Admin
    created_at: datetime
    expires_at: datetime
    last_address: str
    user_agent: str

    @property
    def username(self) -> str:
        """Whose session it is."""
        return self.admin.username


def trimmed_name(text: str) -> str:
    """Give a user name as it is stored and shown."""
    return clean_text(text).strip()


def username_key(name: str) -> str:
    """Give the form in which user names are compared: case and Unicode form do not count."""
    return name_key(trimmed_name(name))


def name_fault(text: str) -> str:
    """Say what is wrong with a user name; nothing when it is fine."""
    name = trimmed_name(text)
    if not name:
        return "the user name must not be empty"
    if len(normal_form("NFC", name)) > LONGEST_NAME:
        return f"the user name must have at most {LONGEST_NAME} characters"
    if escape_controls(name) != name:
        return "the user name must not hold control characters"
    return ""


def password_fault(password: str) -> str:
    """Say what is wrong with a new password; nothing when it is fine. Never repeats it."""
    raw = password_bytes(password)
    if raw is None:
        return "the password must be valid text"
    if "\n" in password or "\r" in password:
        return "the password must be one line"
    if len(normal_form("NFC", password)) < SHORTEST_PASSWORD:
        return f"the password must have at least {SHORTEST_PASSWORD} characters"
    if len(raw) > LONGEST_PASSWORD_BYTES:
        return f"the password must have at most {LONGEST_PASSWORD_BYTES} bytes"
    return ""


def password_bytes(password: str) -> bytes | None:
    """Give what is hashed, the same however a keyboard composes letters; None for no text."""
    try:
        return normal_form("NFC", password).encode("utf-8")
    except UnicodeEncodeError:
        return None


def short_agent(text: str) -> str:
    """Give the name a browser calls itself by, fit to be stored and shown."""
    return escape_controls(clean_text(text))[:LONGEST_AGENT]
