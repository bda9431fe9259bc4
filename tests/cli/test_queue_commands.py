"""Bringing items back and clearing the queue, as typed by a user."""

import json
from pathlib import Path

import pytest

from lyrsvc.core.item import Status
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.store import libraries
from queue_cases import NOW, Queue, a_spot, a_wish
from terminals import Shell


@pytest.fixture
def queue(database):
    """A queue of long ago, so that the real clock of a command lies after it."""
    return Queue(database)


def failed(queue, *titles):
    queue.enqueue(*map(a_wish, titles))
    return [queue.fail(queue.claim()).item.id for _ in titles]


def deferred(queue, *titles):
    queue.enqueue(*map(a_wish, titles))
    return [queue.miss(queue.claim()).item.id for _ in titles]


def done(queue, *titles):
    queue.enqueue(*map(a_wish, titles))
    return [queue.serve(queue.claim()).item.id for _ in titles]


def given_up(queue, *titles):
    queue.policy = WaitPolicy(max_misses=1)
    return deferred(queue, *titles)


@pytest.mark.spec("C-37")
@pytest.mark.seed("S-053")
def test_a_failed_item_is_pending_again(shell: Shell, queue):
    (item_id,) = failed(queue, "One")
    told = shell.run("queue", "retry", str(item_id))
    assert (told.code, told.out, told.err) == (0, f"{item_id}\tpending\n", "")
    assert queue.item(item_id).status is Status.PENDING
    assert queue.wrong_counts() == {}


@pytest.mark.spec("C-37", "E-10")
@pytest.mark.seed("S-053")
def test_whatever_is_not_failed_is_refused_with_a_remedy(shell: Shell, queue):
    (waiting,) = deferred(queue, "Deferred")
    (finished,) = done(queue, "Done")
    queue.enqueue(a_wish("Under way"))
    under_way = queue.claim().id
    queue.enqueue(a_wish("Pending"))
    (pending,) = (item.id for item in queue.items() if item.title == "Pending")
    before = queue.items()
    for item_id, sentence in {
        waiting: (
            f"item {waiting} is deferred, only failed items can be retried; it is checked again "
            f"at 2026-02-07T14:05:06.000Z, or now with: lyrsvc queue recheck {waiting} --yes"
        ),
        finished: f"item {finished} is done, only failed items can be retried",
        pending: f"item {pending} is pending, only failed items can be retried",
        under_way: f"item {under_way} is processing, only failed items can be retried",
        999: "no item 999",
    }.items():
        told = shell.run("queue", "retry", str(item_id))
        assert (told.code, told.out) == (1, "")
        assert f"lyrsvc: {sentence}" in told.err
        assert len(told.err.splitlines()) == 1
    assert queue.items() == before


@pytest.mark.seed("S-053")
@pytest.mark.parametrize("word", ["abc", "-1", "+1", "1.0", " 1", "", "٣", "9" * 19])
def test_what_is_no_id_is_named_and_nothing_is_retried(shell: Shell, queue, word):
    (item_id,) = failed(queue, "One")
    told = shell.run("queue", "retry", str(item_id), word)
    assert (told.code, told.out) == (2, "")
    assert told.err == f'lyrsvc: ID "{word}" is not a whole number from 0\n'
    assert queue.item(item_id).status is Status.FAILED


def test_several_items_are_retried_each_on_its_own(shell: Shell, queue):
    first, second = failed(queue, "One", "Two")
    told = shell.run("queue", "retry", str(first), "77", str(second), str(first))
    assert (told.code, told.lines) == (1, [f"{first}\tpending", f"{second}\tpending"])
    assert "no item 77" in told.err


def test_retry_speaks_json(shell: Shell, queue):
    first, second = failed(queue, "One", "Two")
    assert shell.run("queue", "retry", str(first), "--json").json == {
        "id": first,
        "status": "pending",
    }
    assert shell.run("queue", "retry", str(second), "5000", "--json").json == [
        {"id": second, "status": "pending"}
    ]


@pytest.mark.parametrize("words", [(), ("abc",), ("-5",), ("1.5",), ("9" * 30,)])
def test_retry_wants_whole_numbers(shell: Shell, queue, words):
    told = shell.run("queue", "retry", *words)
    assert (told.code, told.out) == (2, "")
    assert told.err


@pytest.mark.spec("C-38")
def test_recheck_wants_to_know_what(shell: Shell, queue):
    told = shell.run("queue", "recheck")
    assert (told.code, told.out) == (2, "")
    assert "--deferred" in told.err
    assert shell.run("queue", "recheck", "--yes").code == 2


def test_recheck_counts_first_and_acts_only_with_yes(shell: Shell, queue):
    waiting = deferred(queue, "One", "Two")
    lost = given_up(queue, "Lost")
    before = queue.items()
    told = shell.run("queue", "recheck", "--deferred")
    assert (told.code, told.out) == (0, "2\n")
    assert "add --yes" in told.err
    told = shell.run("queue", "recheck", "--deferred", "--retired", "--json")
    assert told.json == {"selected": 3}
    assert queue.items() == before

    told = shell.run("queue", "recheck", "--deferred", "--retired", "--yes", "--json")
    assert (told.code, told.json) == (0, {"rechecked": 3})
    items = {item.id: item for item in queue.items()}
    assert set(items) == {*waiting, *lost}
    assert {item.status for item in items.values()} == {Status.DEFERRED}
    assert all(item.ready_key is not None for item in items.values())
    assert queue.wrong_counts() == {}


