"""The progress line of a command, wired to its streams and its log."""

from collections.abc import Iterator
from contextlib import contextmanager

from lyrsvc.cli.call import Call
from lyrsvc.cli.progress import ProgressLine, is_wanted
from lyrsvc.settings.environment_sections import Environment


@contextmanager
def progress_of(call: Call, noun: str) -> Iterator[ProgressLine]:
    """Give the line that shows how far a command is; log lines pass through it."""
    logs = call.voice.set_up()
    enabled = is_wanted(
        call.world.stderr,
        term=call.world.environ.get(Environment.term.env[0], ""),
        quiet=call.args.quiet,
        as_json=call.args.json,
    )
    with ProgressLine(
        call.world.stderr, call.world.clock, enabled, noun=noun, summary=False
    ) as line:
        if logs is not None and enabled:
            logs.draw_through(line.log_through)
        try:
            yield line
        finally:
            if logs is not None and enabled:
                logs.draw_through(None)
