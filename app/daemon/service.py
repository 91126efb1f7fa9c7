"""What a front end can ask for, on top of loaded models: chat, completion, infilling. Knows prompts; knows no wire."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paceline.config import Config, SamplingConfig, Speculation
from paceline.daemon.routing import TARGET, Completer, Route
from paceline.daemon.tokenized import Named, Tokenized
from paceline.engine.engine import Engine, random_seed
from paceline.engine.grammar import Grammar, GrammarConstraint, GrammarVocabulary
from paceline.engine.sampler import Constraint, SamplerSettings
from paceline.engine.sequence import Delta, Finished, FinishReason, Priority, Request
from paceline.engine.stats import Stats
from paceline.engine.status import EngineStatus
from paceline.engine.stream import Sink, Stream
from paceline.engine.vocabulary import Vocabulary
from paceline.errors import SHORTEN, ContextOverflowError, InputError, ModelError
from paceline.prompts import healing
from paceline.prompts.beginnings import barred, is_indented
from paceline.prompts.chat import Message, encode_chat
from paceline.prompts.context import Attachment
from paceline.prompts.fim import Budget, FimPrompt, build_between
from paceline.prompts.healing import VocabularyTrie
from paceline.prompts.lines import find_position
from paceline.prompts.repository import UNNAMED, Repository
from paceline.prompts.stops import MAX_LINES, IndentStop, Stop, StopAt, around, within_indent
from paceline.prompts.trim import finish, kept

Until = Callable[[str], bool]


@dataclass(frozen=True)
class Overrides:
    """What one request asks for instead of the configuration. None: as configured."""

    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    speculation: Speculation | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    repetition_window: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: tuple[tuple[int, float], ...] = ()
    draft_length: int | None = None
    stop: tuple[str, ...] = ()
    priority: Priority | None = None
    supersedes: str = ""
    logprobs: int | None = None
    prompt_seconds: float | None = None
    predict_seconds: float | None = None
    grammar: Grammar | None = None
    strict: bool | None = None
    tell_drafts: bool = False  # pieces of text say who drafted them
    tell_pace: bool = False  # and how fast it goes
    original: str = ""  # the text that the answer reproduces with changes, where that is known
    references: Named = ()  # texts that the answer may quote
    until: Until | None = None  # fed each piece of text; True ends the answer behind it


@dataclass(frozen=True)
class Completion:
    """A finished completion: the text to insert at the cursor."""

    text: str
    finish_reason: FinishReason
    stats: Stats
    prompt: FimPrompt


@dataclass(frozen=True)
class Wish:
    """What somebody wants to have filled in, besides the text around it."""

    stop_at: StopAt = ""
    max_lines: int = MAX_LINES  # of a block
    n_indent: int = 0  # a line that is indented by fewer characters ends the answer
    anchor: int | None = None  # characters typed since a prompt that the cache should know; None: the cursor's line
    place: Repository = UNNAMED
    extra: Sequence[Attachment] = ()  # other files to show
    budget: Budget | None = None  # None: as configured


@dataclass(frozen=True)
class Infill:
    """A completion that can be started: its prompt, and how its answer is trimmed."""

    prompt: FimPrompt
    constraint: Constraint | None
    until: Until | None
    wish: "Wish"
    references: Named = ()  # texts that the answer may quote

    @property
    def tokens(self) -> Sequence[int]:
        """Of the prompt."""
        return self.prompt.tokens

    @property
    def prefix_cut(self) -> int:
        """Characters that were cut from the head."""
        return self.prompt.prefix_cut

    @property
    def suffix_cut(self) -> int:
        """Characters that were cut from the tail."""
        return self.prompt.suffix_cut

    @property
    def n_forced(self) -> int:
        """Characters that stand before the cursor, and that the generated text begins with."""
        return len(self.prompt.forced_text)

    def finish(self, text: str, *, unfinished: bool = False) -> str:
        """What to insert at the cursor, given the generated text, the forced beginning included.

        unfinished: it breaks off somewhere.
        """
        if self.wish.n_indent:
            text = within_indent(text, self.wish.n_indent)
        return finish(self.prompt, text, self.wish.stop_at, max_lines=self.wish.max_lines, unfinished=unfinished)

    def kept(self, text: str, final: str) -> tuple[int, int]:
        """Which characters of the generated text are in what came of it."""
        return kept(self.prompt, text, final)


class Service:
    """Chat and completion for one loaded pair."""

    def __init__(
        self,
        engine: Engine,
        config: Config,
        model: str,
        *,
        draft_engine: Callable[[], Engine] | None = None,
        draft_fault: str = "",
        route: Route = TARGET,
        notes: Sequence[str] = (),
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        """draft_engine: makes, once, an engine on which the draft model answers for itself, where `route` says so.
        draft_fault: why there is none to be asked for by name. at_end: called before the models are freed.
        """
        self._engine = engine
        self._draft_fault = draft_fault
        self._completer = Completer(engine, draft_engine, route)
        self.config = config
        self.model = model
        self.route = route
        self.notes = tuple(notes)
        self.loaded_at = time.time()
        self._at_end = at_end
        self._tries: dict[int, VocabularyTrie] = {}  # by id of the vocabulary
        self._grammars = GrammarVocabulary(engine.target.vocabulary)
        self._tokenized = Tokenized(self.n_ctx)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target's tokens."""
        return self._engine.target.vocabulary

    @property
    def n_ctx(self) -> int:
        """Tokens of context, which all requests share."""
        return self._engine.target.capabilities.n_ctx

    def status(self) -> EngineStatus:
        """What the engine is doing."""
        return self._engine.status()

    def encode_chat(
        self, messages: Sequence[Message], extra: Mapping[str, Any] | None = None, unfinished: str = ""
    ) -> list[int]:
        """A conversation's tokens; `extra`: variables for the template. `unfinished`: how the answer begins.

        Raises ModelError (no usable template), and ContextOverflowError where it is told without tokenizing.
        """
        vocabulary, texts = self.vocabulary, [*(message.content for message in messages), unfinished]
        least = len(texts)  # and what a template writes around each
        if sum(map(len, texts)) > self.n_ctx:
            least = max(least, vocabulary.least_tokens(texts))
        if least >= self.n_ctx:
            raise ContextOverflowError(least, self.n_ctx - 1, SHORTEN, at_least=True)
        return encode_chat(
            vocabulary.chat_template,
            messages,
            vocabulary,
            bos=vocabulary.text_of(vocabulary.bos),
            eos=vocabulary.text_of(vocabulary.eos),
            extra=extra,
            unfinished=unfinished,
        )

    def chat(self, messages: Sequence[Message], overrides: Overrides = Overrides(), sink: Sink | None = None) -> Stream:
        """Stream an answer. Raises ModelError (no usable template), ContextOverflowError, BusyError."""
        return self.generate(self.encode_chat(messages), overrides, sink)

    def generate(
        self,
        prompt: Sequence[int],
        overrides: Overrides = Overrides(),
        sink: Sink | None = None,
        *,
        default_max_tokens: int | None = None,
    ) -> Stream:
        """Continue tokens. Raises InputError, ContextOverflowError, BusyError, EngineError."""
        constraint = None if overrides.grammar is None else GrammarConstraint(overrides.grammar, self._grammars)
        max_tokens = default_max_tokens or self.config.ask.max_tokens
        request = self._request(prompt, overrides, max_tokens, "chat", constraint, overrides.until)
        return self._engine.submit(self._helped(request, overrides, overrides.references, self.vocabulary), sink)

    def prepare_infill(
        self, prefix: str, suffix: str, wish: Wish | None = None, *, typed: str = "", until: Until | None = None
    ) -> Infill:
        """A completion between two texts. typed: what of the middle stands there already.

        Raises ModelError when the model cannot infill.
        """
        vocabulary, settings = self._completer().target.vocabulary, self.config.complete
        wish = wish or Wish()
        budget = wish.budget or Budget(settings.prefix_tokens, settings.suffix_tokens)
        prompt = build_between(
            prefix + typed, suffix, vocabulary, budget, wish.extra, anchor=wish.anchor, place=wish.place
        )
        here = around(prompt.before, prompt.after, prompt.language)
        ends = [until] if until else []
        ends += [Stop(prompt.forced_text, here, wish.stop_at, wish.max_lines).feed]
        ends += [IndentStop(prompt.typed, wish.n_indent).feed] if wish.n_indent else []
        constraint = self._beginning(prompt, wish, vocabulary)
        references = tuple((each.name, each.text) for each in wish.extra)
        return Infill(prompt, constraint, _any_of(ends), wish, references)

    def _beginning(self, prompt: FimPrompt, wish: Wish, vocabulary: Vocabulary) -> Constraint | None:
        """How the answer has to begin; None: in any way."""
        words, flush = list[bytes](), False
        if wish.stop_at:
            words = [word.encode() for word in barred(prompt.before, prompt.after, wish.place.path)]
            flush = is_indented(prompt.before, prompt.after)
        if not (prompt.forced or words or flush):
            return None
        return healing.Constraint(self._trie(vocabulary), prompt.forced, words, flush=flush)

    def start_infill(self, infill: Infill, overrides: Overrides = Overrides(), sink: Sink | None = None) -> Stream:
        """Generate the middle. Raises InputError, ContextOverflowError, BusyError, EngineError."""
        if overrides.grammar is not None:
            raise InputError("a grammar cannot be used for infilling", "leave out grammar and json_schema")
        max_tokens = self.config.complete.max_tokens
        request = self._request(infill.tokens, overrides, max_tokens, "completion", infill.constraint, infill.until)
        completer = self._completer()
        references = [*infill.references, *overrides.references]
        request = self._helped(request, overrides, references, completer.target.vocabulary)
        if completer is not self._engine:
            self._engine.make_way(request.priority)
        return completer.submit(request, sink)

    def complete(
        self,
        document: str,
        line: int,
        column: int,
        *,
        single_line: bool = False,
        overrides: Overrides = Overrides(),
    ) -> Completion:
        """One completion at a position (1-based, columns in characters); waits for it.

        Raises InputError (position outside the document), ModelError (the model cannot infill).
        """
        _, cursor = find_position(document, line, column)
        wish = Wish("line" if single_line else "")
        return self.complete_between(document[:cursor], document[cursor:], wish, overrides)

    def complete_between(
        self, prefix: str, suffix: str, wish: Wish = Wish(), overrides: Overrides = Overrides()
    ) -> Completion:
        """One completion between two texts; waits for it. Raises ModelError (the model cannot infill)."""
        infill = self.prepare_infill(prefix, suffix, wish)
        text, end = gather(self.start_infill(infill, overrides))
        final = infill.finish(text, unfinished=end.reason == "length")
        return Completion(final, end.reason, end.stats, infill.prompt)

    def close(self) -> None:
        """Free the models."""
        self._at_end()
        if self._completer.made is not None and self._completer.made is not self._engine:
            self._completer.made.close()
        self._engine.close()

    def _trie(self, vocabulary: Vocabulary) -> VocabularyTrie:
        found = self._tries.get(id(vocabulary))
        if found is None:
            found = self._tries[id(vocabulary)] = VocabularyTrie(vocabulary.pieces)
        return found

    def _request(
        self,
        prompt: Sequence[int],
        overrides: Overrides,
        max_tokens: int,
        priority: Priority,
        constraint: Constraint | None,
        until: Until | None,
    ) -> Request:
        if overrides.speculation == "draft" and self._draft_fault:
            raise ModelError(f"no draft model: {self._draft_fault}", "choose a pair, or leave the drafting to Paceline")
        seed = random_seed() if overrides.seed is None else overrides.seed
        return Request(
            prompt=prompt,
            max_tokens=overrides.max_tokens or max_tokens,
            sampler=sampler_settings(self.config.sampling, overrides, seed),
            seeded=overrides.seed is not None,
            stop=overrides.stop,
            speculation=overrides.speculation or self.config.engine.speculation,
            constraint=constraint,
            until=until,
            draft_length=overrides.draft_length,
            priority=overrides.priority or priority,
            supersedes=overrides.supersedes,
            logprobs=overrides.logprobs,
            prompt_seconds=overrides.prompt_seconds,
            predict_seconds=overrides.predict_seconds,
            strict=self.config.engine.strict if overrides.strict is None else overrides.strict,
            tell_drafts=overrides.tell_drafts,
            tell_pace=overrides.tell_pace,
        )

    def _helped(self, request: Request, overrides: Overrides, references: Named, vocabulary: Vocabulary) -> Request:
        """The request with the tokens of texts that help to guess its answer, where somebody may guess from texts."""
        if request.speculation not in ("auto", "ngram") or not (overrides.original or references):
            return request
        original = self._tokenized.tokens(overrides.original, vocabulary)
        return replace(request, original=original, references=self._tokenized.together(references, vocabulary))


