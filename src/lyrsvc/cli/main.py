"""The entry: the only place that reads the environment, the arguments and the terminal."""

import os
import signal
import sys


def run() -> int:
    """Run the program as the shell started it."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing is to be tidied up yet
    argv = sys.argv[1:]
    if argv[:1] == ["__complete"]:
        from lyrsvc.cli import completing

        return completing.run(argv[1:], os.environ)
    if argv[:1] in (["--version"], ["-V"]):
        from lyrsvc.cli.version import version_text

        try:
            sys.stdout.write(version_text() + "\n")
            sys.stdout.flush()
        except (AttributeError, OSError):
            pass  # closed or full: the long way says what is wrong
        else:
            return 0
    if "serve" in argv:  # perhaps only a name: then it costs some milliseconds and nothing else
        from lyrsvc.cli.fresh_start import begin_anew

        begin_anew(os.environ, sys.orig_argv)
    from lyrsvc.cli.interrupts import listen_for_interrupts
    from lyrsvc.cli.running import main, world_of
    from lyrsvc.core.errors import Refused

    listen_for_interrupts()
    try:
        world = world_of(os.environ, sys.stdin, sys.stdout, sys.stderr)
    except Refused as error:
        print(f"lyrsvc: {error}", file=sys.stderr)
        return error.exit_code
    return main(argv, world)


if __name__ == "__main__":
    raise SystemExit(run())
