"""Asking the running service whether it is well, for containers and monitors."""

from lyrsvc.cli.call import Call


def check(call: Call) -> int:
    """Say ``ok`` when the service is ready; else the reason, and end with 1."""
    from lyrsvc.cli.readiness import NotReady, ask_own, ask_ready, checked_url
    from lyrsvc.core.errors import Refused, UsageError

    named = call.args.url
    if named is None:
        try:
            ask_own(call.settings)
        except (NotReady, Refused):
            if call.loaded.faults:
                call.note("the settings have faults; see: lyrsvc config check")
            raise
    else:
        try:
            url = checked_url(named)
        except Refused as refusal:
            raise UsageError(f"--url {refusal}") from None
        ask_ready(url, own=False)
    call.print_result({"status": "ok"}, "ok")
    return 0
