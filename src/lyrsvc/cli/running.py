"""From a command line to an exit code: find the command, load settings, run its function."""

import contextlib
import errno
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO, cast

from lyrsvc import brand
from lyrsvc.cli import parsing
from lyrsvc.cli.call import Call, World, flush_quietly, terminal_width
from lyrsvc.cli.command import Command
from lyrsvc.cli.dispatch import Line, divide
from lyrsvc.cli.flags import every_valued_flag
from lyrsvc.cli.identity import become_owner, is_root
from lyrsvc.cli.inputs import current_user, gather_inputs, secluded_inputs
from lyrsvc.cli.interrupts import EXIT_INTERRUPTED
from lyrsvc.cli.voice import Voice
from lyrsvc.clock import SystemClock
from lyrsvc.core.errors import ConfigError, LyrsvcError, Refused, UsageError
from lyrsvc.modesty import make_way
from lyrsvc.settings import locations
from lyrsvc.settings.loading import Inputs, Loaded, circumstances, examine, fail_on_faults
from lyrsvc.settings.registry import Registry

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def world_of(
    environ: Mapping[str, str], stdin: TextIO | None, stdout: TextIO | None, stderr: TextIO | None
) -> World:
    """Gather the outside of a real run; a stream that was closed beforehand leads nowhere.

    Raises ``Refused`` where the directory we were started in is gone.
    """
    # In this order, so that no database and no socket gets the number of a closed stream.
    streams = (stdin or _nowhere("r"), stdout or _nowhere("w"), stderr or _nowhere("w"))
    for stream in streams[1:]:
        with contextlib.suppress(AttributeError, ValueError, OSError):
            cast("Any", stream).reconfigure(encoding="utf-8", errors="backslashreplace")
    return World(dict(environ), _here(), current_user(), *streams, SystemClock(), make_way)


def main(argv: list[str], world: World) -> int:
    """Run one command line and give its exit code; nothing is raised to the caller."""
    voice = Voice(world.stderr, world.clock)
    try:
        code = _run_safely(argv, world, voice)
        trouble = flush_quietly(world.stdout)
        return code if trouble is None else _tell_unwritten(trouble, voice)
    finally:
        voice.close()


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise Refused(
            f"the current directory cannot be used ({(error.strerror or 'error').lower()}); "
            "change to another one"
        ) from error


