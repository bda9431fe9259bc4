"""The one door: its words, its environment, its locks and its state."""

import ast
import hashlib
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import dev
from devtools import Refusal, checks, environment, locking, state, system_tools
from devtools.environment import Environment, Stamp, Work, plan
from devtools.lockfiles import LOCKS, complaint, declared_digest, disagreements, read_pins
from lyrsvc import brand
from source_tree import ROOT

MADE = Stamp(python="3.11.7", place="/p/.venv", runtime="r", build="b", dev="d", project="p")
LIGHT = replace(MADE, dev="")


# The words


def test_the_door_still_parses_on_python_3_6() -> None:
    tree = ast.parse((ROOT / "dev.py").read_text("utf-8"), feature_version=(3, 6))
    guard = tree.body[2]
    assert isinstance(guard, ast.If)
    assert "version_info" in ast.unparse(guard.test)
    assert [ast.unparse(node) for node in tree.body[1:2]] == ["import sys"]
    assert not any(
        isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in ast.walk(tree)
    )


def test_the_door_needs_only_the_standard_library() -> None:
    rooms = [ROOT / "dev.py", *(ROOT / "devtools").glob("*.py")]
    trees = [ast.parse(path.read_text("utf-8")) for path in rooms]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in imported}
    assert tops - sys.stdlib_module_names == {"devtools"}


@pytest.mark.parametrize("words", [[], ["--help"], ["help"]])
def test_without_a_verb_it_prints_help(words, capsys) -> None:
    assert dev.main(words) == 0
    printed = capsys.readouterr().out
    assert all(f"  {verb} " in printed for verb in dev.VERBS)


def test_an_unknown_verb_is_a_usage_error(capsys) -> None:
    assert dev.main(["deploy"]) == 2
    assert "unknown verb 'deploy'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["check", "x"], ["docs", "--chek"], ["lock", "--upgrad"]])
def test_unknown_words_are_refused_before_anything_is_done(words, capsys) -> None:
    assert dev.main(words) == 2
    assert capsys.readouterr().err.startswith("dev.py: ")


# The environment


def test_a_fitting_environment_needs_no_work() -> None:
    assert plan(MADE, MADE, dev=True) == ()
    assert plan(MADE, MADE, dev=False) == ()
    assert plan(LIGHT, MADE, dev=False) == ()


def test_serve_does_not_wait_for_the_test_tools() -> None:
    assert plan(None, MADE, dev=False) == (Work.CLEAR, Work.RUNTIME, Work.PROJECT)
    assert plan(None, MADE, dev=True) == (Work.CLEAR, Work.DEV, Work.PROJECT)


def test_the_development_packages_are_added_to_a_light_environment() -> None:
    assert plan(LIGHT, MADE, dev=True) == (Work.DEV,)


@pytest.mark.parametrize("field", ["python", "place", "runtime", "build", "dev"])
def test_another_python_place_or_lock_makes_it_anew(field: str) -> None:
    assert plan(replace(MADE, **{field: "other"}), MADE, dev=False)[0] is Work.CLEAR


def test_a_changed_pyproject_only_installs_the_project_again() -> None:
    assert plan(replace(LIGHT, project="old"), MADE, dev=False) == (Work.PROJECT,)
    assert plan(replace(LIGHT, project="old"), MADE, dev=True) == (Work.DEV, Work.PROJECT)


def a_checkout(root: Path) -> Environment:
    for name in (*LOCKS, "pyproject.toml"):
        (root / name).write_text(name)
    return Environment(root)


def a_made_environment(root: Path) -> Environment:
    env = a_checkout(root)
    env.python.parent.mkdir(parents=True)
    env.python.touch()
    env.command("lyrsvc").touch()
    environment._write_stamp(env, environment.present(env))
    return env


def test_the_stamp_follows_each_lock_file(tmp_path) -> None:
    env = a_checkout(tmp_path)
    before = environment.present(env)
    assert before.runtime == hashlib.sha256(b"requirements.lock").hexdigest()
    (tmp_path / "requirements-dev.lock").write_text("changed")
    assert environment.present(env) == replace(before, dev=hashlib.sha256(b"changed").hexdigest())


def test_a_checkout_without_a_lock_file_says_so(tmp_path) -> None:
    with pytest.raises(Refusal, match=r"requirements\.lock is missing"):
        environment.ensure(Environment(tmp_path), dev=False)


