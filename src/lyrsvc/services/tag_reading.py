"""Reading the tags of one file for a scan; also done in processes of their own."""

from lyrsvc.core.errors import FileFault
from lyrsvc.core.scan_facts import LONGEST_TEXT, Embedded, TagFacts, Unreadable, describe
from lyrsvc.files.embedded import EmbeddedLyrics
from lyrsvc.files.tags import named_recording, read_tags, to_recording


def read_facts(path: str, root: str, *, enrich: bool) -> TagFacts | Unreadable:
    """Read one file; whatever is wrong with it is an answer, not an error."""
    try:
        tags = read_tags(path, enrich=enrich, embedded=True)
        recording = named_recording(tags) or to_recording(tags, path, root)
        return describe(recording, embedded=shown_lyrics(tags.embedded))
    except FileFault as fault:
        return Unreadable(fault.reason, str(fault)[:LONGEST_TEXT])
    except Exception as surprise:  # noqa: BLE001 - one odd file must not end a scan
        return Unreadable("bad_container", f"unexpected {type(surprise).__name__} while reading")


def shown_lyrics(lyrics: EmbeddedLyrics | None) -> int:
    """Give what the inventory says of lyrics inside the tags."""
    if lyrics is None:
        return Embedded.NONE
    return Embedded.SYNCED if lyrics.cues else Embedded.PLAIN
