"""What can go wrong, one class for each answer to it."""


class ClassifierError(Exception):
    """Anything this program raises on purpose."""


class ModelUnusable(ClassifierError):
    """The model or its labels cannot be used; the program ends."""


class BadAudio(ClassifierError):
    """What was sent is no audio; 400."""


class InferenceFailed(ClassifierError):
    """The model did not give scores; 500."""
