"""Every command, declared once."""

from lyrsvc.cli.command import Argument, Command, limit

QUEUE_STATUSES = ("pending", "processing", "done", "failed", "deferred")
SCAN_STATUSES = (*QUEUE_STATUSES, "unreadable")
SHELLS = ("bash", "zsh", "fish")

_STATUS = "Only rows with this status."
_LIBRARY = Argument(
    ("--library",), "Only this library, by name or id.", offers="library", value_name="NAME-OR-ID"
)
_KEY = Argument(("key",), "Dotted name of the setting.", offers="setting", value_name="KEY")
_STRICT = Argument(("--strict",), "Count warnings as faults.", "switch")

COMMANDS: tuple[Command, ...] = (
    Command(
        "fetch",
        "Fetch lyrics for songs (artist,title), audio files or whole directories.",
        "fetch_commands:fetch",
        (
            Argument(
                ("words",),
                "A song as artist,title, an audio file, or a directory.",
                repeats="*",
                offers="path",
                value_name="QUERY",
            ),
            Argument(
                ("--outdir", "-o"),
                "Where lyrics of songs go; the current directory by default.",
                offers="path",
                value_name="DIR",
            ),
            Argument(
                ("--upgrade",),
                "Also look again for tracks that have only unsynced words.",
                "switch",
                excludes="--update",
            ),
            Argument(
                ("--update", "-u"),
                "Look again for everything that lyrsvc wrote, instrumental markers included.",
                "switch",
            ),
            Argument(("--force",), "With --update: also replace files of others.", "switch"),
            Argument(("--artist",), "Artist of one song, with --title."),
            Argument(("--title",), "Title of one song, with --artist."),
            Argument(("--album",), "Album of that song, a hint for the matcher."),
            Argument(("--isrc",), "ISRC of that song, a hint for the matcher."),
            Argument(
                ("--duration",),
                "Length of that song in seconds, a hint for the matcher.",
                value_name="SECONDS",
            ),
            Argument(
                ("--from",),
                "Read songs from a file, one each line; - = stdin.",
                offers="path",
                value_name="FILE",
            ),
            Argument(
                ("--failed-list",), "Where to list what failed.", offers="path", value_name="FILE"
            ),
            Argument(("--dry-run",), "Explain what would be written; write nothing.", "switch"),
        ),
        carries="fetch",
        structured=True,
        keeps_identity=True,
        epilog="Without a command word the line means fetch: lyrsvc artist,title.",
    ),
    Command(
        "serve",
        "Run the service: webhooks, scans, queue, pages.",
        "serve_commands:serve",
        carries="serve",
        keeps_identity=True,
    ),
    Command(
        "library list",
        "List the registered libraries.",
        "library_commands:list_libraries",
        listing=True,
    ),
    Command(
        "scan results",
        "List what scans have found.",
        "scan_commands:list_results",
        (
            _LIBRARY,
            Argument(("--status",), _STATUS, choices=SCAN_STATUSES),
            limit(0),
        ),
        listing=True,
    ),
    Command(
        "queue list",
        "List work items.",
        "queue_commands:list_items",
        (Argument(("--status",), _STATUS, choices=QUEUE_STATUSES), limit(50)),
        listing=True,
    ),
    Command(
        "queue failed",
        "List the items that failed.",
        "queue_commands:list_failed",
        (limit(50),),
        listing=True,
    ),
    Command(
        "queue deferred",
        "List the items without lyrics that wait for another look.",
        "queue_commands:list_deferred",
        (limit(50),),
        listing=True,
    ),
    Command(
        "config get",
        "Print one setting.",
        "config_commands:get",
        (_KEY, Argument(("--reveal",), "Print a secret in clear.", "switch")),
        structured=True,
    ),
    Command(
        "config set",
        "Save settings to the file; several KEY=VALUE words are saved together.",
        "config_commands:set_values",
        (
            Argument(
                ("words",),
                "KEY VALUE..., or KEY=VALUE words.",
                repeats="+",
                offers="setting",
                value_name="KEY VALUE",
            ),
        ),
        structured=True,
        keeps_identity=True,
        tolerant=True,
    ),
    Command(
        "config unset",
        "Remove a setting from the file.",
        "config_commands:unset",
        (_KEY,),
        structured=True,
        keeps_identity=True,
        tolerant=True,
    ),
    Command(
        "config list",
        "List every setting, its value and its source.",
        "config_commands:list_settings",
        (Argument(("--changed",), "Only settings that are not at their default.", "switch"),),
        listing=True,
    ),
    Command(
        "config check",
        "Name everything that is wrong with the settings.",
        "config_commands:check",
        (_STRICT,),
        structured=True,
        tolerant=True,
    ),
    Command(
        "config docs",
        "Print the settings reference or the example file.",
        "config_commands:docs",
        (
            Argument(
                ("--format",), "What to print.", choices=("markdown", "toml"), default="markdown"
            ),
        ),
        tolerant=True,
    ),
    Command(
        "completion",
        "Print a completion script for a shell.",
        "completion_commands:print_script",
        (Argument(("shell",), "The shell.", choices=SHELLS),),
        tolerant=True,
        keeps_identity=True,
        epilog="bash: source <(lyrsvc completion bash). zsh: save it as _lyrsvc on your fpath. "
        "fish: lyrsvc completion fish | source.",
    ),
)

BY_NAME = {command.name: command for command in COMMANDS}
GROUPS = {command.words[0]: "" for command in COMMANDS if len(command.words) > 1} | {
    "config": "Look at and change settings.",
    "library": "Look after the libraries.",
    "queue": "Look into the work queue.",
    "scan": "Look through libraries.",
}
TOP_LEVEL = {command.words[0] for command in COMMANDS}


def inside(group: str) -> tuple[Command, ...]:
    """List the commands of a group."""
    return tuple(c for c in COMMANDS if len(c.words) > 1 and c.words[0] == group)
