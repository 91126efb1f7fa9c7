"""The events of a completion put together: when it holds enough, and the text to insert that comes of it."""

from collections.abc import Callable

from paceline.client.calls import Infilling
from paceline.client.events import Completion, End, Event, Reasoning, Text, Usage
from paceline.client.replies import Reader
from paceline.prompts.fim import LineStop, finish
from paceline.prompts.fim_text import without_special


class Gathering:
    """Takes the events of one completion."""

    def __init__(self, infilling: Infilling, notice: Callable[[Event], None], *, single_line: bool) -> None:
        """`notice` gets what is not the answer: Loading, Note, Progress."""
        self._infilling = infilling
        self._notice = notice
        self._single_line = single_line
        self._stop = LineStop(infilling.prompt)
        self._pieces: list[str] = []
        self._end: End | None = None

    def take(self, event: Event) -> bool:
        """Whether nothing more is needed: the connection may be closed, which ends the computation."""
        if isinstance(event, Text):
            self._pieces.append(event.text)
            return self._single_line and self._stop.feed(event.text)
        if isinstance(event, End):
            self._end = event
        elif not isinstance(event, Reasoning):
            self._notice(event)
        return False

    def completion(self, reader: Reader) -> Completion:
        """What to insert, trimmed as completions on this machine are."""
        prompt = self._infilling.prompt
        text = without_special("".join(self._pieces), self._infilling.ends)
        end = self._end or End("stop", Usage(), {}, reader.model)  # a single line was complete before the answer was
        return Completion(
            text=finish(prompt, text, single_line=self._single_line),
            finish_reason=end.reason,
            usage=end.usage,
            timings=end.timings,
            model=end.model,
            prefix_cut=prompt.prefix_cut + reader.prefix_cut,
            suffix_cut=prompt.suffix_cut + reader.suffix_cut,
        )