def test_a_made_environment_is_used_as_it_is(tmp_path) -> None:
    env = a_made_environment(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    environment.ensure(env, dev=True)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("damage", ["stamp", "python", "script", "text"])
def test_a_half_made_environment_is_noticed(tmp_path, damage: str) -> None:
    env = a_made_environment(tmp_path)
    assert environment.read_stamp(env) is not None
    if damage == "text":
        env.stamp.write_text('{"python": "3.11"')
    else:
        {"stamp": env.stamp, "python": env.python, "script": env.command("lyrsvc")}[damage].unlink()
    assert environment.read_stamp(env) is None


def test_two_doors_build_one_after_the_other(tmp_path) -> None:
    env = a_checkout(tmp_path)
    order = []
    inside, done = threading.Event(), threading.Event()

    def second() -> None:
        with environment._turn_to_build(env):
            order.append("second")
        done.set()

    with environment._turn_to_build(env):
        threading.Thread(target=second, daemon=True).start()
        inside.wait(0.1)
        order.append("first")
    assert done.wait(10)
    assert order == ["first", "second"]


# The locks


LOCK_TEXT = """\
# Made by `python3 dev.py lock`; do not edit.
Jinja2==3.1.6 ; sys_platform == 'linux' \\
    --hash=sha256:{0} \\
    --hash=sha256:{1}
    # via lyrsvc
typing_extensions==4.16.0 \\
    --hash=sha256:{0}
loose>=1
""".format("a" * 64, "b" * 64)


def test_pins_are_read_with_version_and_hashes() -> None:
    pins = read_pins(LOCK_TEXT)
    assert list(pins) == ["jinja2", "typing-extensions", "loose"]
    assert (pins["jinja2"].version, pins["jinja2"].hashes) == ("3.1.6", {"a" * 64, "b" * 64})
    assert (pins["loose"].version, pins["loose"].hashes) == ("", set())


def test_packages_pinned_otherwise_are_named() -> None:
    pins = read_pins(LOCK_TEXT)
    other = {**pins, "jinja2": replace(pins["jinja2"], version="3.1.5")}
    assert disagreements({"requirements-dev.lock": pins, "requirements.lock": pins}) == []
    assert disagreements({"requirements-dev.lock": pins, "requirements.lock": other}) == [
        "requirements-dev.lock and requirements.lock disagree about jinja2"
    ]


def test_the_lock_files_of_this_repository_are_fresh_exact_and_hashed() -> None:
    assert complaint(ROOT) is None


def test_a_declared_dependency_that_is_not_locked_is_noticed(tmp_path) -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (tmp_path / "pyproject.toml").write_text(text.replace('"jinja2>=3.1"', '"jinja2>=3.2"'))
    for name in LOCKS[:2]:
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    found = complaint(tmp_path)
    assert "requirements.lock was made from other dependencies" in found
    assert "requirements-dev.lock is missing" in found


def test_settings_of_tools_do_not_make_a_lock_stale() -> None:
    project = {"project": {"dependencies": ["a"]}, "dependency-groups": {"dev": ["b"]}}
    assert declared_digest(project) == declared_digest({**project, "tool": {"ruff": {}}})
    assert declared_digest(project) != declared_digest({**project, "dependency-groups": {}})


def test_wheels_are_demanded_for_both_machines_and_both_c_libraries() -> None:
    told = {(p.partition("-")[0], "musl" in p) for p in locking.PLATFORMS}
    assert told == {("x86_64", False), ("x86_64", True), ("aarch64", False), ("aarch64", True)}


# The tools


def test_the_tools_of_the_specification_are_in_the_table() -> None:
    assert {"bash", "zsh", "fish", "ffmpeg", "chromium", "busybox"} <= system_tools.TOOLS.keys()


def test_a_missing_tool_is_named_with_what_to_install(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert system_tools.missing_tools() == list(system_tools.TOOLS)
    line = system_tools.closing_line(["zsh", "chromium"])
    assert line.endswith("zsh, chromium; install: zsh chromium")


@pytest.mark.parametrize(("value", "is_required"), [("true", True), ("1", True), ("", False)])
def test_on_a_build_server_a_missing_tool_is_a_failure(value: str, is_required: bool) -> None:
    assert system_tools.is_required({"CI": value}) is is_required


# The state of serve and run


def prepared(tmp_path: Path, words=(), environ=None) -> state.Setup:
    return state.prepare(Environment(tmp_path), words, environ or {}, tmp_path)


def test_the_first_start_writes_settings_that_are_the_operators_to_edit(tmp_path) -> None:
    setup = prepared(tmp_path)
    own = tmp_path / ".state" / "config.toml"
    assert setup.environ == {"LYRSVC_CONFIG": str(own)}  # nothing else is locked by a variable
    assert own.read_text() == state.SETTINGS_TEXT
    assert brand.DATABASE_NAME in state.SETTINGS_TEXT
    own.write_text(state.SETTINGS_TEXT.replace("lrclib", "defaultprov"))
    assert prepared(tmp_path).environ == {"LYRSVC_CONFIG": str(own)}
    assert "defaultprov" in own.read_text()


def test_what_an_own_settings_file_leaves_open_is_filled_in(tmp_path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("[server]\nweb_ui_enabled = false\n")
    expected = {
        "LYRSVC_DB_PATH": str(tmp_path / ".state" / brand.DATABASE_NAME),
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
    }
    assert prepared(tmp_path, ["--config", "mine.toml"]).environ == expected
    assert prepared(tmp_path, ["--config=mine.toml"]).environ == expected
    by_variable = prepared(tmp_path, environ={"LYRSVC_CONFIG": str(mine)}).environ
    assert by_variable == expected | {"LYRSVC_CONFIG": str(mine)}


def test_variables_and_the_env_file_of_the_operator_win(tmp_path) -> None:
    (tmp_path / "mine.toml").touch()
    (tmp_path / ".env").write_text(
        "export LYRSVC_CONFIG='mine.toml'\n#LYRSVC_DB_PATH=no\nbad line\n"
    )
    environ = {"LYRSVC_DB_PATH": "/srv/x.db", "LYRSVC_WEB_UI_ENABLED": "false"}
    filled = prepared(tmp_path, environ=environ).environ
    assert filled == environ | {"LYRSVC_PROVIDER_PRIMARY": "lrclib"}
    assert "LYRSVC_CONFIG" in prepared(tmp_path, ["--env-file", "none"], environ).environ


@pytest.mark.parametrize(
    ("words", "environ", "url"),
    [
        ([], {}, "http://127.0.0.1:3876"),
        (["--listen", ":8080"], {}, "http://127.0.0.1:8080"),
        (["--listen=[::]:8080"], {"LYRSVC_BASE_PATH": "/lyrics"}, "http://[::1]:8080/lyrics"),
        ([], {"LYRSVC_SERVER_ADDR": "0.0.0.0:1"}, "http://127.0.0.1:1"),
        (["--listen", "127.0.0.1:0"], {}, "http://127.0.0.1:PORT"),
        ([], {"LYRSVC_TLS_SELF_SIGNED": "true"}, "https://127.0.0.1:3876"),
    ],
)
def test_the_welcome_names_the_address_and_the_first_steps(tmp_path, words, environ, url) -> None:
    setup = prepared(tmp_path, words, environ)
    assert setup.url == url.replace("PORT", "0")
    text = state.welcome(setup)
    assert f"{url}/setup" in text
    assert f"{url}/healthz" in text
    assert "dev.py run library add" in text


# The checks


def test_a_failing_check_is_named_and_shown_and_does_not_hide_the_others(
    monkeypatch, capsys, tmp_path
) -> None:
    def broken(_env: Environment) -> str:
        raise OSError("no such program")

    steps = {"good": lambda _env: None, "bad": lambda _env: "line 3 is wrong", "broken": broken}
    monkeypatch.setattr(checks, "STEPS", steps)
    assert checks.run_all(Environment(tmp_path)) == ["bad", "broken"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines if line.endswith(" s")] == [
        ["good", "ok"],
        ["bad", "FAILED"],
        ["broken", "FAILED"],
    ]
    assert {"line 3 is wrong", "no such program"} <= set(lines)


@pytest.mark.parametrize(("code", "is_right"), [("pass", True), ("print('why'); exit(3)", False)])
def test_a_tool_is_judged_by_its_exit_code(
    monkeypatch, tmp_path, code: str, is_right: bool
) -> None:
    env = Environment(tmp_path)
    monkeypatch.setattr(Environment, "command", lambda _env, _name: Path(sys.executable))
    said = checks.tool("python", "-c", code)(env)
    assert said is None if is_right else said == "why\n"


def test_every_check_of_the_house_is_in_the_list() -> None:
    assert list(checks.STEPS) == [
        "ruff format",
        "ruff check",
        "mypy",
        "lint-imports",
        "docs fresh",
        "locks fresh",
    ]


@pytest.fixture
def set_up(request):
    """The house's own set-up of a test that needs a tool nobody has."""
    house = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    item = SimpleNamespace(iter_markers=lambda _name: [pytest.mark.needs_tool("fish").mark])
    return lambda: house.pytest_runtest_setup(item)


def test_a_test_without_its_tool_is_skipped_with_a_reason(set_up, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="not installed: fish"):
        set_up()


def test_on_a_build_server_a_test_without_its_tool_fails(set_up, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="not installed: fish"):
        set_up()


# The children


@pytest.mark.skipif(os.name == "nt", reason="signals are a matter of POSIX")
def test_the_exit_code_of_a_child_is_honest() -> None:
    code = (
        "from devtools.children import run; import sys; sys.exit(run([sys.executable, '-c', {!r}]))"
    )
    for inner, expected in {"exit(7)": 7, "import os; os.kill(os.getpid(), 9)": 137}.items():
        done = subprocess.run([sys.executable, "-c", code.format(inner)], cwd=ROOT, check=False)
        assert done.returncode == expected
