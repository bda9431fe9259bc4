"""Every command, declared once."""

from lyrsvc.cli.access_table import ACCESS_COMMANDS
from lyrsvc.cli.care_table import CARE_COMMANDS
from lyrsvc.cli.command import HEADER, Argument, Command, limit

QUEUE_STATUSES = ("pending", "processing", "done", "failed", "deferred")
SCAN_STATUSES = (*QUEUE_STATUSES, "unreadable")
SHELLS = ("bash", "zsh", "fish")

_STATUS = "Only rows with this status."
_LIBRARY = Argument(
    ("--library",), "Only this library, by name or id.", offers="library", value_name="NAME-OR-ID"
)
_KEY = Argument(("key",), "Dotted name of the setting.", offers="setting", value_name="KEY")
_YES = Argument(("--yes",), "Really do it; without, only say what would happen.", "switch")
_ITEM = "Id of a work item, as queue list shows it."
_STRICT = Argument(("--strict",), "Count warnings as faults.", "switch")

_NAMED_LIBRARY = Argument(
    ("library",), "The library, by name or id.", offers="library", value_name="NAME-OR-ID"
)
_ENRICH = Argument(
    ("--enrich",),
    "Read ISRC, MusicBrainz id and length here: true, false or inherit.",
    "toggle",
    value_name="true|false|inherit",
)
_DETECT = Argument(
    ("--detect-instrumental",),
    "Let the classifier listen here: true, false or inherit.",
    "toggle",
    value_name="true|false|inherit",
)


def _pair(name: str, help_text: str) -> tuple[Argument, Argument]:
    no = "--no-" + name.removeprefix("--")
    return (
        Argument((name,), help_text, "switch", excludes=no),
        Argument((no,), f"The opposite of {name}.", "switch"),
    )