def test_recheck_takes_ids_and_refuses_all_when_one_does_not_fit(shell: Shell, queue):
    first, second = deferred(queue, "One", "Two")
    (broken,) = failed(queue, "Failed")
    before = queue.items()
    for words in ((str(first), str(broken)), (str(first), "999")):
        for yes in ((), ("--yes",)):
            told = shell.run("queue", "recheck", *words, *yes)
            assert (told.code, told.out) == (1, "")
    assert queue.items() == before
    told = shell.run("queue", "recheck", str(first), str(second), "--yes")
    assert (told.code, told.out) == (0, "2\n")
    assert [queue.item(i).ready_key is not None for i in (first, second)] == [True, True]


def test_an_item_named_and_selected_is_counted_once(shell: Shell, queue):
    first, _ = deferred(queue, "One", "Two")
    assert shell.run("queue", "recheck", str(first), "--deferred").out == "2\n"
    assert shell.run("queue", "recheck", str(first), "--deferred", "--yes").out == "2\n"


def test_recheck_can_be_kept_to_a_library(shell: Shell, queue, database):
    from dataclasses import replace

    for name in ("rock", "jazz"):
        library = database.write(
            lambda tx, name=name: libraries.add(tx, name=name, path=Path("/" + name), now=NOW).id
        )
        spot = a_spot(name, out_dir="/" + name, library_id=library)
        queue.enqueue(replace(a_wish(name), spot=spot))
        queue.miss(queue.claim())
    assert shell.run("queue", "recheck", "--deferred", "--library", "jazz").out == "1\n"
    assert shell.run("queue", "recheck", "--retired", "--library", "jazz").out == "0\n"
    assert shell.run("queue", "recheck", "--library", "ROCK", "--yes").out == "1\n"
    told = shell.run("queue", "recheck", "--deferred", "--library", "pop", "--yes")
    assert (told.code, told.out) == (1, "")
    assert 'no library "pop"; known: jazz, rock' in told.err
    assert [item.ready_key is not None for item in queue.items()] == [True, False]


@pytest.mark.spec("C-38", "E-18")
@pytest.mark.seed("S-056")
def test_clear_says_what_would_go_and_deletes_only_with_yes(shell: Shell, queue):
    done(queue, "One", "Two")
    given_up(queue, "Lost")
    queue.enqueue(a_wish("Waiting"))
    told = shell.run("queue", "clear", "--done")
    assert (told.code, told.out) == (0, "3\n")
    assert "nothing was deleted" in told.err
    assert len(queue.items()) == 4
    told = shell.run("queue", "clear", "--done", "--yes", "--json")
    assert (told.code, told.json) == (0, {"deleted": 3})
    assert [item.title for item in queue.items()] == ["Waiting"]
    assert queue.wrong_counts() == {}
    assert shell.run("queue", "clear", "--done", "--yes", "--json").json == {"deleted": 0}


@pytest.mark.spec("C-38")
@pytest.mark.seed("S-056")
@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_clear_needs_to_be_told_that_it_is_the_finished_ones(shell: Shell, queue, words):
    done(queue, "One")
    told = shell.run("queue", "clear", *words)
    assert (told.code, told.out) == (2, "")
    assert "--done" in told.err
    assert len(queue.items()) == 1


def test_a_terminal_gets_the_name_of_the_number(shell: Shell, queue):
    done(queue, "One")
    assert shell.run("queue", "clear", "--done", terminal=True).lines == ["would_delete", "1"]
    assert shell.run("queue", "clear", "--done", "--header").lines == ["would_delete", "1"]


@pytest.mark.parametrize(
    "words",
    [
        ("retry", "1"),
        ("recheck", "--deferred"),
        ("recheck", "1", "--yes"),
        ("clear", "--done"),
        ("clear", "--done", "--yes"),
    ],
)
def test_a_missing_database_is_named_and_not_made(shell: Shell, words):
    told = shell.run("queue", *words)
    assert (told.code, told.out) == (1, "")
    assert f"no database at {shell.database}; start the service once" in told.err
    assert not shell.database.exists()


def test_who_changed_many_items_at_once_is_audited(shell: Shell, queue):
    ids = map(str, failed(queue, "One", "Two"))
    done(queue, "Three")
    deferred(queue, "Four")
    environ = {"LYRSVC_LOG_FORMAT": "json"}
    for event, words in {
        "queue.retried": ("retry", *ids),
        "queue.cleared": ("clear", "--done", "--yes"),
    }.items():
        told = shell.run("queue", *words, environ=environ)
        lines = [json.loads(line) for line in told.err.splitlines()]
        (line,) = [line for line in lines if line.get("event") == event]
        assert line["actor"] == "cli:tester"
    told = shell.run("queue", "recheck", "--deferred", "--yes", environ=environ)
    assert '"queue.retried"' in told.err


def test_a_dry_run_is_not_audited(shell: Shell, queue):
    done(queue, "One")
    deferred(queue, "Two")
    environ = {"LYRSVC_LOG_FORMAT": "json"}
    for words in (("clear", "--done"), ("recheck", "--deferred")):
        assert "audit" not in shell.run("queue", *words, environ=environ).err
