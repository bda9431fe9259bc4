"""Documentation is run, not believed: its commands, settings, names, messages and links."""

import fnmatch
import re

import pytest

import dev
from document_checks import (
    explained_messages,
    first_missing,
    is_broken,
    needs_another_machine,
    tools_of,
)
from document_names import (
    is_missing_file,
    is_unknown_address,
    is_unknown_flag,
    is_unknown_setting,
    is_wrong_command_span,
    is_wrong_mention,
    string_constants,
    unknown_metrics,
    unknown_variables,
    wrong_line,
)
from documented_home import RUNS_ON, DocumentedHome
from documents import COMMANDS, OTHER, read_document, written_documents
from lyrsvc.demo.stand_in import StandIn
from lyrsvc.logs.audit import LEVELS
from lyrsvc.services.health_checks import CODES
from lyrsvc.store.measuring import FAILURE_REASONS
from lyrsvc.web.metrics import FAMILIES
from lyrsvc.web.navigation import MENU
from lyrsvc.web.report_views import REPORTS
from pems import make_pair
from served import wait_until
from source_tree import PACKAGE, ROOT, modules
from terminals import Shell

DOCUMENTS = written_documents()
EVERY = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
STORIES = [
    document
    for document in DOCUMENTS
    if any(block.language in COMMANDS and not block.not_run for block in document.blocks)
]
TOML = [
    block
    for document in DOCUMENTS
    for block in document.blocks
    if block.language == "toml" and not block.text.startswith("[project")
]
LEAVES = {
    "README.md": ["Nina Simone - Feeling Good.lrc", "Music/Nina Simone/*/01 - Feeling Good.lrc"],
    "docs/install.md": ["Music/Odetta/*/01 - Water Boy.lrc"],
    "docs/user-guide.md": ["lyrics/Odetta - Water Boy.lrc", "Music/Odetta/*/Water Boy.lrc"],
    "docs/lidarr.md": [".local/share/lyrsvcgo-svc/lyrics/Nina Simone - Feeling Good.lrc"],
    "docs/operations.md": ["lyrsvc-backup.tar.gz"],
    "docs/writing-a-provider.md": ["from-shelf/Nina Simone - Feeling Good.lrc"],
}
"""What is there once a document was followed, whatever it showed on the way."""
FOREIGN_FLAGS = frozenset(
    ["--model", "--labels", "--allow-test-model", "--user", "--read-only", "--cap-drop", "--check"]
)


@pytest.mark.parametrize(
    "document",
    [pytest.param(each, marks=pytest.mark.needs_tool("bash", *tools_of(each))) for each in STORIES],
    ids=lambda document: document.name,
)
def test_the_commands_of_a_document_do_what_it_says(document, tmp_path):
    with StandIn() as upstream, DocumentedHome(tmp_path, upstream) as home:
        for block in document.blocks:
            if block.language not in COMMANDS or block.not_run:
                continue
            if block.stops:
                assert set(home.stop()) == {0}
            for command in block.commands:
                printed = home.run(command)
                missing = first_missing(command.shows, printed)
                where = f"{document.name}:{command.line}"
                assert missing is None, f"{where} never printed {missing!r}:\n{printed}"
        for left in LEAVES.get(document.name, ()):
            wait_until(lambda left=left: list(home.home.glob(left)), f"there is {left}")
        assert set(home.stop()) <= {0}


@EVERY
def test_what_is_not_published_is_installed_from_the_checkout(document):
    """A name that nobody has registered yet could become a stranger's."""
    text = "\n".join(block.text for block in document.blocks if block.language in COMMANDS)
    named = re.findall(r"\bpipx? install\s+(?:-\S+\s+)*['\"]?([^\s'\"]+)", text)
    assert [name for name in named if not name.startswith(".")] == []
    for command in re.findall(r"^docker run (?:.*\\\n)*.*$", text, re.MULTILINE):
        image = re.search(r"(?<!--name) (lyrsvc[\w-]*)(:latest)?(?=\s|$)", command)
        assert image, command
        assert re.search(rf"docker build .*-t {image[1]}\b", text), f"nobody has built {image[1]}"


@EVERY
def test_every_fence_says_what_it_holds(document):
    languages = {block.language for block in document.blocks}

    assert languages <= COMMANDS | OTHER


@EVERY
def test_what_runs_on_stands_alone_so_that_a_block_can_be_copied(document):
    for block in document.blocks:
        if block.language in COMMANDS:
            before_the_last = [command.text for command in block.commands[:-1]]
            assert not any(map(RUNS_ON.match, before_the_last)), block.where


@EVERY
def test_only_what_needs_another_machine_is_not_run(document):
    for block in document.blocks:
        if block.not_run:
            assert block.language in COMMANDS, f"{block.where} holds no commands"
            for command in block.commands:
                assert needs_another_machine(command.text), f"{block.where}: {command.text}"


@EVERY
def test_commands_that_are_not_run_are_at_least_spelled_right(document):
    for block in document.blocks:
        if block.language in COMMANDS:
            for command in block.commands:
                assert not wrong_line(command.text), f"{block.where}: {wrong_line(command.text)}"
                named = [word for word in command.text.split() if is_missing_file(word)]
                assert named == [], block.where


@EVERY
def test_links_lead_somewhere(document):
    broken = [f"{line}: {target}" for line, target in document.links if is_broken(document, target)]

    assert broken == []


