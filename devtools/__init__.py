"""The rooms behind ``dev.py``: environment, checks, locks and documents of the project."""


class Refusal(Exception):
    """A sentence for the person at the keyboard, instead of a traceback."""

    def __init__(self, sentence: str, *, usage: bool = False) -> None:
        super().__init__(sentence)
        self.usage = usage
