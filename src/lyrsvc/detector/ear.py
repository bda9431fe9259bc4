"""An ear: a sampler and a classifier, behind the one socket the services know."""

from pathlib import Path

from lyrsvc.detector.classifier import Classifier
from lyrsvc.detector.sampler import Sampler


class Ear:
    """Samples tracks and has them classified; see :class:`lyrsvc.core.ports.Detector`."""

    def __init__(self, sampler: Sampler, classifier: Classifier) -> None:
        self._sampler = sampler
        self._classifier = classifier

    @property
    def is_ready(self) -> bool:
        """Tell whether audio can be sampled here."""
        return self._sampler.find_tool()

    def model_version(self, *, fresh: bool = False) -> str:
        """Name the classifier's model; empty when it does not tell."""
        return self._classifier.model_version(fresh=fresh)

    def sample(self, audio: Path, *, duration_s: float | None) -> bytes:
        """Give a WAV of parts of a track; raise ``FileFault`` when it cannot be decoded."""
        return self._sampler.sample(audio, duration_s=duration_s)

    def classify(self, wav: bytes) -> object:
        """Give the classifier's answer as it is."""
        return self._classifier.classify(wav)
