"""What has been suggested, so that typing what the ghost text says costs nothing.

An entry belongs to the text on both sides of the cursor, as far as a model looks at it. It is found again at its own
place, and further on while the person types what it says.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from paceline.lsp.place import Place

NEAR = 4096  # characters on each side that must be the same
KEPT = 256  # entries
ALIKE = 12  # characters by which a text is found in another one
CLOSERS = frozenset(")]}>\"'`;,:")  # what editors insert by themselves behind what is typed
# Tokens of a suggestion that have to be likely, all together. At a threshold of -2.0 nats Qwen2.5-Coder shows 94 % of
# what is right (0.5B; 97 % with the 1.5B) and keeps back 40 % of what is not (tests/bench/quiet).
BEGINNING = 8
Key = tuple[str, str, str, int]  # text before and after, model, seed


@dataclass(frozen=True)
class Suggestion:
    """Text that fits in at a place."""

    text: str  # "": there is nothing to say here, which is worth knowing, too
    before: str  # up to NEAR characters before the place
    after: str  # and after it
    model: str = ""
    logprobs: tuple[float, ...] = ()  # of its tokens, in nats; may be empty
    tokens: tuple[str, ...] = ()  # what they say; those at its end may say more than is left of it
    prefetched: bool = False  # computed before anybody asked, and not shown yet
    seed: int = 0  # that it was drawn with, beside what is likeliest; 0: it is what is likeliest


@dataclass(frozen=True)
class Found:
    """An entry, and what of it is left at the place that was asked about."""

    suggestion: Suggestion
    rest: str
    typed: str  # of its text, since it was made
    closers: str  # what the editor has put behind the cursor meanwhile

    @property
    def logprobs(self) -> tuple[float, ...]:
        """Of its tokens from where the next few are likeliest, in nats: from its beginning, or from further on, as far
        as they have been typed. A person who has typed what the model was not sure of has made up for that; and what
        was likely enough once stays so.
        """
        said = self.suggestion
        logprobs, at = said.logprobs, _begin(said.text, "".join(said.tokens))
        best = logprobs
        for number, token in enumerate(said.tokens[: len(logprobs)], 1):
            at += len(token)
            if at > len(self.typed) or number == len(logprobs):
                break
            best = max(best, logprobs[number:], key=lambda each: sum(each[:BEGINNING]))
        return best


class Suggestions:
    """The latest of them, of all documents and models."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._entries: OrderedDict[str, OrderedDict[Key, Suggestion]] = OrderedDict()

    def add(self, uri: str, suggestion: Suggestion) -> None:
        """Remember one; a newer one for the same place replaces an older one."""
        entries = self._entries.setdefault(uri, OrderedDict())
        self._entries.move_to_end(uri)
        key = _key(suggestion)
        if suggestion.prefetched and key in entries:
            return  # somebody has asked for it meanwhile
        entries.pop(key, None)
        entries[key] = suggestion
        while sum(map(len, self._entries.values())) > self._kept:
            oldest = next(iter(self._entries))
            self._entries[oldest].popitem(last=False)
            if not self._entries[oldest]:
                del self._entries[oldest]

    def find(self, place: Place, *models: str) -> Found | None:
        """What one of these models said for this place: the entry of which most has been typed, the newest of several.

        One without text is found at its own place only. One that was drawn is found where something of it has been
        typed, unless what is likeliest goes on like that as well.
        """
        best: Found | None = None
        for found in self._fitting(place, models):
            if found.suggestion.seed and not found.typed:
                continue
            if best is None or _merit(found) > _merit(best):
                best = found
        return best

    def drawn(self, place: Place, *models: str) -> dict[int, Found]:
        """What was drawn for this very place, by seed."""
        found = dict[int, Found]()
        for each in self._fitting(place, models):
            if each.suggestion.seed and not (each.typed or each.closers):
                found.setdefault(each.suggestion.seed, each)
        return found

    def shown(self, uri: str, found: Found) -> Found:
        """A person is shown what was found. Whether it was computed before anybody asked matters once only."""
        known = self._entries.get(uri, OrderedDict())
        key = _key(found.suggestion)
        if not found.suggestion.prefetched or known.get(key) is not found.suggestion:
            return found
        known[key] = replace(found.suggestion, prefetched=False)
        return replace(found, suggestion=known[key])

    def forget(self, uri: str) -> None:
        """The document is closed."""
        self._entries.pop(uri, None)

    def clear(self) -> None:
        """Nothing of it holds any more: another model, other settings."""
        self._entries.clear()

    def _fitting(self, place: Place, models: Sequence[str]) -> Iterator[Found]:
        """The newest first."""
        wanted = models or ("",)
        for suggestion in reversed(self._entries.get(place.uri, OrderedDict()).values()):
            found = advanced(suggestion, place.before, place.after) if suggestion.model in wanted else None
            if found is not None:
                yield found


def _key(suggestion: Suggestion) -> Key:
    return suggestion.before, suggestion.after, suggestion.model, suggestion.seed


def _merit(found: Found) -> tuple[int, bool]:
    return len(found.typed), not found.suggestion.seed


def made(
    place: Place, text: str, model: str = "", logprobs: tuple[float, ...] = (), tokens: tuple[str, ...] = ()
) -> Suggestion:
    """A suggestion for a place."""
    return Suggestion(text, place.before[-NEAR:], place.after[:NEAR], model, logprobs, tokens)


def advanced(suggestion: Suggestion, before: str, after: str) -> Found | None:
    """What is left of a suggestion where the text around the cursor is this; None where it does not fit any more."""
    closers = _closers(suggestion.after, after)
    if closers is None:
        return None
    typed = _typed(suggestion, before)
    if typed is None:
        return None
    if not suggestion.text and (typed or closers):
        return None
    return Found(suggestion, suggestion.text[len(typed) :], typed, closers)


def _typed(suggestion: Suggestion, before: str) -> str | None:
    """What has been typed of the suggestion since it was made; None where something else was."""
    for length in range(len(suggestion.text) + 1):
        if length and not before.endswith(suggestion.text[:length]):
            continue
        earlier = before[: len(before) - length] if length else before
        if _same_end(earlier, suggestion.before):
            return suggestion.text[:length]
    return None


def _same_end(text: str, end: str) -> bool:
    """Whether the last NEAR characters of the text are those."""
    return text.endswith(end) and (len(end) == NEAR or len(text) == len(end))


def _begin(text: str, said: str) -> int:
    """Where in the text what its tokens say begins: not at its start where a token before them had a part of it."""
    for at in range(len(text)):
        part = text[at : at + ALIKE]
        if said[: len(part)] == part:
            return at
    return len(text)


def _closers(then: str, now: str) -> str | None:
    """What closing marks stand behind the cursor that did not; None where something else is different, too."""
    for length in range(min(9, len(now) + 1)):
        head = now[:length]
        if length and head[-1] not in CLOSERS:
            return None
        rest = now[length : length + NEAR]
        if rest == then or (
            len(then) == NEAR and rest.startswith(then[: NEAR - length]) and len(rest) >= NEAR - length
        ):
            return head
    return None
