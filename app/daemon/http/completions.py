"""POST /v1/completions: OpenAI's fields, answers and chunks. `suffix` makes it filling in the middle."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from paceline.daemon.http import answers, sse, wishes
from paceline.daemon.http.answers import TextChoice, TextCompletion
from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.limits import Limits
from paceline.daemon.http.logprobs import Placed, Trail, for_text
from paceline.daemon.http.run import Job
from paceline.daemon.http.schemas import CompletionRequest
from paceline.daemon.http.texts import Hole, TextTurn, infill_job, text_job
from paceline.engine.sequence import Event, Finished, Prefilled

if TYPE_CHECKING:
    from paceline.daemon.service import Service

DEFAULT_MAX_TOKENS = 16  # OpenAI's


class CompletionShape:
    """One request."""

    route = "/v1/completions"
    ending = sse.DONE

    def __init__(self, body: CompletionRequest, limits: Limits, name: str) -> None:
        """`name`: the id that its chunks have. Raises RequestError for what can be told without the model."""
        self._body = body
        self._prompts = wishes.prompts(body.prompt)
        self._count = body.n or 1
        wishes.check_jobs(len(self._prompts) * self._count, limits.jobs)
        if body.echo and body.logprobs is not None:
            raise RequestError(400, "log-probabilities of a prompt cannot be had: echo and logprobs", param="echo")
        if body.suffix and (body.echo or any(not isinstance(part, str) for each in self._prompts for part in each)):
            raise RequestError(400, "suffix goes with prompts that are text, and without echo", param="suffix")
        self._id = name
        self._created = int(time.time())
        self._echoes: list[str] = []  # by prompt
        self._echoed: set[int] = set()
        self.choices: list[TextTurn] = []

    def plan(self, service: "Service") -> Sequence[Job]:
        """Every prompt, `n` times."""
        body, vocabulary = self._body, service.vocabulary
        self._model, self._vocabulary = service.model, vocabulary
        most = None if body.max_tokens is None else max(1, body.max_tokens)
        everyone = wishes.overrides(
            body,
            service,
            max_tokens=most or DEFAULT_MAX_TOKENS,
            logprobs=body.logprobs,
            grammar=wishes.grammar(body, body.response_format),
            priority="completion" if body.suffix else "chat",
        )
        jobs: list[Job] = []
        for segments in self._prompts:
            first = len(jobs)
            prompt = [] if body.suffix else wishes.tokens(segments, vocabulary, service.n_ctx)
            self._echoes.append(wishes.as_text(segments, vocabulary) if body.echo else "")
            for at in range(self._count):
                trail = None if body.logprobs is None else Trail(vocabulary)
                turn = TextTurn(first + at, trail, muted=body.max_tokens == 0)
                self.choices.append(turn)
                asked = wishes.for_choice(everyone, at)
                after = first if at else None
                if body.suffix:
                    hole = Hole("".join(map(str, segments)), body.suffix)
                    jobs.append(infill_job(turn, hole, asked, after))
                else:
                    jobs.append(text_job(prompt, asked, DEFAULT_MAX_TOKENS, after))
        return jobs

    def skip(self, model: str) -> None:
        """Choices without a plan."""
        self._model = model
        self._body = msgspec.structs.replace(self._body, logprobs=None)
        self._echoes = [""] * len(self._prompts)
        self.choices = [TextTurn(index) for index in range(len(self._prompts) * self._count)]

    def take(self, index: int, event: Event) -> Iterator[TextCompletion]:
        """Chunks for an event."""
        turn = self.choices[index]
        said, placed = turn.delta(event)
        if isinstance(event, Prefilled) and self._body.return_progress:
            yield self._answer([TextChoice(index=index, text="")], prompt_progress=turn.progress(event))
        if (said or isinstance(event, Finished)) and index not in self._echoed:
            self._echoed.add(index)
            if echo := self._echo(index):
                yield self._answer([TextChoice(index=index, text=echo)])
        if said or placed:
            logprobs = self._logprobs(placed)
            choice = TextChoice(index=index, text=said, logprobs=logprobs, drafter=(said and turn.drafter) or UNSET)
            yield self._answer([choice])
        if isinstance(event, Finished):
            last = TextChoice(index=index, text="", finish_reason=turn.reason)
            yield self._answer([last], timings=event.stats.timings(), **_cut(turn))

    def end(self) -> Iterator[TextCompletion]:
        """The usage, where it is wanted."""
        options = self._body.stream_options
        if options is not None and options.include_usage:
            yield self._answer([], usage=self._usage(), timings=self.choices[0].stats.timings())

    def whole(self) -> TextCompletion:
        """The answer in one piece."""
        choices = [
            TextChoice(
                index=turn.index,
                text=self._echo(turn.index) + turn.content,
                finish_reason=turn.reason,
                logprobs=None if self._body.logprobs is None else for_text(turn.told, self._vocabulary, 0),
            )
            for turn in self.choices
        ]
        first = self.choices[0]
        return self._answer(choices, usage=self._usage(), timings=first.stats.timings(), **_cut(first))

    def _echo(self, index: int) -> str:
        return self._echoes[index // self._count]

    def _logprobs(self, placed: list[Placed]) -> answers.TextLogprobs | None:
        return for_text(placed, self._vocabulary, 0) if placed else None

    def _usage(self) -> answers.Usage:
        firsts = [turn.stats for turn in self.choices[:: self._count]]
        return answers.usage(firsts, [turn.stats for turn in self.choices])

    def _answer(self, choices: list[TextChoice], **more: Any) -> TextCompletion:  # noqa: ANN401
        wanted = self._body.stream_options is not None and self._body.stream_options.include_usage
        more = {"usage": None, **more} if wanted else more
        return TextCompletion(id=self._id, created=self._created, model=self._model, choices=choices, **more)


def _cut(turn: TextTurn) -> dict[str, Any]:
    """How many characters around a hole the model was not shown."""
    infill = turn.infill
    return {
        "prefix_cut": UNSET if infill is None else infill.prefix_cut,
        "suffix_cut": UNSET if infill is None else infill.suffix_cut,
    }
