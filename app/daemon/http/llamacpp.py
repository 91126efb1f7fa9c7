"""POST /completion and POST /infill: the fields and answers of llama.cpp's server (README of tools/server)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET

from paceline.daemon.http import wishes
from paceline.daemon.http.answers import LlamaChunk, LlamaCompletion
from paceline.daemon.http.choice import stop_word
from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.limits import Limits
from paceline.daemon.http.logprobs import Placed, Trail, for_llama
from paceline.daemon.http.run import Job
from paceline.daemon.http.schemas import ExtraFile, InfillRequest, LlamaCompletionRequest, LlamaGeneration
from paceline.daemon.http.texts import Hole, TextTurn, infill_job, text_job
from paceline.engine.sequence import Event, Finished, Prefilled
from paceline.prompts.context import Attachment
from paceline.prompts.fim import Budget
from paceline.prompts.repository import Repository
from paceline.prompts.stops import MAX_LINES

if TYPE_CHECKING:
    from paceline.config import Config
    from paceline.daemon.service import Overrides, Service

NO_SLOT = -1  # the engine's places are its own matter
StopType = Literal["eos", "limit", "word", "cancelled", "superseded"]


class LlamaShape:
    """What both routes share. A request for several answers gets a list of them."""

    route = ""
    ending = b""
    _partial = False  # what fills a hole is told as it comes, too, before it is trimmed

    def __init__(self, body: LlamaGeneration, prompts: int, limits: Limits) -> None:
        """Raises RequestError for what can be told without the model."""
        self._body = body
        self._count = body.n_cmpl or 1
        self._total = prompts * self._count
        wishes.check_jobs(self._total, limits.jobs)
        if body.post_sampling_probs:
            raise RequestError(400, "probabilities are told before sampling settings only", param="post_sampling_probs")
        asked = body.max_tokens if body.n_predict is None else body.n_predict
        self._most = asked if asked is None or asked > 0 else 1 if asked == 0 else None
        self._endless = asked is not None and asked < 0
        self._muted = asked == 0  # only the prompt is to be read
        self._logprobs = body.n_probs or (0 if body.return_tokens and body.stream else None)
        self._prompts: list[list[int]] = []  # by choice, where the answer tells it
        self._settings: list[dict[str, Any]] = []
        self.choices: list[TextTurn] = []

    def prepare(self, service: "Service", priority: str, references: Sequence[ExtraFile] = ()) -> None:
        """What all choices have in common."""
        body = self._body
        if self._muted:  # a client warms the cache; its time limits are for answers
            body = msgspec.structs.replace(body, t_max_prompt_ms=None, t_max_predict_ms=None)
        self._asked = wishes.overrides(
            body,
            service,
            logprobs=self._logprobs,
            grammar=wishes.grammar(body),
            priority="background" if self._muted else priority,
            references=tuple((each.filename, each.text) for each in references) or None,
        )
        self._usual = settings(service.config, service.n_ctx, self._asked)
        self._vocabulary, self._model, self._stops = service.vocabulary, service.model, wishes.stops(body)

    def turn(self, at: int, default: int) -> "tuple[TextTurn, Overrides]":
        """A new choice, `at` within its prompt, and what it asks for. `default`: tokens, where nothing is said."""
        asked = wishes.for_choice(self._asked, at, max_tokens=self._most or default)
        trail = None if self._logprobs is None else Trail(self._vocabulary)
        turn = TextTurn(len(self.choices), trail, muted=self._muted)
        self.choices.append(turn)
        own = {"n_predict": asked.max_tokens, "seed": -1 if asked.seed is None else asked.seed}
        self._settings.append({**self._usual, **own, "stream": bool(self._body.stream)})
        return turn, asked

    def skip(self, model: str) -> None:
        """Choices without a plan."""
        self._model = model
        self._body = msgspec.structs.replace(self._body, n_probs=None)
        self._prompts, self._settings = [[]] * self._total, [{}] * self._total
        self.choices = [TextTurn(index) for index in range(self._total)]

    def take(self, index: int, event: Event) -> Iterator[object]:
        """Chunks for an event, the last of which is the whole answer without its text."""
        turn = self.choices[index]
        said, placed = turn.delta(event)
        if isinstance(event, Prefilled) and self._body.return_progress:
            yield self._chunk(turn, "", [], prompt_progress=turn.progress(event))
        if said or placed:
            yield self._chunk(turn, said, placed)
        elif turn.draft and self._partial:
            yield self._chunk(turn, "", [], draft=turn.draft)
        if isinstance(event, Finished):
            yield self._select(self._whole(turn, content=""))

    def end(self) -> Iterator[object]:
        """Nothing: the last chunk of each choice has it all."""
        return iter(())

    def whole(self) -> object:
        """The answer, or the list of answers."""
        found = [self._select(self._whole(turn, content=turn.content)) for turn in self.choices]
        return found[0] if len(found) == 1 else found

    def _chunk(self, turn: TextTurn, said: str, placed: list[Placed], **more: Any) -> LlamaChunk:  # noqa: ANN401
        return LlamaChunk(
            index=turn.index,
            content=said,
            tokens=[each.chosen.token for each in placed] if self._body.return_tokens else [],
            id_slot=NO_SLOT,
            tokens_predicted=len(turn.told),
            tokens_evaluated=0,
            completion_probabilities=for_llama(placed, self._vocabulary) if self._body.n_probs else UNSET,
            drafter=(said and turn.drafter) or UNSET,
            **more,
        )

    def _whole(self, turn: TextTurn, content: str) -> LlamaCompletion:
        end, stats, infill = turn.end, turn.stats, turn.infill
        word = stop_word(self._vocabulary, end.tokens, turn.shown, self._stops) if end.reason == "stop" else ""
        streamed = bool(self._body.stream)
        prompt = infill.tokens if infill is not None else self._prompts[turn.index]
        return LlamaCompletion(
            index=turn.index,
            content=content,
            tokens=list(end.tokens) if self._body.return_tokens and not streamed else [],
            id_slot=NO_SLOT,
            stop=True,
            model=self._model,
            tokens_predicted=0 if self._muted else stats.predicted_tokens,
            tokens_evaluated=stats.prompt_tokens,
            generation_settings=self._settings[turn.index],
            prompt=wishes.text_of(prompt, self._vocabulary) if prompt and self._tells("prompt") else "",
            has_new_line="\n" in turn.content,
            truncated=stats.context_full,
            stop_type=self._stop_type(end, word),
            stopping_word=word,
            finish_reason=turn.reason,
            tokens_cached=stats.cached_tokens,
            timings=stats.timings(),
            completion_probabilities=(
                for_llama(turn.told, self._vocabulary) if self._body.n_probs and not streamed else UNSET
            ),
            prefix_cut=UNSET if infill is None else infill.prefix_cut,
            suffix_cut=UNSET if infill is None else infill.suffix_cut,
        )

    def _stop_type(self, end: Finished, word: str) -> StopType:
        if end.reason in ("cancelled", "superseded"):
            return end.reason
        if end.reason == "stop" and end.tokens and end.tokens[-1] in self._vocabulary.end_of_generation:
            return "eos"
        return "word" if word else "limit"

    def _tells(self, field: str) -> bool:
        wanted = self._body.response_fields
        return not wanted or field in wanted

    def _select(self, whole: LlamaCompletion) -> object:
        fields = self._body.response_fields
        return selected(msgspec.to_builtins(whole), fields) if fields else whole


class LlamaCompletionShape(LlamaShape):
    """POST /completion."""

    route = "/completion"

    def __init__(self, body: LlamaCompletionRequest, limits: Limits, _: str) -> None:
        self._given = wishes.prompts(body.prompt)
        super().__init__(body, len(self._given), limits)

    def plan(self, service: "Service") -> Sequence[Job]:
        """Every prompt, `n_cmpl` times."""
        self.prepare(service, "chat")
        jobs: list[Job] = []
        for segments in self._given:
            first = len(jobs)
            prompt = wishes.tokens(segments, service.vocabulary, service.n_ctx)
            room = max(1, service.n_ctx - len(prompt))
            for at in range(self._count):
                _, asked = self.turn(at, room)
                self._prompts.append(prompt)
                jobs.append(text_job(prompt, asked, room, first if at else None))
        return jobs


class InfillShape(LlamaShape):
    """POST /infill."""

    route = "/infill"

    def __init__(self, body: InfillRequest, limits: Limits, _: str) -> None:
        super().__init__(body, 1, limits)
        self._request = body
        self._partial = bool(body.partial)

    def plan(self, service: "Service") -> Sequence[Job]:
        """The hole, `n_cmpl` times."""
        body, usual = self._request, service.config.complete
        budget = None
        if body.prefix_tokens is not None or body.suffix_tokens is not None:
            budget = Budget(
                usual.prefix_tokens if body.prefix_tokens is None else body.prefix_tokens,
                usual.suffix_tokens if body.suffix_tokens is None else body.suffix_tokens,
            )
        from paceline.daemon.service import Wish

        wish = Wish(
            stop_at=body.stop_at or ("line" if body.single_line else ""),
            max_lines=body.max_lines or MAX_LINES,
            n_indent=body.n_indent or 0,
            anchor=body.anchor,
            place=Repository(body.repository or "", body.filename or ""),
            extra=tuple(Attachment(each.filename, each.text) for each in body.input_extra or ()),
            budget=budget,
        )
        hole = Hole(body.input_prefix, body.input_suffix, wish, body.prompt or "")
        default = service.n_ctx if self._endless else usual.max_tokens
        self.prepare(service, "completion", body.references or ())
        jobs = []
        for at in range(self._count):
            turn, asked = self.turn(at, default)
            self._prompts.append([])
            jobs.append(infill_job(turn, hole, asked, 0 if at else None))
        return jobs


def settings(config: "Config", n_ctx: int, asked: "Overrides | None" = None) -> dict[str, Any]:
    """What a generation is done with, under llama.cpp's names."""
    usual = config.sampling

    def chosen(name: str, default: Any) -> Any:  # noqa: ANN401
        value = getattr(asked, name, None)
        return default if value is None else value

    return {
        "n_ctx": n_ctx,
        "n_predict": chosen("max_tokens", -1),
        "seed": chosen("seed", -1),
        "temperature": chosen("temperature", usual.temperature),
        "top_k": chosen("top_k", usual.top_k),
        "top_p": chosen("top_p", usual.top_p),
        "min_p": chosen("min_p", usual.min_p),
        "repeat_last_n": chosen("repetition_window", usual.repetition_window),
        "repeat_penalty": chosen("repetition_penalty", usual.repetition_penalty),
        "presence_penalty": chosen("presence_penalty", 0.0),
        "frequency_penalty": chosen("frequency_penalty", 0.0),
        "stop": list(chosen("stop", ())),
        "n_probs": chosen("logprobs", 0),
        "speculation": chosen("speculation", config.engine.speculation),
        "strict": chosen("strict", config.engine.strict),
        "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
    }


def selected(whole: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """The named fields; `a/b` is field b of object a, under that whole name. Missing ones are left out."""
    found: dict[str, Any] = {}
    for path in fields:
        value: Any = whole
        for name in path.split("/"):
            value = value.get(name, UNSET) if isinstance(value, Mapping) else UNSET
        if value is not UNSET:
            found[path] = value
    return found
