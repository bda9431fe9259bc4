"""Asking the running service whether it is well, for containers and monitors."""

from lyrsvc.cli.call import Call


def check(call: Call) -> int:
    """Say ``ok`` when the service is ready; else the reason, and end with 1."""
    from lyrsvc.cli.readiness import ask_ready, checked_url, listener_url
    from lyrsvc.core.errors import Refused, UsageError

    named = call.args.url
    if named is None:
        ask_ready(listener_url(call.settings.server), own=True)
    else:
        try:
            url = checked_url(named)
        except Refused as refusal:
            raise UsageError(f"--url {refusal}") from None
        ask_ready(url, own=False)
    call.print_result({"status": "ok"}, "ok")
    return 0