def _nowhere(mode: str) -> TextIO:
    return cast("TextIO", os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _run_safely(argv: list[str], world: World, voice: Voice) -> int:
    try:
        return _run(argv, world, voice)
    except UsageError as error:
        voice.complain_plainly(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        return _tell_unwritten(error, voice)


def _tell_unwritten(error: OSError, voice: Voice) -> int:
    """Say why the answer could not be written; a reader who has seen enough is no failure."""
    if isinstance(error, BrokenPipeError):
        return 0
    why = (error.strerror or str(error)).lower()
    voice.complain_plainly(f"cannot write {error.filename or 'the answer'}: {why}")
    return 1


def _run(argv: list[str], world: World, voice: Voice) -> int:
    registry = Registry()
    line = divide(argv, every_valued_flag(registry.entries))
    if line.command and line.asks != "version" and parsing.asks_for_help(line.rest):
        return _explain(line.command, registry, world)
    if line.asks or line.command is None:
        return _answer_without_command(line, world)
    args, flags = parsing.parse(line.command, line.rest, registry.entries)
    if args.help:  # among other letters, as in -qh
        return _explain(line.command, registry, world)
    inputs = _inputs(line.command, args, flags, world)
    undone = _mend_file(inputs, world) if line.command.name == "serve" else None
    try:
        loaded = _load(line.command, inputs)
    except ConfigError as error:
        return _complain_of(error, voice)
    except Refused as error:
        voice.complain(str(error))
        return error.exit_code
    voice.keep_back(loaded.secrets())
    _choose_logs(line.command, args, loaded, voice)
    if undone:
        voice.warn(undone)
    return _call(Call(line.command, args, loaded, world, voice), voice)


def _explain(command: Command, registry: Registry, world: World) -> int:
    from lyrsvc.cli import overview

    width = _width_of_help(world)
    world.stdout.write(overview.of_command(command, registry.entries, width))
    return 0


def _width_of_help(world: World) -> int:
    from lyrsvc.cli.overview import WIDTH

    return min(WIDTH, terminal_width(world)) if world.stdout.isatty() else WIDTH


def _inputs(command: Command, args: parsing.Args, flags: Mapping[str, Any], world: World) -> Inputs:
    if command.secluded:
        return secluded_inputs(world.working_directory, flags=flags)
    return gather_inputs(
        world.environ,
        world.working_directory,
        flags=flags,
        config=args.config,
        env_file=args.env_file,
    )


def _mend_file(inputs: Inputs, world: World) -> str | None:
    """Undo a save of the settings that was cut off, before anybody reads them."""
    from lyrsvc.settings.saving import undo_interrupted_save

    return undo_interrupted_save(inputs, clock=world.clock)


def _load(command: Command, inputs: Inputs) -> Loaded:
    """Load settings as the user whose files the command will touch."""
    switches = is_root() and not command.keeps_identity
    if switches and locations.in_container(circumstances(inputs, inputs.environ)):
        become_owner(Path(brand.CONTAINER_DIRECTORY))
    loaded = examine(inputs)
    if switches and loaded.settings.db.path is not None:
        become_owner(loaded.settings.db.path.parent)
    return loaded


def _call(call: Call, voice: Voice) -> int:
    try:
        if not call.command.tolerant:
            fail_on_faults(call.loaded)
        _tell_oddities(call, voice)
        _tell_place(call, voice)
        return _handler(call.command)(call)
    except (UsageError, BrokenPipeError):
        raise
    except ConfigError as error:
        return _complain_of(error, voice)
    except LyrsvcError as error:
        voice.complain(str(error))
        return error.exit_code
    except Exception as error:  # the last line of defence of a command
        if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
            raise  # nobody but the answer is written without a name
        voice.explain(error)
        file = call.settings.logging.file
        hint = f", or see {file}" if file else ""
        voice.complain(
            f"unexpected {type(error).__name__}: {error}; run again with --log-level debug{hint}"
        )
        return 1


def _complain_of(error: ConfigError, voice: Voice) -> int:
    for fault in error.faults:
        voice.complain(fault)
    return error.exit_code


def _tell_oddities(call: Call, voice: Voice) -> None:
    if call.command.name in ("config check", "doctor"):
        return  # they list them themselves
    for warning in call.loaded.warnings:
        voice.warn(warning)


def _tell_place(call: Call, voice: Voice) -> None:
    """Say which files are used where two services could be meant."""
    command = call.command
    if command.secluded or command.stateless or call.loaded.source("db.path") != "default":
        return
    here, path = circumstances(call.loaded.inputs, call.loaded.environ), call.settings.db.path
    if locations.uses_package_by_itself(here):
        voice.note(f"using the installed service's database {path}")
    elif remedy := locations.misses_package(here):
        voice.warn(f"the installed service has never run, so {path} is used; {remedy}")
    elif locations.overlooks_package(here):
        voice.warn(f"the installed service has a database of its own, not {path}; for it use sudo")


def _choose_logs(command: Command, args: parsing.Args, loaded: Loaded, voice: Voice) -> None:
    section = loaded.settings.logging
    voice.settle_on(section, quiet=args.quiet, guest=command.name != "serve")
    if not command.listing or section.file or section.level == "debug":
        voice.set_up()


def _handler(command: Command) -> Callable[[Call], int]:
    module, _, name = command.handler.partition(":")
    return cast("Callable[[Call], int]", getattr(import_module(f"lyrsvc.cli.{module}"), name))


def _answer_without_command(line: Line, world: World) -> int:
    from lyrsvc.cli import overview
    from lyrsvc.cli.version import version_text

    if line.asks == "version":
        world.stdout.write(version_text() + "\n")
        return 0
    if line.asks == "help" or parsing.asks_for_help(line.rest):
        world.stdout.write(overview.of_program(line.group, _width_of_help(world)))
        return 0
    world.stderr.write(overview.of_mistake(line.group, line.rest))
    if line.group and (world.working_directory / line.group).is_dir():
        world.stderr.write(f"use ./{line.group} for the directory\n")
    return 2
