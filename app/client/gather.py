"""The events of a completion put together: when it holds enough, and the text to insert that comes of it."""

from collections.abc import Callable
from dataclasses import replace

from paceline.client.calls import Infilling
from paceline.client.events import Completion, Draft, End, Event, Pace, Reasoning, Text, Usage
from paceline.client.replies import Reader
from paceline.prompts.context import language
from paceline.prompts.fim_text import without_special
from paceline.prompts.stops import MAX_LINES, Stop, around
from paceline.prompts.trim import finish, kept


class Gathering:
    """Takes the events of one completion."""

    def __init__(self, infilling: Infilling, notice: Callable[[Event], None]) -> None:
        """`notice` gets what is not the answer: Loading, Note, Progress; and Text as it comes, where that is wanted."""
        options = infilling.options
        prompt = replace(infilling.prompt, language=language(options.filename))
        self._infilling = replace(infilling, prompt=prompt)
        self._notice = notice
        self._max_lines = options.max_lines or MAX_LINES
        self._stop = Stop("", around(prompt.before, prompt.after, prompt.language), infilling.stop_at, self._max_lines)
        self._pieces: list[str] = []
        self._drafted = False
        self._end: End | None = None

    def take(self, event: Event) -> bool:
        """Whether nothing more is needed: the connection may be closed, which ends the computation."""
        if isinstance(event, Draft):
            self._drafted = True
            self._tell(event.text)
        elif isinstance(event, Text):
            self._pieces.append(event.text)
            if not self._drafted:
                self._tell(event.text)
            return self._stop.feed(event.text)
        elif isinstance(event, End):
            self._end = event
        elif not isinstance(event, (Reasoning, Pace)):
            self._notice(event)
        return False

    def completion(self, reader: Reader) -> Completion:
        """What to insert, trimmed as completions on this machine are."""
        prompt, options = self._infilling.prompt, self._infilling.options
        raw = "" if options.warm else without_special("".join(self._pieces), self._infilling.ends)
        end = self._end or End("stop", Usage(), {}, reader.model)  # a single line was complete before the answer was
        text = finish(
            prompt,
            raw,
            self._infilling.stop_at,
            max_lines=self._max_lines,
            unfinished=end.reason == "length" and not reader.trims,
        )
        chances = self._chances(reader, raw, text) if options.logprobs else []
        return Completion(
            text=text,
            finish_reason=end.reason,
            usage=end.usage,
            timings=end.timings,
            model=end.model,
            prefix_cut=prompt.prefix_cut + reader.prefix_cut,
            suffix_cut=prompt.suffix_cut + reader.suffix_cut,
            logprobs=tuple(chance for _, chance in chances),
            tokens=tuple(token for token, _ in chances),
        )

    def _chances(self, reader: Reader, raw: str, text: str) -> list[tuple[str, float]]:
        """Of the tokens that begin in what is kept; a server that trims has told no others."""
        if reader.trims:
            return list(reader.chances)
        (begin, end), at, found = kept(self._infilling.prompt, raw, text), 0, list[tuple[str, float]]()
        for token, chance in reader.chances:
            if begin <= at < end:
                found.append((token, chance))
            at += len(token)
        return found

    def _tell(self, text: str) -> None:
        if self._infilling.options.partial:
            self._notice(Text(text))
