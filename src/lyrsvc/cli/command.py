"""How a command is declared.

Parser, dispatch, help, completion and the reference page are loops over the
declarations of :mod:`lyrsvc.cli.commands`. A declaration names its function by
text, so that asking for one command imports only that one. Nothing is imported
here: a shell at its prompt waits for what this module holds.
"""


class Argument:
    """A flag (its first name begins with a dash) or a positional word of a command.

    kind      ``text``, ``number``, ``switch`` (no value) or ``toggle`` (value may be left out)
    repeats   for positional words ``?``, ``*`` or ``+``; for flags ``*`` = may be repeated
    offers    what completion offers: ``library``, ``setting``, ``lane`` or ``path``
    excludes  flag that may not stand beside this one
    """

    def __init__(  # noqa: PLR0913 - one parameter for each thing a declaration may say
        self,
        names: tuple[str, ...],
        help_text: str,
        kind: str = "text",
        *,
        choices: tuple[str, ...] = (),
        default: object = None,
        repeats: str = "",
        required: bool = False,
        offers: str = "",
        excludes: str = "",
        value_name: str = "",
    ) -> None:
        self.names = names
        self.help = help_text
        self.kind = kind
        self.choices = choices
        self.default = default
        self.repeats = repeats
        self.required = required
        self.offers = offers
        self.excludes = excludes
        self._value_name = value_name

    @property
    def is_flag(self) -> bool:
        """Tell a flag from a positional word."""
        return self.names[0].startswith("-")

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names that help and documentation list."""
        return self.names

    @property
    def takes_value(self) -> bool:
        """Tell whether the next word belongs to the flag."""
        return self.kind not in ("switch", "toggle")

    @property
    def field(self) -> str:
        """The attribute that holds the value after parsing."""
        name = self.names[0].lstrip("-").replace("-", "_")
        return f"{name}_" if name == "from" else name

    @property
    def value_name(self) -> str:
        """What help and error texts call the value."""
        if self.choices:
            return "{" + ",".join(self.choices) + "}"
        return self._value_name or self.names[0].lstrip("-").upper()

    def opposite(self) -> "Argument":
        """Give the ``--no-`` form of a switch."""
        name = "--no-" + self.names[0].removeprefix("--")
        return Argument((name,), f"The opposite of {self.names[0]}.", "switch")


class Command:
    """One command: its words, what it does, where its function is, what it takes.

    handler         ``module:function`` below ``lyrsvc.cli``
    carries         key in the ``on`` list of the setting flags that this command carries
    listing         prints rows: takes ``--json`` and ``--header``
    structured      prints a result: takes ``--json``
    keeps_identity  stays root when root started it, although the database is another user's
    tolerant        runs although settings are wrong: it mends or explains them, or can do without
    discreet        what to say of a wrong line whose words may be secrets and are not repeated
    stateless       uses no database, wherever one may be
    secluded        knows neither the user's variables nor the user's settings file
    """

    def __init__(  # noqa: PLR0913 - one parameter for each thing a declaration may say
        self,
        name: str,
        help_text: str,
        handler: str,
        arguments: tuple[Argument, ...] = (),
        *,
        carries: str = "",
        listing: bool = False,
        structured: bool = False,
        keeps_identity: bool = False,
        tolerant: bool = False,
        discreet: str = "",
        stateless: bool = False,
        secluded: bool = False,
        epilog: str = "",
    ) -> None:
        self.name = name
        self.words = tuple(name.split())
        self.help = help_text
        self.handler = handler
        self.carries = carries
        self.listing = listing
        self.keeps_identity = keeps_identity
        self.tolerant = tolerant
        self.discreet = discreet
        self.stateless = stateless
        self.secluded = secluded
        self.epilog = epilog
        extra = (JSON, HEADER) if listing else (JSON,) if structured else ()
        self.arguments = (*arguments, *extra)


JSON = Argument(("--json",), "Print one JSON document.", "switch")
HEADER = Argument(("--header",), "Print the column names first when piped.", "switch")

GLOBAL_ARGUMENTS = (
    Argument(("--config",), "Settings file.", offers="path", value_name="PATH"),
    Argument(
        ("--env-file",), 'File with variables, or "none".', offers="path", value_name="PATH|none"
    ),
    Argument(("--quiet", "-q"), "No progress; only warnings and errors on stderr.", "switch"),
    Argument(("--no-color",), "No colour on the terminal.", "switch"),
    Argument(("--help", "-h"), "Show this help and exit.", "switch"),
)


def limit(default: int) -> Argument:
    """Declare ``--limit``."""
    return Argument(
        ("--limit",), "At most this many rows; 0 = all.", "number", default=default, value_name="N"
    )
