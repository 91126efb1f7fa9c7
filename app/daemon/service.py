"""What a front end can ask for, on top of one engine: chat and completion. Knows prompts; knows no terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paceline.config import Config, SamplingConfig, Speculation
from paceline.engine.engine import Engine, Stream, random_seed
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Delta, Finished, FinishReason, Request
from paceline.engine.stats import Stats
from paceline.prompts.chat import Message, encode_chat
from paceline.prompts.fim import Budget, FimPrompt, LineStop, build, finish
from paceline.prompts.healing import Constraint, VocabularyTrie


@dataclass(frozen=True)
class Overrides:
    """What one request asks for instead of the configuration."""

    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    speculation: Speculation | None = None


@dataclass(frozen=True)
class Completion:
    """A finished completion: the text to insert at the cursor."""

    text: str
    finish_reason: FinishReason
    stats: Stats
    prompt: FimPrompt


class Service:
    """Chat and completion for one loaded pair."""

    def __init__(self, engine: Engine, config: Config, model: str) -> None:
        self._engine = engine
        self.config = config
        self._trie: VocabularyTrie | None = None
        self.model = model

    def chat(self, messages: Sequence[Message], overrides: Overrides = Overrides()) -> Stream:
        """Stream an answer. Raises ModelError (no usable template), ContextOverflowError."""
        vocabulary = self._engine.target.vocabulary
        prompt = encode_chat(
            vocabulary.chat_template,
            messages,
            vocabulary,
            bos=vocabulary.text_of(vocabulary.bos),
            eos=vocabulary.text_of(vocabulary.eos),
        )
        return self._engine.submit(self._request(prompt, overrides, self.config.ask.max_tokens))

    def complete(
        self,
        document: str,
        line: int,
        column: int,
        *,
        single_line: bool = False,
        overrides: Overrides = Overrides(),
    ) -> Completion:
        """One completion at a position (1-based, columns in characters).

        Raises InputError (position outside the document), ModelError (the model cannot infill).
        """
        vocabulary, settings = self._engine.target.vocabulary, self.config.complete
        prompt = build(document, line, column, vocabulary, Budget(settings.prefix_tokens, settings.suffix_tokens))
        if self._trie is None and prompt.forced:
            self._trie = VocabularyTrie(vocabulary.pieces)
        stop = LineStop(prompt)
        request = self._request(
            prompt.tokens,
            overrides,
            settings.max_tokens,
            constraint=Constraint(self._trie, prompt.forced) if self._trie and prompt.forced else None,
            until=stop.feed if single_line else None,
        )
        text, end = gather(self._engine.submit(request))
        return Completion(finish(prompt, text, single_line=single_line), end.reason, end.stats, prompt)

    def close(self) -> None:
        """Free the models."""
        self._engine.close()

    def _request(
        self,
        prompt: Sequence[int],
        overrides: Overrides,
        max_tokens: int,
        *,
        constraint: Constraint | None = None,
        until: Callable[[str], bool] | None = None,
    ) -> Request:
        seed = random_seed() if overrides.seed is None else overrides.seed
        return Request(
            prompt=prompt,
            max_tokens=overrides.max_tokens or max_tokens,
            sampler=sampler_settings(self.config.sampling, overrides.temperature, seed),
            seeded=overrides.seed is not None,
            speculation=overrides.speculation or self.config.engine.speculation,
            constraint=constraint,
            until=until,
        )


def sampler_settings(config: SamplingConfig, temperature: float | None, seed: int) -> SamplerSettings:
    """The engine's settings from the configuration and what one request changes."""
    return SamplerSettings(
        temperature=config.temperature if temperature is None else temperature,
        top_k=config.top_k,
        top_p=config.top_p,
        min_p=config.min_p,
        repetition_penalty=config.repetition_penalty,
        repetition_window=config.repetition_window,
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
