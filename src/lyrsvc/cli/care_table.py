"""The commands that look after an installation and show one off, declared once."""

from lyrsvc.cli.command import HEADER, Argument, Command

_BACKUP = (
    Argument(
        ("--output", "-o"),
        "File to make, or a directory for it; backups beside the database by default.",
        offers="path",
        value_name="PATH",
    ),
    Argument(
        ("--keep",),
        "Afterwards remove older backups there, all but the newest N.",
        "number",
        value_name="N",
    ),
    Argument(
        ("--include-key",),
        "Put the key of the stored secrets in, too; whoever has the file can then read them.",
        "switch",
    ),
    HEADER,
)

CARE_COMMANDS: tuple[Command, ...] = (
    Command(
        "doctor",
        "Look at everything the service needs and say what is wrong and what helps.",
        "doctor_commands:doctor",
        (
            Argument(("--online",), "Also ask each lane for one song.", "switch"),
            Argument(("--fix",), "Make missing directories and put file modes right.", "switch"),
        ),
        listing=True,
        tolerant=True,
        epilog="Ends with 1 when a check fails; a warning alone does not count.",
    ),
    Command(
        "backup",
        "Save database, settings and TLS files in one archive, while the service runs.",
        "backup_commands:create",
        _BACKUP,
        structured=True,
        keeps_identity=True,
        epilog="The same as backup create.",
    ),
    Command(
        "backup create",
        "Save database, settings and TLS files in one archive, while the service runs.",
        "backup_commands:create",
        _BACKUP,
        structured=True,
        keeps_identity=True,
    ),
    Command(
        "backup restore",
        "Put back what a backup holds; the service must be stopped.",
        "restore_commands:restore",
        (
            Argument(("file",), "The archive.", offers="path", value_name="FILE"),
            Argument(("--yes",), "Really do it; without, only say what would happen.", "switch"),
        ),
        listing=True,
        keeps_identity=True,
        tolerant=True,
        epilog="What is replaced stays beside it, named *.before-restore.",
    ),
    Command(
        "healthcheck",
        "Ask the running service whether it is ready.",
        "health_commands:check",
        (
            Argument(
                ("--url",),
                "Where to ask; our own service by default, also while saved settings wait.",
                value_name="URL",
            ),
        ),
        structured=True,
        tolerant=True,
    ),
    Command(
        "demo",
        "Try everything out: a small library, a stand-in for the lyrics servers, the service.",
        "demo_commands:demo",
        (
            Argument(
                ("--dir",),
                "Where to put it, and keep it; a directory that is empty or an earlier demo's.",
                offers="path",
                value_name="DIR",
            ),
            Argument(
                ("--listen",),
                "Address of the pages; 127.0.0.1:3876 or the next free port by default.",
                value_name="ADDR",
            ),
            Argument(("--tracks",), "Size of the library.", "number", default=12, value_name="N"),
            Argument(
                ("--once",),
                "No pages: work until everything is done, print what became of each track, end.",
                "switch",
                excludes="--provider-only",
            ),
            Argument(
                ("--provider-only",),
                "Only the stand-in for the lyrics servers; prints the variables to set.",
                "switch",
            ),
            Argument(("--keep",), "Do not remove the directory at the end.", "switch"),
        ),
        listing=True,
        tolerant=True,
        keeps_identity=True,
        secluded=True,
        epilog="Nothing leaves this machine, and no setting of yours is used or changed.",
    ),
)
