"""The composition root of access: keys, accounts, sessions and what guards them."""

import secrets as chance

from lyrsvc.core.ports import Clock
from lyrsvc.logs.audit import Audit
from lyrsvc.security.csrf import Csrf
from lyrsvc.security.vault import Vault
from lyrsvc.services import access
from lyrsvc.services.access import Access
from lyrsvc.services.keyring import Keyring, choose_static
from lyrsvc.services.secret_store import WEBHOOK_API_KEY, SecretStore
from lyrsvc.settings.loading import Loaded
from lyrsvc.store.database import Database

_FORMS = "csrf"


def build(
    loaded: Loaded,
    *,
    db: Database,
    vault: Vault,
    secrets: SecretStore,
    clock: Clock,
    audit: Audit,
) -> Access:
    """Wire who may do what; forms stay good across restarts as long as the master key is there."""
    keys, source = choose_static(
        loaded.settings.server.webhook_api_keys,
        loaded.source("server.webhook_api_keys"),
        lambda: secrets.get(WEBHOOK_API_KEY),
    )
    if loaded.settings.server.web_ui_enabled and not secrets.listing():
        vault.ensure_key()
    return access.build(
        db,
        Keyring(db, clock=clock, static_keys=keys, static_source=source),
        Csrf(vault.derive(_FORMS) or chance.token_bytes(32)),
        clock=clock,
        audit=audit,
    )
