"""Lidarr speaks to a running service: imports become sidecars, renames take them along."""

import json
import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from builders import minimal_flac
from lyrsvc.demo.songs import SONGS
from lyrsvc.demo.stand_in import StandIn
from served import Served, wait_until

FIXTURES = Path(__file__).parents[1] / "data" / "lidarr"
HOOK = "/api/v1/webhooks/lidarr"


@pytest.fixture(scope="module")
def upstream():
    with StandIn() as server:
        yield server


@pytest.fixture
def serve(tmp_path, upstream):
    def start(**environ):
        return Served(
            tmp_path,
            {
                "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
                "LYRSVC_LRCLIB_BASE_URL": upstream.url,
                "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
                "LYRSVC_API_COOLDOWN": "0",
                "LYRSVC_SCAN_SCHEDULE": "off",
                **environ,
            },
        )

    return start


def new_key(served, scope="webhook"):
    made = served.run("keys", "create", "--name", "test", "--scope", scope)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def send(served, body, *, method="POST", path=HOOK, headers=None):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    call = urllib.request.Request(
        f"http://{served.address}{path}", data=data, method=method, headers=headers or {}
    )
    try:
        with urllib.request.urlopen(call, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)


def payload(name, root):
    """Give a true payload with the test's own root in place of Lidarr's."""
    text = (FIXTURES / name).read_text("utf-8")
    return json.loads(text.replace("/music/", f"{root}/"))


STATUSES = {
    "test.json": "ok",
    "download_new.json": "accepted",
    "download_upgrade.json": "accepted",
    "download_multidisc_one_file.json": "accepted",
    "retag.json": "accepted",
    "rename.json": "accepted",
}


@pytest.mark.spec("H-01", "H-02", "H-05")
def test_every_true_event_is_answered_whatever_carries_the_key(serve, tmp_path):
    with serve() as served:
        key = new_key(served)
        carriers = (
            {"path": f"{HOOK}?apikey={key}"},
            {"headers": {"Authorization": f"Bearer {key}"}},
            {"headers": {"X-Api-Key": key}},
            {"path": f"{HOOK}/", "headers": {"X-Api-Key": key}},
        )
        for file in sorted(FIXTURES.glob("*.json")):
            for method in ("POST", "PUT"):
                for carrier in carriers:
                    status, answer = send(
                        served, payload(file.name, tmp_path / "none"), method=method, **carrier
                    )
                    assert status == 200, (file.name, answer)
                    assert answer["status"] == STATUSES.get(file.name, "ignored"), file.name


def tag(path, song):
    return minimal_flac(
        path, seconds=song.length_s, artist=song.artist, title=song.title, album=song.album
    )


def is_busy(served):
    items = json.loads(served.run("queue", "list", "--json").stdout)
    return any(item["status"] in ("pending", "processing") for item in items)


@pytest.mark.parametrize("is_scanned", [False, True], ids=["told first", "scanned first"])
def test_new_tags_bring_the_words_of_the_new_song_and_spare_what_others_wrote(
    serve, tmp_path, is_scanned
):
    first, second = SONGS[0], SONGS[3]
    ours, edited = (tmp_path / "music" / name / "x.flac" for name in ("ours", "edited"))
    for path in (ours, edited):
        tag(path, first)
    with serve() as served:
        assert served.run("library", "add", str(tmp_path / "music")).returncode == 0
    with serve() as served:
        key = {"X-Api-Key": new_key(served)}
        assert served.run("scan").returncode == 0
        words = [path.with_suffix(".lrc") for path in (ours, edited)]
        wait_until(lambda: all(one.exists() for one in words), "the words of the first song")
        wait_until(lambda: not is_busy(served), "both are settled")
        old = words[0].read_text()
        words[1].write_text("[00:01.00]a line of mine\n")
        for path in (ours, edited):
            tag(path, second)
        if is_scanned:
            assert served.run("scan").returncode == 0
        for path in (edited, ours):
            body = {"eventType": "Retag", "trackFile": {"path": str(path)}}
            status, answer = send(served, {**body, "artist": {"name": second.artist}}, headers=key)
            # the second file joins the item of the first, which may be under way
            assert (status, answer["enqueued"] + answer["refreshed"]) == (200, 1), answer
        wait_until(lambda: words[0].read_text() != old, "the words of the second song")
        assert f"[ti:{second.title}]" in words[0].read_text()
        assert words[1].read_text() == "[00:01.00]a line of mine\n"
        wait_until(lambda: not is_busy(served), "both are settled again")
        again = send(served, {**body, "artist": {"name": second.artist}}, headers=key)[1]
        assert again["already_done"] == 1


