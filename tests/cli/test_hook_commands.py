"""The hook that Lidarr runs when it renames: under every shell it may meet."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lyrsvc.cli.hook_commands import SCRIPT
from source_tree import ROOT
from terminals import Shell

HOOK = ROOT / "packaging" / "lidarr-rename-hook.sh"
SHELLS = (["dash"], ["bash", "--posix"], ["busybox", "sh"])
NAMES = (
    "plain",
    "with blank",
    'it\'s "quoted"',
    "st*r?",
    "J\u00f3ga \u266a",
    "two\nlines",
    "-n",
    "a.b.c",
)
LOWER = ("lidarr_eventtype", "lidarr_trackfile_previouspaths", "lidarr_trackfile_paths")
MIXED = ("Lidarr_EventType", "Lidarr_TrackFile_PreviousPaths", "Lidarr_TrackFile_Paths")
UPPER = tuple(name.upper() for name in LOWER)


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[0])
def run(request):
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"{request.param[0]} is not installed")

    def hook(event, olds=None, news=None, names=LOWER):
        values = zip(names, (event, olds, news), strict=True)
        environ = {name: value for name, value in values if value is not None}
        return subprocess.run(
            [*request.param, str(HOOK)],
            env={"PATH": os.environ["PATH"], **environ},
            capture_output=True,
            check=False,
        )

    return hook


def put(path: Path, text: str = "words") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def joined(paths) -> str:
    return "|".join(map(str, paths))


@pytest.mark.seed("S-049", "S-123")
@pytest.mark.spec("C-68", "H-18")
@pytest.mark.parametrize("names", [LOWER, MIXED, UPPER], ids=["lower", "mixed", "upper"])
def test_sidecars_follow_whatever_their_names(run, tmp_path, names):
    olds = [tmp_path / "old dir" / f"{name}.flac" for name in NAMES]
    news = [tmp_path / "new" / "sub dir" / f"1 {name}.mp3" for name in NAMES]
    for old in olds:
        for kind in (".lrc", ".elrc", ".txt"):
            put(old.with_name(old.name.removesuffix(".flac") + kind), f"{old.name}{kind}")
    put(tmp_path / "old dir" / "other.lrc", "other")

    done = run("Rename", joined(olds), joined(news), names)

    assert (done.returncode, done.stderr) == (0, b"")
    for old, new in zip(olds, news, strict=True):
        for kind in (".lrc", ".elrc", ".txt"):
            moved = new.with_name(new.name.removesuffix(".mp3") + kind)
            assert moved.read_text() == f"{old.name}{kind}"
    assert [path.name for path in (tmp_path / "old dir").iterdir()] == ["other.lrc"]
    assert len(done.stdout.splitlines()) == 3 * len(NAMES) + 1


@pytest.mark.seed("S-049")
@pytest.mark.spec("C-68", "H-18")
def test_other_events_and_none_end_cleanly(run, tmp_path):
    old, new = tmp_path / "a.flac", tmp_path / "b.flac"
    put(tmp_path / "a.lrc")
    for event in ("Test", "AlbumDownload", "TrackRetag", "Grab", "HealthIssue"):
        assert run(event, str(old), str(new)).returncode == 0
    assert run(None).returncode == 0
    assert run("Test").returncode == 0
    assert (tmp_path / "a.lrc").exists()
    assert run(None, str(old), str(new)).returncode == 0  # no event, but both lists
    assert (tmp_path / "b.lrc").exists()


@pytest.mark.seed("S-049", "S-123")
@pytest.mark.spec("C-68", "H-18")
@pytest.mark.parametrize(
    ("olds", "news"),
    [("{0}/a.flac|{0}/c.flac", "{0}/b.flac"), ("", "{0}/b.flac"), ("{0}/a.flac", "")],
)
def test_uneven_and_empty_lists_move_nothing(run, tmp_path, olds, news):
    put(tmp_path / "a.lrc")
    done = run("Rename", olds.format(tmp_path), news.format(tmp_path))
    assert done.returncode == 1
    assert b"nothing was moved" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.lrc"]


@pytest.mark.seed("S-049", "S-045")
@pytest.mark.spec("C-68")
def test_what_stands_at_the_destination_is_untouched(run, tmp_path):
    put(tmp_path / "a.lrc", "mine")
    put(tmp_path / "a.elrc", "mine")
    put(tmp_path / "a.txt", "words")
    put(tmp_path / "b.lrc", "theirs")
    done = run("Rename", f"{tmp_path}/a.flac", f"{tmp_path}/b.flac")
    assert done.returncode == 0
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left == {"a.lrc": "mine", "a.elrc": "mine", "b.lrc": "theirs", "b.txt": "words"}


def test_what_lidarr_has_moved_itself_counts_as_done(run, tmp_path):
    put(tmp_path / "b.lrc")
    put(tmp_path / "a.elrc")
    done = run("Rename", f"{tmp_path}/a.flac", f"{tmp_path}/b.flac")
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.elrc", "b.lrc"]
    assert b"1 moved, 1 moved by Lidarr" in done.stdout


@pytest.mark.seed("S-049", "S-045")
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"1.lrc", "2.lrc", "3.lrc"}, {"2.lrc": "1.lrc", "3.lrc": "2.lrc", "4.lrc": "3.lrc"}),
        ({"1.lrc", "3.lrc"}, {"2.lrc": "1.lrc", "4.lrc": "3.lrc"}),
        ({"1.lrc", "1.txt", "2.lrc"}, {"2.lrc": "1.lrc", "2.txt": "1.txt", "3.lrc": "2.lrc"}),
        (
            {"1.lrc", "1.elrc", "2.lrc", "2.elrc"},
            {"2.lrc": "1.lrc", "2.elrc": "1.elrc", "3.lrc": "2.lrc", "3.elrc": "2.elrc"},
        ),
        ({"1.lrc"}, {"2.lrc": "1.lrc"}),
        ({"3.txt"}, {"4.txt": "3.txt"}),
    ],
)
def test_renumbered_tracks_keep_their_own_words(run, tmp_path, before, after, backwards):
    for name in before:
        put(tmp_path / name, name)
    numbers = (3, 2, 1) if backwards else (1, 2, 3)
    olds = joined(tmp_path / f"{number}.flac" for number in numbers)
    news = joined(tmp_path / f"{number + 1}.flac" for number in numbers)
    done = run("Rename", olds, news)
    assert (done.returncode, done.stderr) == (0, b"")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == after
    assert f"{len(after)} moved".encode() in done.stdout.splitlines()[-1]


@pytest.mark.seed("S-049", "S-045")
def test_two_names_that_are_exchanged_cost_nobody_its_words(run, tmp_path):
    olds, news = f"{tmp_path}/a.flac|{tmp_path}/b.flac", f"{tmp_path}/b.flac|{tmp_path}/a.flac"
    put(tmp_path / "a.txt", "a")
    assert run("Rename", olds, news).returncode == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b.txt": "a"}
    put(tmp_path / "a.txt", "other")
    done = run("Rename", olds, news)
    assert (done.returncode, done.stderr.count(b"is there already")) == (0, 2)
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left == {"a.txt": "other", "b.txt": "a"}


def test_links_and_equal_stems_are_left_alone(run, tmp_path):
    put(tmp_path / "real", "x")
    (tmp_path / "a.lrc").symlink_to(tmp_path / "real")
    put(tmp_path / "same.lrc")
    olds = f"{tmp_path}/a.flac|{tmp_path}/same.flac"
    done = run("Rename", olds, f"{tmp_path}/b.flac|{tmp_path}/same.mp3")
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.lrc", "real", "same.lrc"]


def test_one_failure_does_not_stop_the_rest(run, tmp_path):
    put(tmp_path / "a.lrc")
    put(tmp_path / "c.lrc")
    put(tmp_path / "file")
    olds = f"{tmp_path}/a.flac|relative.flac|{tmp_path}/c.flac"
    done = run("Rename", olds, f"{tmp_path}/file/b.flac|{tmp_path}/x.flac|{tmp_path}/d.flac")
    assert done.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.lrc", "d.lrc", "file"]
    assert b"2 failed" in done.stdout


def test_the_command_prints_the_script_that_is_packaged(shell: Shell):
    done = shell.run("hook", "lidarr-rename")
    assert (done.code, done.err) == (0, "")
    assert done.out == HOOK.read_text("utf-8") == SCRIPT.read_text("utf-8")
    assert HOOK.stat().st_mode & 0o111


@pytest.mark.seed("S-049")
def test_called_by_lidarr_the_command_is_the_hook(shell: Shell, tmp_path):
    put(tmp_path / "a.lrc")
    environ = dict(
        zip(
            ("LiDaRr_EventType", "lidarr_TRACKFILE_PreviousPaths", "Lidarr_Trackfile_Paths"),
            ("Rename", f"{tmp_path}/a.flac", f"{tmp_path}/b.flac"),
            strict=True,
        )
    )
    done = shell.run("hook", "lidarr-rename", environ=environ)
    assert (done.code, (tmp_path / "b.lrc").read_text()) == (0, "words")
    assert shell.run("hook", "lidarr-rename", environ={"lidarr_eventtype": "Test"}).code == 0
    uneven = {**environ, "Lidarr_Trackfile_Paths": ""}
    assert shell.run("hook", "lidarr-rename", environ=uneven).code == 1
