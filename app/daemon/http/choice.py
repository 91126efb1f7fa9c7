"""What one stream has said so far."""

import time
from collections.abc import Sequence

from paceline.daemon.http.answers import Finish, Progress
from paceline.engine.sequence import Delta, Event, Finished, Prefilled
from paceline.engine.stats import Stats
from paceline.engine.vocabulary import Vocabulary


class Choice:
    """One answer of a request, as it grows."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.finished: Finished | None = None
        self.drafter = ""  # of the text that the last event brought, where that was asked for
        self._parts: list[str] = []
        self._began = time.perf_counter()
        self._cached: int | None = None

    def take(self, event: Event) -> None:
        """Note an event."""
        self.drafter = event.drafter if isinstance(event, Delta) else ""
        if isinstance(event, Delta):
            self._parts.append(event.text)
        elif isinstance(event, Finished):
            self.finished = event

    @property
    def text(self) -> str:
        """All of it so far."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def reason(self) -> Finish:
        """How it ended."""
        return self.end.reason

    @property
    def end(self) -> Finished:
        """What the stream ended with."""
        assert self.finished is not None, "asked before the end"
        return self.finished

    @property
    def stats(self) -> Stats:
        """Its figures."""
        return self.end.stats

    def progress(self, event: Prefilled) -> Progress:
        """How far the prompt is. The engine's first word about it counts as what the cache had."""
        now = time.perf_counter()
        if self._cached is None:
            self._cached, self._began = event.done, now
        spent, read = (now - self._began) * 1000, event.done - self._cached
        left = round(spent / read * (event.total - event.done), 3) if read > 0 else None
        return Progress(
            total=event.total,
            cache=self._cached,
            processed=event.done,
            time_ms=round(spent, 3),
            time_left_ms=left,
        )


def token_text(vocabulary: Vocabulary, token: int) -> bytes:
    """A token's bytes in the text; a control token's name."""
    return vocabulary.piece(token) or vocabulary.text_of(token).encode()


def stop_word(vocabulary: Vocabulary, tokens: Sequence[int], shown: int, stops: Sequence[str]) -> str:
    """The stop string that ended an answer of which `shown` characters were shown, or ""."""
    whole = b"".join(map(vocabulary.piece, tokens)).decode("utf-8", "replace")
    met = [stop for stop in stops if stop and whole.startswith(stop, shown)]
    return min(met, key=len, default="")
