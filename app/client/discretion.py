"""What a server says is shown to people and written to logs; the key that it was asked with is not, if it repeats that.

Servers repeat keys in their refusals, whole or in part, as they came or as a part of an address.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from string import ascii_lowercase, ascii_uppercase
from types import TracebackType
from urllib.parse import quote, quote_plus

from paceline.client.calls import Place
from paceline.client.events import Event, Loading, Note
from paceline.errors import PacelineError

HIDDEN = "[key]"
LEAST = 4  # characters of a short key that are hidden; of fewer nobody learns much, and words have them by chance
ENOUGH = 8  # and of a long one
SCHEME = "Bearer "
SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)  # some servers change the case


class Discretion:
    """A context that keeps the key of a place out of the errors that leave it, and out of what led to them."""

    def __init__(self, place: Callable[[], Place | None]) -> None:
        """`place`: where was asked, once that is known."""
        self._place = place

    def __enter__(self) -> "Discretion":
        """What comes from a server is read from now on."""
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: TracebackType | None) -> None:
        """The error goes on, without the key."""
        seen: set[int] = set()
        while isinstance(error, Exception) and id(error) not in seen:
            seen.add(id(error))
            error.args = tuple(self.text(each) if isinstance(each, str) else each for each in error.args)
            if isinstance(error, PacelineError):
                error.message, error.hint = self.text(error.message), self.text(error.hint)
            error = error.__cause__ or error.__context__

    def text(self, text: str) -> str:
        """The text without the key: without whatever is half of it, or long enough to be no chance."""
        place = self._place()
        return hidden(text, place.headers.get("Authorization", "").removeprefix(SCHEME)) if place is not None else text

    def event(self, event: Event) -> Event:
        """An event whose text is the server's, and not the model's, without the key."""
        return replace(event, text=self.text(event.text)) if isinstance(event, (Note, Loading)) else event


def hidden(text: str, key: str) -> str:
    """The text with HIDDEN in the place of a key, in each of its spellings, and of any larger part of it."""
    if not key:
        return text
    least = min(len(key), max(LEAST, min(ENOUGH, len(key) // 2)))
    return "".join(_parts(text, set(spellings(key)), least))


def spellings(key: str) -> Iterator[str]:
    """As it is, and as it stands in addresses."""
    yield from (key, quote(key, safe=""), quote(key), quote_plus(key))


def _parts(text: str, forms: set[str], least: int) -> Iterator[str]:
    said, forms = text.translate(SMALL), {form.translate(SMALL) for form in forms}
    at = kept = 0
    while at + least <= len(text):
        end = at + least
        if not any(said[at:end] in form for form in forms):
            at += 1
            continue
        while end < len(text) and any(said[at : end + 1] in form for form in forms):
            end += 1
        yield text[kept:at]
        yield HIDDEN
        at = kept = end
    yield text[kept:]
