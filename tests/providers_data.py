"""Where the recorded answers of the providers lie."""

import json
from dataclasses import dataclass
from pathlib import Path

BODIES = Path(__file__).parent / "data" / "providers"


@dataclass(frozen=True)
class Recorded:
    """One answer as it goes over the wire."""

    status: int
    headers: dict[str, str]
    text: str


def recorded(lane: str, file: str, status: int = 200) -> Recorded:
    """Read a recorded answer; ``_http`` describes one that is not JSON."""
    text = (BODIES / lane / file).read_text("utf-8")
    content = json.loads(text)
    if isinstance(content, dict) and "_http" in content:
        wire = content["_http"]
        return Recorded(wire["status"], wire["headers"], wire["body_text"])
    return Recorded(status, {"Content-Type": "application/json"}, text)


def index(lane: str) -> list[dict]:
    """Read what each recorded answer of a lane must come to."""
    return json.loads((BODIES / lane / "index.json").read_text("utf-8"))
