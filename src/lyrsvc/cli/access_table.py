"""The commands that look after keys, secrets and admins, declared once."""

from lyrsvc.cli.command import Argument, Command

SECRETS = ("provider_token", "webhook_api_key")
SCOPES = ("admin", "webhook")

ACCESS_COMMANDS: tuple[Command, ...] = (
    Command(
        "keys create",
        "Make an API key and print it; it is shown this once.",
        "key_commands:create",
        (
            Argument(("--name",), "What the key is for, up to 120 characters.", required=True),
            Argument(
                ("--scope",),
                "What it may do; repeat for several, webhook by default.",
                choices=SCOPES,
                repeats="*",
            ),
        ),
        structured=True,
    ),
    Command(
        "keys list",
        "List the API keys, active and revoked; tab-separated always.",
        "key_commands:list_keys",
        listing=True,
    ),
    Command(
        "keys revoke",
        "Make an API key useless, at once and in every process.",
        "key_commands:revoke",
        (
            Argument(
                ("key",),
                "The raw key, or - to read it from stdin.",
                repeats="?",
                value_name="RAW-KEY|-",
            ),
            Argument(
                ("--id",),
                "The public id, or 8 or more of its first characters.",
                value_name="PUBLIC-ID",
            ),
        ),
        structured=True,
        discreet="keys revoke takes the raw key, - to read it from stdin, or --id PUBLIC-ID",
    ),
    Command(
        "admin set-password",
        "Set an admin's password, typed unseen or read from stdin, and end all sessions.",
        "admin_commands:set_password",
        (
            Argument(
                ("--user",),
                "Whose password; may be left out when there is one admin.",
                value_name="NAME",
            ),
        ),
        structured=True,
        discreet="admin set-password takes --user NAME and never a password; "
        "type it when asked, or pipe it in",
    ),
    Command(
        "secrets set",
        "Store a secret encrypted; its value is typed unseen, or read from stdin.",
        "secret_commands:set_secret",
        (Argument(("name",), "Which secret.", choices=SECRETS),),
        structured=True,
        discreet=f"secrets set takes one name ({' or '.join(SECRETS)}) and never a value; "
        "type it when asked, or pipe it in",
    ),
    Command(
        "secrets import",
        "Store the secrets of environment and settings file encrypted; both, or those named.",
        "secret_commands:import_secrets",
        (
            Argument(("--token",), "Only the provider's token.", "switch"),
            Argument(("--webhook",), "Only the webhook key.", "switch"),
        ),
        structured=True,
        discreet="secrets import takes --token and --webhook, both without a value",
    ),
    Command(
        "secrets list",
        "List the stored secrets and when each was stored; never a value.",
        "secret_commands:list_secrets",
        listing=True,
    ),
)
