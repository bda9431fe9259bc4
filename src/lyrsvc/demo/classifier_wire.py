"""The audio classifier's wire form, as the stand-in speaks it."""

import hashlib
from typing import Final

from lyrsvc.core.instrumental_gates import MUSIC, SPEECH, VOCAL
from lyrsvc.demo.orders import Mode, Order
from lyrsvc.demo.wire import Answer, in_json, in_text

MOST_AUDIO_BYTES: Final = 32 * 1024 * 1024
MODEL_VERSION: Final = hashlib.sha256(b"stand-in classifier").hexdigest()


def health() -> Answer:
    """Say which model answers."""
    return in_json(
        {
            "status": "ok",
            "classes": len(MUSIC + VOCAL + SPEECH),
            "model_version": MODEL_VERSION,
        }
    )


def classify(body: bytes, kind: str, order: Order) -> Answer:
    """Score a clip: voices by default, none in mode ``instrumental``."""
    if len(body) > MOST_AUDIO_BYTES:
        return in_text("audio over 32 MB", status=413)
    if not kind.startswith("multipart/form-data") or b'name="file"' not in body:
        return in_text("no part named file", status=400)
    if b"RIFF" not in body or b"WAVE" not in body:
        return in_text("audio cannot be decoded", status=400)
    voice = 0.001 if order.mode is Mode.INSTRUMENTAL else 0.62
    mean = dict.fromkeys(MUSIC, 0.48) | dict.fromkeys(VOCAL, voice / 2)
    most = dict.fromkeys(MUSIC, 0.97) | dict.fromkeys(VOCAL, voice)
    return in_json(
        {
            "mean": mean | dict.fromkeys(SPEECH, 0.01),
            "max": most | dict.fromkeys(SPEECH, 0.02),
        }
    )