@EVERY
def test_every_name_in_a_document_exists(document):
    unknown = unknown_variables(document.text) + unknown_metrics(document.text)
    for number, span in document.spans:
        plain = span.replace("\\|", "|")
        if (
            is_unknown_setting(plain)
            or is_unknown_address(plain)
            or is_wrong_command_span(plain)
            or (is_unknown_flag(plain) and plain.split()[0] not in FOREIGN_FLAGS)
            or is_wrong_mention(plain)
            or is_missing_file(plain, document.path.parent)
        ):
            unknown.append(f"{number}: {span}")

    assert unknown == []


@pytest.mark.parametrize("block", TOML, ids=lambda block: block.where)
def test_settings_that_are_shown_can_be_used(block, tmp_path):
    shell = Shell(tmp_path)
    config = shell.write_config(block.text)
    config.chmod(0o600)
    make_pair(config.parent / "tls")
    (config.parent / "lrclib.sqlite3").write_bytes(b"")

    done = shell.run("config", "check", "--strict")

    assert (done.code, done.err) == (0, ""), f"{block.where}\n{done.out}{done.err}"


def test_what_is_shown_of_the_example_is_in_it():
    page = read_document(ROOT / "docs" / "writing-a-provider.md")
    example = ROOT / "examples" / "lyrsvc-provider-example"
    files = [path for path in example.rglob("*") if path.suffix in (".py", ".toml")]
    told = " ".join("\n".join(path.read_text("utf-8") for path in files).split())
    shown = [block for block in page.blocks if block.language in ("python", "toml")]

    assert len(shown) > 3
    for block in shown:
        if block.language == "python":
            compile(block.text, block.where, "exec")
        names = re.findall(r"^(?:class|def|@|\[|    def) ?[\w.\[\"-]+", block.text, re.MULTILINE)
        assert names, block.where
        assert [name.strip() for name in names if name.strip() not in told] == []


def test_the_rooms_that_the_architecture_names_exist():
    page = read_document(ROOT / "docs" / "architecture.md")
    sources = [*modules(), *(ROOT / "classifier").rglob("*.py")]
    words = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in sources)))
    stems = {path.stem for path in sources} | {path.parent.name for path in sources}
    unknown = []
    for number, span in page.spans:
        if re.fullmatch(r"[a-z_]+/[a-z_]+(\.py)?", span):
            inside = PACKAGE.glob(f"{span.removesuffix('.py')}*")
            known = list(inside) or (ROOT / span).exists()
        elif re.fullmatch(r"[a-z_]+\.[A-Za-z_]+", span):
            known = (ROOT / span).exists() or set(span.split(".")) <= words | stems | {"py"}
        elif re.fullmatch(r"\*?[a-z_]+", span):
            known = fnmatch.filter(stems, span) or span in words
        else:
            continue
        unknown += [] if known else [f"{number}: {span}"]

    assert unknown == []


def test_the_tables_of_the_architecture_name_every_module_and_no_other():
    page = read_document(ROOT / "docs" / "architecture.md")
    tables = {number for number, line in page.prose if line.startswith("|")}
    begin = next(number for number, line in page.prose if line.startswith("## Rooms of"))
    end = next(number for number, line in page.prose if line.startswith("## Journeys"))
    spans = [(number, span) for number, span in page.spans if number in tables and number < end]
    stems = {path.stem for path in modules() if not path.stem.startswith("__")}
    patterns = {span.removesuffix(".py") for _, span in spans}
    names = [
        (number, span)
        for number, span in spans
        if number > begin and re.fullmatch(r"[a-z0-9_*]+", span) and span != "doctor"
    ]

    assert [
        stem for stem in sorted(stems) if not any(fnmatch.filter([stem], p) for p in patterns)
    ] == []
    assert [place for place in names if not fnmatch.filter(stems, place[1])] == []


def test_every_document_is_in_the_index():
    index = read_document(ROOT / "docs" / "README.md")
    linked = {(index.path.parent / target.partition("#")[0]).resolve() for _, target in index.links}
    pages = {path for path in (ROOT / "docs").glob("*.md") if path != index.path}

    assert pages - linked == set()


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("operations.md", [f"lyrsvcgo_{family.name}" for family in FAMILIES]),
        ("operations.md", CODES),
        ("operations.md", sorted(FAILURE_REASONS)),
        ("security.md", LEVELS),
        ("development.md", [f"| `{verb}` |" for verb in dev.VERBS]),
        ("user-guide.md", [report.title for report in REPORTS]),
        (
            "user-guide.md",
            [
                f"| {entry.title} |"
                for group in MENU
                for entry in group.entries
                if group.title != "Reports"
            ],
        ),
    ],
    ids=["metrics", "health codes", "failure reasons", "audit events", "verbs", "reports", "pages"],
)
def test_what_the_program_can_say_is_explained(page, names):
    text = (ROOT / "docs" / page).read_text("utf-8")

    assert [name for name in names if name not in text] == []


def test_the_alerts_that_are_explained_are_those_of_the_rules():
    rules = (ROOT / "packaging" / "prometheus" / "lyrsvc.rules.yml").read_text("utf-8")
    explained = re.findall(
        r"^\| `(Lyrsvc\w+)`", (ROOT / "docs" / "operations.md").read_text("utf-8"), re.M
    )

    assert explained == re.findall(r"- alert: (\w+)", rules)


def test_messages_that_are_explained_are_really_said():
    said = "\0".join(string_constants())
    invented = [
        message
        for message in explained_messages()
        for part in message.replace("\\|", "|").split("…")
        if part.strip() and part.strip() not in said
    ]

    assert len(list(explained_messages())) > 25
    assert invented == []
