"""The one way to tell the user something in one sentence.

The sentence reads ``what; remedy``. On a text console it appears as
``lyrsvc: what; remedy``, in JSON and in the log file it is a record. Before
logging is set up, ``formats.plain_note`` gives the same line for usage errors.
"""

import logging
from typing import Final

from lyrsvc import brand
from lyrsvc.logs.formats import NOTE

_LOG: Final = logging.getLogger(f"{brand.PROGRAM}.notes")


def tell_error(sentence: str) -> None:
    """Say what went wrong and what helps."""
    _LOG.error("%s", sentence.strip(), extra={NOTE: True})


def tell(sentence: str) -> None:
    """Say something worth knowing; ``--quiet`` keeps it back."""
    _LOG.info("%s", sentence.strip(), extra={NOTE: True})