def sampler_settings(config: SamplingConfig, overrides: Overrides, seed: int) -> SamplerSettings:
    """The engine's settings from the configuration and what one request changes."""

    def pick(name: str, configured: Any) -> Any:  # noqa: ANN401 - each has its own kind
        wanted = getattr(overrides, name)
        return configured if wanted is None else wanted

    return SamplerSettings(
        temperature=pick("temperature", config.temperature),
        top_k=pick("top_k", config.top_k),
        top_p=pick("top_p", config.top_p),
        min_p=pick("min_p", config.min_p),
        repetition_penalty=pick("repetition_penalty", config.repetition_penalty),
        repetition_window=pick("repetition_window", config.repetition_window),
        presence_penalty=pick("presence_penalty", 0.0),
        frequency_penalty=pick("frequency_penalty", 0.0),
        logit_bias=overrides.logit_bias,
        seed=seed,
    )


def gather(stream: Stream) -> tuple[str, Finished]:
    """The whole text of a stream, and how it ended."""
    parts: list[str] = []
    for event in stream:
        if isinstance(event, Delta):
            parts.append(event.text)
        elif isinstance(event, Finished):
            return "".join(parts), event
    raise AssertionError("a stream ends with Finished or an exception")


def _any_of(ends: Sequence[Until]) -> Until | None:
    """Says yes when one of them does; each is fed everything."""
    if not ends:
        return None
    return lambda text: sum(end(text) for end in ends) > 0
