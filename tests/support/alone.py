"""The engine in this process, for one request after the other: what answers are compared with."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from paceline.daemon import assembly
from paceline.daemon.service import Overrides, Service, sampler_settings
from paceline.daemon.service import Wish as Filling
from paceline.engine.backend import Span
from paceline.engine.llama import LlamaBackend
from paceline.engine.noise import gumbel
from paceline.engine.sampler import Constraint, distribution
from paceline.engine.sequence import Delta
from paceline.engine.stream import Stream
from paceline.plan import LoadOptions
from paceline.prompts.chat import Message
from paceline.prompts.context import Attachment
from support.real_daemon import RealDaemon

# In logits. Company moves the lead of the tiny model's first choice by up to 0.008, as the cache's 16 bits are rounded
# in another order.
MARGIN = 0.02


@contextlib.contextmanager
def alone(daemon: RealDaemon) -> Iterator["Alone"]:
    """The daemon's models, with its configuration and measurements."""
    config = daemon.config
    target = Path(config.models.target)
    draft = None if config.models.draft == "none" else Path(config.models.draft)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", daemon.variables["XDG_STATE_HOME"])
        installed = assembly.inspect(target, draft, config)
        service = Service(assembly.load(installed, lambda _: None), config, "alone")
        weights = LlamaBackend(target, LoadOptions(n_ctx=4096, n_batch=512, n_threads=1))
        try:
            yield Alone(service, weights)
        finally:
            weights.close()
            service.close()


@dataclass(frozen=True)
class Answer:
    """What the engine said, and by how much each of its tokens was preferred to the second best."""

    text: str
    margin: float


@dataclass(frozen=True)
class Wish:
    """A request, and the answer of an engine that has nothing else to do."""

    path: str
    body: dict
    expected: str


class Alone:
    """Answers what the API's bodies ask for. Knows as many of their fields as the tests use."""

    def __init__(self, service: Service, weights: LlamaBackend) -> None:
        self.service = service
        self._weights = weights

    def answer(self, path: str, body: dict) -> Answer:
        return {"/v1/chat/completions": self._chat, "/infill": self._infill}.get(path, self._complete)(body)

    def steady(self, wishes: Iterable[tuple[str, dict]]) -> Wish:
        """The first request whose answer hangs by no thread: where two tokens are equally likely, rounding decides."""
        for path, body in wishes:
            answer = self.answer(path, {**body, "speculation": "off"})
            if answer.margin > MARGIN and answer.text:
                return Wish(path, body, answer.text)
        raise AssertionError("none of these answers is steady")

    def _chat(self, body: dict) -> Answer:
        prompt = self.service.encode_chat([Message(each["role"], each["content"]) for each in body["messages"]])
        return self._gather(self.service.generate(prompt, _overrides(body)), prompt, body)

    def _complete(self, body: dict) -> Answer:
        prompt = self.service.vocabulary.encode(body["prompt"], special=True, bos=True)
        return self._gather(self.service.generate(prompt, _overrides(body)), prompt, body)

    def _infill(self, body: dict) -> Answer:
        def prepare():
            return self.service.prepare_infill(
                body["input_prefix"],
                body["input_suffix"],
                Filling(extra=[Attachment(each["filename"], each["text"]) for each in body.get("input_extra", ())]),
                typed=body.get("prompt", ""),
            )

        infill = prepare()
        stream = self.service.start_infill(infill, _overrides(body))
        found = self._gather(stream, infill.tokens, body, prepare().constraint)
        return Answer(infill.finish(found.text), found.margin)

    def _gather(
        self, stream: Stream, prompt: Sequence[int], body: dict, constraint: Constraint | None = None
    ) -> Answer:
        events = list(stream)
        text = "".join(event.text for event in events if isinstance(event, Delta))
        tokens = events[-1].tokens
        margins = [float("inf")]
        settings = sampler_settings(self.service.config.sampling, _overrides(body), body.get("seed", 0))
        for at, row in enumerate(self._rows([*prompt, *tokens[:-1]], len(tokens))):
            allowed = constraint.allowed() if constraint is not None else None
            if settings.greedy:
                scores = row if allowed is None else row[allowed]
            else:
                found = distribution(row, settings, (), allowed)
                noise = gumbel(settings.seed, len(prompt) + at, found.ids)
                scores = settings.temperature * (np.log(found.probabilities) + noise)
            if len(scores) > 1:
                second, first = np.sort(scores)[-2:]
                margins.append(float(first - second))
            if constraint is not None:
                constraint.advance(tokens[at])
        return Answer(text, min(margins))

    def _rows(self, tokens: Sequence[int], outputs: int) -> np.ndarray:
        """Logits behind each of the last `outputs` tokens, one after the other, as the engine computes them: a pass
        over all of them would move what is measured by more than company does.
        """
        self._weights.truncate(0, 0)
        known = len(tokens) - outputs + 1
        for at in range(0, known, 512):
            part = tokens[at : min(known, at + 512)]
            rows = [np.array(self._weights.decode([Span(0, at, part, int(at + len(part) == known))]))]
        for at in range(known, len(tokens)):
            rows.append(np.array(self._weights.decode([Span(0, at, tokens[at : at + 1], 1)])))
        return np.concatenate(rows)


def _overrides(body: dict) -> Overrides:
    return Overrides(
        max_tokens=body.get("max_tokens", body.get("n_predict")),
        temperature=body.get("temperature"),
        top_k=body.get("top_k"),
        top_p=body.get("top_p"),
        seed=body.get("seed"),
        speculation=body.get("speculation"),
    )