@pytest.mark.seed("S-021", "S-023")
def test_an_album_that_lidarr_imports_has_its_lyrics_within_seconds(serve, tmp_path, upstream):
    songs = [song for song in SONGS if song.artist == SONGS[0].artist][:3]
    album = tmp_path / "music" / songs[0].artist / "Album"
    album.mkdir(parents=True)
    with serve() as served:
        assert served.run("library", "add", str(tmp_path / "music")).returncode == 0
    with serve() as served:
        key = new_key(served)
        files = [
            minimal_flac(
                album / f"{song.title}.flac",
                seconds=song.length_s,
                artist=song.artist,
                title=song.title,
                album=song.album,
            )
            for song in songs
        ]
        before = len(upstream.requests)
        body = {
            "eventType": "Download",
            "artist": {"name": songs[0].artist},
            "album": {"title": songs[0].album},
            "tracks": [{"title": song.title} for song in songs],
            "trackFiles": [{"path": str(file)} for file in files],
        }
        status, answer = send(served, body, headers={"Authorization": f"Bearer {key}"})
        assert (status, answer["enqueued"], answer["resolved"]["path"]) == (200, 3, 3)
        wanted = [file.with_suffix(".lrc") for file in files]
        wait_until(
            lambda: (
                sum(any(file.with_suffix(s).exists() for s in (".lrc", ".txt")) for file in files)
                == 3
            ),
            f"sidecars beside {wanted}",
            limit_s=10,
        )
        asked = len(upstream.requests) - before
        questions = [tuple(sorted(call.query.items())) for call in upstream.requests[before:]]
        assert len(set(questions)) == len(questions)  # nothing is asked twice
        again = send(served, body, headers={"Authorization": f"Bearer {key}"})[1]
        assert again["enqueued"] == 0
        assert len(upstream.requests) - before == asked


@pytest.mark.spec("H-16")
def test_a_rename_takes_the_sidecars_along(serve, tmp_path):
    root = tmp_path / "music"
    album = root / "Artist" / "Album"
    old, new = album / "01 old.flac", album / "02 new.flac"
    minimal_flac(old, seconds=200.0, artist="Artist", title="Song")
    old.with_suffix(".lrc").write_text("[00:01.00]words\n")
    old.with_suffix(".txt").write_text("words\n")
    with serve() as served:
        served.run("library", "add", str(root))
        served.run("scan")
    with serve() as served:
        key = {"Authorization": f"Bearer {new_key(served)}"}
        shutil.move(old, new)
        body = {
            "eventType": "Rename",
            "artist": {"name": "Artist"},
            "renamedTrackFiles": [{"path": str(new), "previousPath": str(old)}],
        }
        status, answer = send(served, body, headers=key)
        assert (status, answer) == (200, {"event": "Rename", "files": 1, "status": "accepted"})
        wait_until(new.with_suffix(".lrc").exists, "the sidecar follows")
        wait_until(new.with_suffix(".txt").exists, "the other one too")
        assert not old.with_suffix(".lrc").exists()
        (backup,) = tmp_path.rglob("realign-serve-backup.jsonl")
        lines = [json.loads(line) for line in backup.read_text().splitlines()]
        assert [line["method"] for line in lines] == ["lidarr-rename"] * 2
        results = json.loads(served.run("scan", "results", "--json").stdout)
        rows = results["results"] if isinstance(results, dict) else results
        assert str(new) in json.dumps(rows)
        assert send(served, body, headers=key)[0] == 200
        assert len(backup.read_text().splitlines()) == 2


def test_words_go_with_songs_that_a_rename_made_change_names(serve, tmp_path):
    """Without a schedule nobody but the event itself can have the directory scanned."""
    first, second = (tmp_path / "music" / name for name in ("1.flac", "2.flac"))
    tag(first, SONGS[0])
    tag(second, SONGS[3])
    words = [path.with_suffix(".lrc") for path in (first, second)]
    with serve() as served:
        served.run("library", "add", str(tmp_path / "music"))
    with serve() as served:
        key = {"X-Api-Key": new_key(served)}
        assert served.run("scan").returncode == 0
        wait_until(lambda: all(one.exists() for one in words), "the words of both songs")
        wait_until(lambda: not is_busy(served), "both are settled")
        texts = [one.read_text() for one in words]
        aside = first.rename(tmp_path / "aside.flac")
        second.rename(first)
        aside.rename(second)
        moved = [(str(first), str(second)), (str(second), str(first))]
        body = {
            "eventType": "Rename",
            "artist": {"name": SONGS[0].artist},
            "renamedTrackFiles": [{"path": new, "previousPath": old} for old, new in moved],
        }
        assert send(served, body, headers=key)[0] == 200
        wait_until(
            lambda: [one.exists() and one.read_text() for one in words] == texts[::-1],
            "the words follow their songs",
        )


@pytest.mark.spec("H-12")
@pytest.mark.seed("S-025", "S-027")
def test_payload_paths_count_in_libraries_known_at_the_start(serve, tmp_path):
    root = tmp_path / "music"
    audio = minimal_flac(root / "a.flac", seconds=200.0, artist="Artist", title="Song A")
    other = minimal_flac(root / "b.flac", seconds=210.0, artist="Artist", title="Song B")

    def told(served, key, file, title):
        body = {
            "eventType": "Download",
            "artist": {"name": "Artist"},
            "tracks": [{"title": title}],
            "trackFiles": [{"path": str(file)}],
        }
        return send(served, body, headers={"Authorization": f"Bearer {key}"})[1]["resolved"]["path"]

    with serve() as served:
        key = new_key(served)
        served.run("library", "add", str(root), "--name", "Music")
        assert told(served, key, audio, "Song A") == 0
    with serve() as served:
        assert told(served, key, other, "Song B") == 1
        served.run("library", "remove", "Music", "--yes")
        third = minimal_flac(root / "c.flac", seconds=220.0, artist="Artist", title="Song C")
        assert told(served, key, third, "Song C") == 0