_LOOK_AGAIN = (
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
)

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
            *_LOOK_AGAIN,
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
        stateless=True,
        epilog="Without a command word the line means fetch: lyrsvc artist,title.",
    ),
    Command(
        "serve",
        "Run the service: webhooks, scans, queue, pages.",
        "serve_commands:serve",
        _LOOK_AGAIN[:2],
        carries="serve",
        keeps_identity=True,
        epilog="--upgrade and --update count in the first scan of each library, then once in "
        "api.miss_backoff_base_hours, a week by default.",
    ),
    Command(
        "library add",
        "Register a directory of music as a library.",
        "library_commands:add",
        (
            Argument(("path",), "The directory.", offers="path", value_name="PATH"),
            Argument(("--name",), "Its name; the last part of the path by default."),
            _ENRICH,
            _DETECT,
            Argument(("--allow-missing",), "Take a directory that is not there yet.", "switch"),
            HEADER,
        ),
        structured=True,
    ),
    Command(
        "library update",
        "Change a library; what is not named stays as it is.",
        "library_commands:update",
        (
            _NAMED_LIBRARY,
            Argument(
                ("--path",),
                "Where the directory is now; what is known of its files stays known.",
                offers="path",
                value_name="PATH",
            ),
            Argument(("--name",), "Its new name."),
            _ENRICH,
            _DETECT,
            HEADER,
        ),
        structured=True,
    ),
    Command(
        "library remove",
        "Forget a library, what scans found in it and the work only it wanted; never a file.",
        "library_commands:remove",
        (_NAMED_LIBRARY, _YES, HEADER),
        structured=True,
        epilog="Without --yes only the numbers of what would go are printed.",
    ),
    Command(
        "library list",
        "List the registered libraries.",
        "library_commands:list_libraries",
        listing=True,
    ),
    Command(
        "scan",
        "Look through the libraries and put what lacks lyrics into the queue.",
        "scan_commands:scan",
        (
            Argument(
                ("--library",),
                "Only this library, by name or id; may be repeated.",
                repeats="*",
                offers="library",
                value_name="NAME-OR-ID",
            ),
            *_pair("--enrich", "Read ISRC, MusicBrainz id and length, whatever is set."),
            *_pair("--detect-instrumental", "Let the classifier listen, whatever is set."),
            *_LOOK_AGAIN,
            Argument(
                ("--accept-missing",), "Believe it when most files of a library are gone.", "switch"
            ),
        ),
        carries="scan",
        listing=True,
        epilog="Nothing is fetched here: the service works through the queue.",
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
        "scan clear",
        "Forget what scans found in a library, and the work only that wanted; never a file.",
        "scan_commands:clear",
        (
            Argument(
                ("--library",),
                "The library, by name or id.",
                required=True,
                offers="library",
                value_name="NAME-OR-ID",
            ),
            _YES,
            HEADER,
        ),
        structured=True,
        epilog="Without --yes only the numbers of what would go are printed.",
    ),
    Command(
        "realign",
        "Find sidecars whose audio file was renamed, and give them its new name.",
        "realign_commands:realign",
        (
            Argument(
                ("--library",),
                "Only this library, by name or id; may be repeated.",
                repeats="*",
                offers="library",
                value_name="NAME-OR-ID",
            ),
            _YES,
            Argument(
                ("--backup",),
                "Where moves are written down first; beside the database by default.",
                offers="path",
                value_name="PATH",
            ),
            Argument(
                ("--undo",),
                "Move back everything that a backup tells of.",
                offers="path",
                value_name="FILE",
            ),
            Argument(
                ("--min-confidence",),
                "Likeness of titles that counts, 0.01 to 1, whatever is set.",
                value_name="N",
            ),
            Argument(
                ("--min-margin",),
                "Lead over the next best title, 0 to 0.99, whatever is set.",
                value_name="N",
            ),
            *_pair("--name-match", "Match several orphans of a directory, whatever is set."),
            *_pair("--cross-directory", "Let ids match across directories, whatever is set."),
            *_pair("--require-provenance", "Apply only exact matches, whatever is set."),
        ),
        listing=True,
        keeps_identity=True,
        epilog="Without --yes nothing is moved. Only the stem changes, no file is ever replaced, "
        "and audio is never touched.",
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
        "queue retry",
        "Put failed items back in the queue.",
        "queue_commands:retry",
        (Argument(("ids",), _ITEM, "number", repeats="+", value_name="ID"), HEADER),
        structured=True,
        epilog="Only failed items: deferred ones come back by themselves, or by queue recheck.",
    ),
    Command(
        "queue recheck",
        "Look again, now, for items without lyrics.",
        "queue_commands:recheck",
        (
            Argument(("ids",), _ITEM, "number", repeats="*", value_name="ID"),
            Argument(("--deferred",), "All items that wait for another look.", "switch"),
            Argument(("--retired",), "All items given up after the last miss.", "switch"),
            _LIBRARY,
            _YES,
            HEADER,
        ),
        structured=True,
        epilog="Without --yes only the number of items is printed.",
    ),
    Command(
        "queue clear",
        "Delete finished items; files, cache, inventory and counters stay.",
        "queue_commands:clear",
        (
            Argument(("--done",), "The finished items.", "switch", required=True),
            _YES,
            HEADER,
        ),
        structured=True,
        epilog="Without --yes only the number of items is printed.",
    ),
    *ACCESS_COMMANDS,
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
        stateless=True,
    ),
    *CARE_COMMANDS,
    Command(
        "hook lidarr-rename",
        "Print the script that lets sidecars follow what Lidarr renames.",
        "hook_commands:lidarr_rename",
        tolerant=True,
        keeps_identity=True,
        stateless=True,
        epilog="Called by Lidarr itself, with its variables set, it does what the script does.",
    ),
    Command(
        "completion",
        "Print a completion script for a shell.",
        "completion_commands:print_script",
        (Argument(("shell",), "The shell.", choices=SHELLS),),
        tolerant=True,
        keeps_identity=True,
        stateless=True,
        epilog="bash: source <(lyrsvc completion bash). zsh: save it as _lyrsvc on your fpath. "
        "fish: lyrsvc completion fish | source.",
    ),
)

BY_NAME = {command.name: command for command in COMMANDS}
GROUPS = {command.words[0]: "" for command in COMMANDS if len(command.words) > 1} | {
    "admin": "Look after the admin accounts.",
    "backup": "Save and bring back what the service keeps.",
    "config": "Look at and change settings.",
    "keys": "Look after the API keys.",
    "hook": "Scripts for other programs.",
    "library": "Look after the libraries.",
    "queue": "Look into the work queue and bring items back.",
    "scan": "Look through libraries.",
    "secrets": "Look after the encrypted secrets.",
}
TOP_LEVEL = {command.words[0] for command in COMMANDS}


def inside(group: str) -> tuple[Command, ...]:
    """List the commands of a group."""
    return tuple(c for c in COMMANDS if len(c.words) > 1 and c.words[0] == group)
