"""Printing the completion script of a shell."""

from pathlib import Path

from lyrsvc.cli.call import Call

SCRIPTS = {"bash": "lyrsvc.bash", "zsh": "_lyrsvc", "fish": "lyrsvc.fish"}


def print_script(call: Call) -> int:
    """Print the script as it is installed."""
    call.world.stdout.write(script(call.args.shell))
    return 0


def script(shell: str) -> str:
    """Give the completion script of a shell."""
    return (Path(__file__).parent / "completions" / SCRIPTS[shell]).read_text("utf-8")
