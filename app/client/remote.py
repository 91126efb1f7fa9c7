"""An engine on somebody else's machine: any server that speaks the OpenAI API (`engine.url`).

Chat goes through /v1/chat/completions. Completions go through llama.cpp's /infill where the server has it, and
otherwise through /v1/completions with the special tokens of the model's family written out as text. Another Paceline
is told what it needs to keep its cache while somebody types.
"""

import ipaddress
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from paceline.client import refusals
from paceline.client.calls import (
    Answer,
    Call,
    Dialect,
    Flow,
    Infilling,
    Place,
    beyond,
    budget_of,
    chat_body,
    completion_body,
    infill_body,
    trimming,
)
from paceline.client.events import Message, Options
from paceline.config import Config
from paceline.errors import ConfigError, ModelError, NetworkError, PacelineError
from paceline.text import replace_surrogates

KEY_VARIABLE = "PACELINE_API_KEY"
KEYRING_SERVICE = "paceline"  # the user name there is the server's origin, such as "https://big.example:8000"
SILENCE = 300.0  # seconds; reading a long prompt may take a slow machine minutes, in which nothing comes
MOST_STOPS = 4  # stop strings that OpenAI allows


class Remote:
    """What a client must know about a server elsewhere; see calls.Engine. Remembers what it has found out."""

    silence: float | None = SILENCE

    def __init__(self, config: Config, environment: Mapping[str, str] = os.environ) -> None:
        """Raises ConfigError when the address or the key cannot be one."""
        url = parse(config.engine.url)
        self._config = config
        self.name = url.netloc
        self._origin = f"{url.scheme}://{url.netloc}"
        self._root = url.path.removesuffix("/v1")
        self._local = on_this_machine(config.engine.url)
        self._model = config.engine.model
        self._dialect: Dialect | None = None
        self._key = key_for(self._origin, environment)

    def place(self) -> Place:
        """The server's address; it is not ours to start."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return Place(self._origin, None, headers, self._local)

    def models(self) -> Flow[tuple[str, ...]]:
        """GET /v1/models."""
        answer = yield Call("GET", f"{self._root}/v1/models")
        if answer.status != 200:
            raise refusals.refusal(answer.status, answer.body, self.name)
        found = _decoded(answer).get("data")
        if not isinstance(found, list):
            raise refusals.not_understood(self.name)
        return tuple(each["id"] for each in found if isinstance(each, dict) and isinstance(each.get("id"), str))

    def chat(self, messages: Sequence[Message], options: Options) -> Flow[Call]:
        """POST /v1/chat/completions."""
        model = yield from self._named()
        dialect = yield from self._spoken()
        body = chat_body(messages, options, self._config, dialect, model)
        return Call("POST", f"{self._root}/v1/chat/completions", body)

    def infill(self, prefix: str, suffix: str, options: Options) -> Flow[Infilling]:
        """POST /infill or /v1/completions. Raises ModelError when the family's template is not known."""
        from paceline.prompts import fim_text

        prefix, suffix = replace_surrogates(prefix), replace_surrogates(suffix)
        model = yield from self._named()
        dialect = yield from self._spoken()
        budget, family = budget_of(options, self._config), fim_text.family_of(model)
        if dialect == "paceline elsewhere":
            prompt = trimming(prefix, suffix, beyond(len(prefix)), beyond(len(suffix)))
            body = infill_body(prompt, prefix, suffix, options, self._config, dialect, model)
            return Infilling(Call("POST", f"{self._root}/infill", body), prompt, options)
        if dialect != "openai":
            head, tail = fim_text.cut(prefix, suffix, budget)
            prompt = trimming(prefix, suffix, head, len(suffix) - tail)
            body = infill_body(prompt, prefix, suffix, options, self._config, dialect, model)
            ends = family.special if family is not None else ()
            return Infilling(Call("POST", f"{self._root}/infill", body), prompt, options, ends)
        if family is None:
            raise ModelError(
                f"it is not known how {model!r} fills in, and {self.name} has no route for it",
                f"use a model of a known family there: {', '.join(fim_text.FAMILIES)}",
            )
        text = fim_text.build(prefix, suffix, family, budget)
        prompt = trimming(prefix, suffix, text.prefix_cut, text.suffix_cut)
        line = options.single_line or options.stop_at == "line"
        newline = ("\n",) if line and prompt.typed.strip() else ()
        stop = [*newline, *options.stop, *family.special][:MOST_STOPS]
        body = completion_body(text.text, options, self._config, stop, model)
        return Infilling(Call("POST", f"{self._root}/v1/completions", body), prompt, options, family.special)

    def cancelling(self, name: str) -> None:
        """Such servers have no route for it."""

    def unreachable(self, why: str) -> PacelineError:
        """Nothing could be sent."""
        return NetworkError(f"cannot reach {self.name}: {why}", "check engine.url, and that the server runs there")

    def broken(self, why: str) -> PacelineError:
        """The answer ended before its end."""
        return NetworkError(f"{self.name} broke off in the middle of the answer: {why}", "ask again")

    def _named(self) -> Flow[str]:
        """The configured model, or the first that the server lists."""
        if not self._model:
            names = yield from self.models()
            if not names:
                raise ModelError(f"{self.name} lists no model", "name one in engine.model")
            self._model = names[0]
        return self._model

    def _spoken(self) -> Flow[Dialect]:
        """What the server understands beyond OpenAI's API: /props is llama.cpp's, and Paceline's. Asked once."""
        if self._dialect is None:
            answer = yield Call("GET", f"{self._root}/props")
            props = _decoded(answer) if answer.status == 200 else {}
            self._dialect = "openai"
            if "default_generation_settings" in props:
                ours = str(props.get("build_info")).startswith("paceline ")
                self._dialect = "paceline elsewhere" if ours else "llama.cpp"
        return self._dialect


def parse(url: str) -> SplitResult:
    """The parts of `engine.url`, whose path ends with /v1 from here on. Raises ConfigError."""
    hint = 'write it like "http://big.example:8000/v1"'
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 - raises when it is no number
    except ValueError as error:
        raise ConfigError(f"engine.url is no address: {error}", hint) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("engine.url is no address of an HTTP server", hint)
    if "@" in parts.netloc or parts.query:
        raise ConfigError("engine.url contains a password or a query", f"keys go into {KEY_VARIABLE} or the keyring")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/v1") else f"{path}/v1", query="", fragment="")


def on_this_machine(url: str) -> bool:
    """Whether asking the server at an address uses no network. Raises ConfigError when it is no address."""
    host = parse(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def key_for(origin: str, environment: Mapping[str, str] = os.environ) -> str:
    """The key for a server: from the environment, else from the keyring if that is installed; "" for none.

    Raises ConfigError for a key that no header can carry; the message does not show it.
    """
    key = environment.get(KEY_VARIABLE, "").strip() or _kept(origin).strip()
    if any(not "!" <= char <= "~" for char in key):
        raise ConfigError(f"the key for {origin} has characters that no key has", f"set {KEY_VARIABLE} again")
    return key


def _kept(origin: str) -> str:
    try:
        import keyring
    except ImportError:
        return ""
    try:
        return keyring.get_password(KEYRING_SERVICE, origin) or ""
    except Exception:  # each backend fails in its own way, and most servers need no key
        return ""


def _decoded(answer: Answer) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
