"""A server with /apply-template and /tokenize, asked without a network: a flow's calls are answered here."""

import json
from collections.abc import Sequence
from typing import TypeVar

from paceline.client.calls import Answer, Call, Flow
from paceline.prompts.chat import Message, encode_chat, render_chat
from support.toy_tokenizer import ToyTokenizer

T = TypeVar("T")


class CountingServer:
    """`guards`: texts of control tokens in messages are plain text, as for our own daemon."""

    def __init__(self, template: str, tokenizer: ToyTokenizer, *, guards: bool = True, context: int = 4096) -> None:
        self.template = template
        self.tokenizer = tokenizer
        self.guards = guards
        self.context = context
        self.missing: set[str] = set()  # addresses that it does not have
        self.calls: list[tuple[str, str]] = []  # addresses and bodies

    def run(self, flow: Flow[T]) -> T:
        try:
            call = next(flow)
            while True:
                call = flow.send(self.answer(call))
        except StopIteration as end:
            return end.value

    def answer(self, call: Call) -> Answer:
        self.calls.append((call.path, (call.body or b"").decode()))
        if call.path in self.missing:
            return Answer(404, b'{"error": {"message": "no such route"}}')
        body = json.loads(call.body) if call.body else {}
        return Answer(200, json.dumps(self.said(call.path, body)).encode())

    def said(self, path: str, body: dict) -> dict:
        if path == "/paceline/status":
            return {"models": [{"id": "toy", "n_ctx": self.context}]}
        if path == "/props":
            about = "paceline 1" if self.guards else "b1"
            return {"default_generation_settings": {"n_ctx": self.context}, "build_info": about}
        if path == "/apply-template":
            return {"prompt": self.rendered(body["messages"])}
        return {"tokens": self.tokens(**body)}

    def rendered(self, messages: Sequence[dict[str, str]]) -> str:
        turns = [Message(each["role"], each["content"]) for each in messages]
        return "".join(part.text for part in render_chat(self.template, turns, bos=self._bos(), eos=""))

    def tokens(self, content: str | list[str], add_special=False, parse_special=True, with_pieces=False) -> list:
        found: list[int] = []
        for at, part in enumerate([content] if isinstance(content, str) else content):
            found += self.tokenizer.encode(part, special=parse_special, bos=add_special and at == 0)
        return [self._piece(token) for token in found] if with_pieces else found

    def exactly(self, messages: Sequence[Message]) -> int:
        """The whole prompt's tokens, made at once: as our daemon does, or llama.cpp's server."""
        if self.guards:
            return len(encode_chat(self.template, messages, self.tokenizer, bos=self._bos()))
        text = self.rendered([{"role": each.role, "content": each.content} for each in messages])
        tokens, front = self.tokenizer.encode(text, special=True), self.tokenizer.encode("", bos=True)
        return len(tokens) + (0 if tokens[: len(front)] == front else len(front))

    def _bos(self) -> str:
        return self.tokenizer.controls[0] if self.tokenizer.wants_bos else ""

    def _piece(self, token: int) -> dict:
        if token >= self.tokenizer.first_control:
            return {"id": token, "piece": self.tokenizer.controls[token - self.tokenizer.first_control]}
        data = self.tokenizer.piece(token)
        try:
            return {"id": token, "piece": data.decode()}
        except UnicodeDecodeError:
            return {"id": token, "piece": list(data)}
