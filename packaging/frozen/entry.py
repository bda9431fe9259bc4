"""Where the frozen program begins.

The program starts readers of tags as ``<interpreter> -I -S ... -c <boot text>``. Frozen, the
interpreter is the program itself, so that line comes back here; no other code is run this way.
"""

import sys


def main() -> int:
    """Be the tag reader when the program asks for one, otherwise the program."""
    if sys.argv[1:2] == ["-I"]:
        from lyrsvc.services import tag_channels, tag_child

        if tag_channels._BOOT in sys.argv:
            tag_child.main()
            return 0
    from lyrsvc.cli.main import run

    return run()


if __name__ == "__main__":
    raise SystemExit(main())
