"""Reading the tags of one file for a scan; also done in processes of their own."""

from lyrsvc.core.errors import FileFault
from lyrsvc.core.scan_facts import LONGEST_TEXT, Embedded, TagFacts, Unreadable, describe
from lyrsvc.files.embedded import EmbeddedLyrics
from lyrsvc.files.tags import read_tags, to_recording


def read_facts(path: str, root: str, *, enrich: bool) -> TagFacts | Unreadable:
    """Read one file; whatever is wrong with it is an answer, not an error."""
    try:
        tags = read_tags(path, enrich=enrich, embedded=True)
        return describe(to_recording(tags, path, root), embedded=_shown(tags.embedded))
    except FileFault as fault:
        return Unreadable(fault.reason, str(fault)[:LONGEST_TEXT])
    except Exception as surprise:  # noqa: BLE001 - one odd file must not end a scan
        return Unreadable("bad_container", f"unexpected {type(surprise).__name__} while reading")


def _shown(lyrics: EmbeddedLyrics | None) -> int:
    if lyrics is None:
        return Embedded.NONE
    return Embedded.SYNCED if lyrics.cues else Embedded.PLAIN
