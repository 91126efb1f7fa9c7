"""The engine in this process, for one request after the other: what answers are compared with."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.daemon import assembly
from paceline.daemon.service import Overrides, Service, gather
from paceline.engine.vocabulary import Vocabulary
from paceline.prompts.chat import Message
from paceline.prompts.context import Attachment
from support.real_daemon import RealDaemon


@contextlib.contextmanager
def alone(daemon: RealDaemon) -> Iterator["Alone"]:
    """The daemon's models, with its configuration and measurements."""
    config = daemon.config
    draft = None if config.models.draft == "none" else Path(config.models.draft)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", daemon.variables["XDG_STATE_HOME"])
        installed = assembly.inspect(Path(config.models.target), draft, config)
        service = Service(assembly.load(installed, lambda _: None), config, "alone")
        try:
            yield Alone(service)
        finally:
            service.close()


class Alone:
    """Answers what the API's bodies ask for. Knows as many of their fields as the tests use."""

    def __init__(self, service: Service) -> None:
        self.service = service

    @property
    def vocabulary(self) -> Vocabulary:
        return self.service.vocabulary

    def answer(self, path: str, body: dict) -> str:
        """The text."""
        return {"/v1/chat/completions": self._chat, "/infill": self._infill}.get(path, self._complete)(body)

    def _chat(self, body: dict) -> str:
        messages = [Message(each["role"], each["content"]) for each in body["messages"]]
        return gather(self.service.chat(messages, _overrides(body)))[0]

    def _complete(self, body: dict) -> str:
        tokens = self.vocabulary.encode(body["prompt"], special=True, bos=True)
        return gather(self.service.generate(tokens, _overrides(body)))[0]

    def _infill(self, body: dict) -> str:
        infill = self.service.prepare_infill(
            body["input_prefix"],
            body["input_suffix"],
            typed=body.get("prompt", ""),
            extra=[Attachment(each["filename"], each["text"]) for each in body.get("input_extra", ())],
        )
        return infill.finish(gather(self.service.start_infill(infill, _overrides(body)))[0])


def _overrides(body: dict) -> Overrides:
    return Overrides(
        max_tokens=body.get("max_tokens", body.get("n_predict")),
        temperature=body.get("temperature"),
        seed=body.get("seed"),
        speculation=body.get("speculation"),
    )
