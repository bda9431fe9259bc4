#!/usr/bin/env python3
"""The one door to this project: ``python3 dev.py`` lists what it can do.

Needs nothing but Python; ``.venv`` is made at first use. This file must still parse on old
versions, so that they can say what they lack; the rooms behind it are in ``devtools/``.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the whole point is to answer an older Python
    sys.exit(f"dev.py needs Python 3.11 or newer; this is {sys.version.split()[0]}.")

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from devtools import Refusal, children  # noqa: E402 - found through the line above
from devtools.environment import Environment, ensure  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HOME = Environment(ROOT)


def serve(words: "Sequence[str]") -> int:
    """Start the real service on the state in .state/."""
    from devtools import state

    ensure(HOME, dev=False)
    setup = state.prepare(HOME, words, os.environ, Path.cwd())
    print(state.welcome(setup), flush=True)
    return children.hand_over([HOME.command("lyrsvc"), "serve", *words], setup.environ)


def run(words: "Sequence[str]") -> int:
    """Run any lyrsvc command on the same state as serve."""
    from devtools import state

    ensure(HOME, dev=False)
    setup = state.prepare(HOME, words, os.environ, Path.cwd())
    return children.hand_over([HOME.command("lyrsvc"), *words], setup.environ)


def demo(words: "Sequence[str]") -> int:
    """Run the demonstration."""
    return run(["demo", *words])


def test(words: "Sequence[str]") -> int:
    """Prove that everything is green, or run only the tests the words select."""
    from devtools import checks, system_tools

    ensure(HOME, dev=True)
    missing = system_tools.provide()
    failed = [] if words else checks.run_all(HOME)
    environ = dict(os.environ, **{system_tools.MISSING_VARIABLE: " ".join(missing)})
    every = ("-n", "auto", "--dist", "loadgroup", "--durations", "20")
    command = [str(HOME.python), "-m", "pytest", *(words or every)]
    tests = children.run(command, environ, cwd=ROOT)
    if failed:
        print(f"check failed: {', '.join(failed)}")
    if missing:
        print(system_tools.closing_line(missing))
    return tests or int(bool(failed) or (bool(missing) and system_tools.is_required(os.environ)))


def check(words: "Sequence[str]") -> int:
    """Check format, lint, types, layers, generated docs and lock files."""
    from devtools import checks

    refuse_words("check", words)
    ensure(HOME, dev=True)
    return 1 if checks.run_all(HOME) else 0


def docs(words: "Sequence[str]") -> int:
    """Write the generated reference pages, or with --check only compare them."""
    from devtools import reference_pages

    if list(words) not in ([], ["--check"]):
        raise Refusal("docs knows one word: --check", usage=True)
    ensure(HOME, dev=False)
    if not words:
        for name in reference_pages.write(HOME):
            print(f"wrote {name}")
        return 0
    complaint = reference_pages.compare(HOME)
    if complaint:
        print(complaint)
    return 1 if complaint else 0


def lock(words: "Sequence[str]") -> int:
    """Pin every dependency with its hashes; --upgrade takes the newest versions."""
    from devtools import locking, package_lock

    if set(words) - {"--upgrade"}:
        raise Refusal("lock knows one word: --upgrade", usage=True)
    for line in locking.write_locks(HOME, upgrade=bool(words)):
        print(line)
    print(package_lock.write(HOME, upgrade=bool(words)))
    return 0


def bench(words: "Sequence[str]") -> int:
    """Run the measurements in bench/: all of them in one table, or the named one with its words."""
    ensure(HOME, dev=True)
    folder = ROOT / "bench"
    if not words or words[0].startswith("-"):
        return children.run([HOME.python, folder / "_run.py", *words])
    scripts = {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    script = scripts.get(words[0])
    if script is None:
        raise Refusal(f"there is no such measurement in bench/; there are {', '.join(scripts)}")
    return children.run([HOME.python, script, *words[1:]])


def package(words: "Sequence[str]") -> int:
    """Make wheel, source archive and native packages; --release TAG checks the version first."""
    from devtools import packages, staging

    if words[:1] == ["--release"] and len(words) > 1:
        packages.check_release(ROOT, words[1])
        words = words[2:]
    if set(words) - set(staging.KINDS):
        raise Refusal(f"package knows: --release TAG, {', '.join(staging.KINDS)}", usage=True)
    for name in packages.make(ROOT, words or staging.KINDS):
        print(f"dist/{name}", flush=True)
    return 0


class Verb(NamedTuple):
    """What one word of the command line does."""

    act: "Callable[[Sequence[str]], int]"
    words: str
    help: str


VERBS = {
    "serve": Verb(serve, "[ARGS...]", "start the service with the UI on; words go to lyrsvc serve"),
    "run": Verb(run, "ARGS...", "run any lyrsvc command on the same state"),
    "demo": Verb(demo, "[ARGS...]", "show the service with made-up music and lyrics, offline"),
    "test": Verb(test, "[ARGS...]", "everything that must be green; words go to pytest alone"),
    "check": Verb(check, "", "format, lint, types, layers, docs fresh, locks fresh"),
    "docs": Verb(docs, "[--check]", "write the generated reference pages"),
    "lock": Verb(lock, "[--upgrade]", "pin the dependencies with their hashes"),
    "bench": Verb(
        bench, "[NAME [ARGS...]]", "measure everything, or one thing; --full, --json FILE"
    ),
    "package": Verb(package, "[deb|rpm|apk...]", "make wheel and packages in dist/"),
}


def usage() -> str:
    """Give the help text, one line per verb."""
    rows = [f"  {name + ' ' + verb.words:24} {verb.help}" for name, verb in VERBS.items()]
    return "\n".join(["usage: python3 dev.py VERB [WORDS...]", "", *rows])


def refuse_words(verb: str, words: "Sequence[str]") -> None:
    """Refuse words after a verb that takes none."""
    if words:
        raise Refusal(f"{verb} takes no further words", usage=True)


def main(argv: "Sequence[str]") -> int:
    """Open the door for one verb."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if argv[0] not in VERBS:
        print(f"dev.py: unknown verb {argv[0]!r}\n\n{usage()}", file=sys.stderr)
        return 2
    try:
        return VERBS[argv[0]].act(argv[1:])
    except Refusal as refusal:
        print(f"dev.py: {refusal}", file=sys.stderr)
        return 2 if refusal.usage else 1
    except OSError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
