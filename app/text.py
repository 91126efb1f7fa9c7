"""Text that arrives in pieces: bytes to characters, stop strings, and what must not reach a terminal."""

import codecs
import re
from collections.abc import Sequence

from paceline.errors import InputError

REPLACEMENT = "\ufffd"  # stands for what cannot be decoded
SEQUENCE_LIMIT = 4096  # characters of payload after which an unfinished terminal sequence is taken for text


class Utf8Stream:
    """Bytes in pieces of any size to whole characters; invalid bytes become U+FFFD.

    The pieces together give what `bytes.decode("utf-8", "replace")` gives for all of them at once.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """The characters that are complete now."""
        return self._decoder.decode(data)

    def flush(self) -> str:
        """The end: an unfinished character becomes U+FFFD. The stream is new afterwards."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest


class StopStrings:
    """Ends a stream of text before the first of several strings, and never shows the beginning of one.

    The string that is complete first wins; of those complete at the same character, the longest.
    Raises InputError when one of the strings is empty.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        if any(not stop for stop in stops):
            raise InputError("a stop string is empty", "leave it out: an empty text would end every answer at once")
        self._stops = tuple(dict.fromkeys(stops))
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> tuple[str, bool]:
        """What may be shown now, and whether a stop string has been met (nothing comes after that)."""
        if self.stopped or not self._stops:
            return ("" if self.stopped else text), self.stopped
        held = self._held + text
        found = [(at + len(stop), at) for stop in self._stops if (at := held.find(stop)) >= 0]
        if found:
            self.stopped, self._held = True, ""
            return held[: min(found)[1]], True
        keep = max(_overlap(held, stop) for stop in self._stops)
        self._held = held[len(held) - keep :]
        return held[: len(held) - keep], False

    def flush(self) -> str:
        """The end: what was held back and did not become a stop string."""
        rest, self._held = self._held, ""
        return rest


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning, but not the whole, of `stop`."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0


# ECMA-48 control sequences in their 7-bit and 8-bit form. A string (OSC, DCS, SOS, PM, APC) ends at ST or BEL, and
# is abandoned, as terminals do, at CAN, SUB or the beginning of the next control sequence.
_PAYLOAD = rf"[^\x07\x18\x1a\x1b\x80-\x9f]{{0,{SEQUENCE_LIMIT}}}"
_STRING = rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_PAYLOAD}"
_CSI = rf"(?:\x1b\[|\x9b)[0-?]{{0,{SEQUENCE_LIMIT}}}[ -/]{{0,{SEQUENCE_LIMIT}}}"
_ESCAPE = rf"\x1b[ -/]{{0,{SEQUENCE_LIMIT}}}"
_COMPLETE = re.compile(
    rf"{_CSI}[@-~]"
    rf"|{_STRING}(?:[\x07\x18\x1a\x9c]|\x1b\\|(?=\x1b[^\\])|(?=[\x80-\x9b\x9d-\x9f]))"
    rf"|{_ESCAPE}(?![P\[\]X^_])[0-~]"
)
_UNFINISHED = re.compile(rf"\r|{_CSI}|{_STRING}\x1b?|{_ESCAPE}")
# C0 without tab and newline, DEL, C1; directions (bidi); tag characters, which carry text that nobody sees
_SUSPECT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


class ControlFilter:
    """Takes out of a stream of text what could steer a terminal or hide text on it.

    Removed are whole terminal sequences with their payload, C0 and C1 controls and DEL, bidirectional controls and
    tag characters. Newline and tab stay; a carriage return stays only before a newline, since alone it lets later
    text overwrite earlier text. A sequence that has not ended after 4,096 characters, or when the text ends, loses
    only its control characters, so that it cannot swallow an answer.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What may be shown now. An unfinished sequence is held back."""
        return self._run(text, final=False)

    def flush(self) -> str:
        """The end: what is left of an unfinished sequence without its control characters."""
        return self._run("", final=True)

    def _run(self, text: str, *, final: bool) -> str:
        held, self._held = self._held + text, ""
        shown: list[str] = []
        at = 0
        while suspect := _SUSPECT.search(held, at):
            start = suspect.start()
            shown.append(held[at:start])
            if not final and _UNFINISHED.fullmatch(held, start):
                self._held = held[start:]
                return "".join(shown)
            if held.startswith("\r\n", start):
                shown.append("\r\n")
                at = start + 2
            else:
                sequence = _COMPLETE.match(held, start)
                at = sequence.end() if sequence else start + 1
        shown.append(held[at:])
        return "".join(shown)


def strip_controls(text: str) -> str:
    """The text without anything that could steer a terminal; see ControlFilter."""
    if not _SUSPECT.search(text):
        return text
    stream = ControlFilter()
    return stream.feed(text) + stream.flush()


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate: those have no UTF-8 form, so no model can read them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", REPLACEMENT, text)
    return text
