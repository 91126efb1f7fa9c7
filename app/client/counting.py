"""How many tokens each message of a conversation takes, exactly as the model's chat template renders it.

The template's own words around the messages are found out once, with markers in the place of the messages. Then a
message is rendered among markers, and only its stretch of the prompt is tokenized: what stands between two control
tokens cannot merge with anything outside of them, so the stretches' tokens are the prompt's.
"""

import re
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from typing import Any, Generic, TypeVar

import msgspec

from paceline.client import refusals
from paceline.client.calls import Answer, Call, Flow
from paceline.client.events import Message
from paceline.config import Config
from paceline.daemon.protocol import STATUS
from paceline.text import replace_surrogates

BYTES = 3.5  # of UTF-8 in a token, where nobody counts: code has about so many, prose more
WORDS = 4  # tokens of a template around a message, then
REMEMBERED = 4096  # stretches, by digest: a text of megabytes is measured anew with every key
SHAPES = 8  # of conversations, that is how many messages of whom: each has words for all of them
_UNKNOWN = (404, 405, 501)  # there is no such route


@dataclass(frozen=True)
class Counted:
    """Tokens of a conversation. Each message has the template's words around it."""

    messages: tuple[int, ...]
    frame: int = 0  # the rest: what begins the answer
    estimated: bool = False  # guessed from the length: the server cannot say

    @property
    def total(self) -> int:
        """All of it: the whole prompt."""
        return sum(self.messages) + self.frame


T = TypeVar("T")
_Part = tuple[str, bool]  # a text, and whether it is a message's


@dataclass(frozen=True)
class _Group:
    """Messages whose tokens may merge: from `first` to before `last`, and the template's words around them."""

    first: int
    last: int
    words: tuple[str, ...]  # one more than messages
    skipped: int = 0  # characters of the first words that belong to the group before
    kept: int | None = None  # characters of the last words that belong to this one; None: all

    @property
    def own(self) -> tuple[str, ...]:
        """The words that belong to it."""
        words = list(self.words)
        words[-1] = words[-1][: self.kept]
        words[0] = words[0][self.skipped :]
        return tuple(words)


class _NoRouteError(Exception):
    """The server does not know what it was asked."""


class _OddTemplateError(Exception):
    """The template does more with the messages than to put words around them."""


class _Memory(Generic[T]):
    """The last things that were found out."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: Hashable, value: T) -> T:
        self._kept[key] = value
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value


class Counter:
    """Counts for one engine, and remembers: what was counted before is not sent again. For one event loop."""

    def __init__(self, config: Config) -> None:
        """For the engine that a configuration names, as client.engine_of. Raises ConfigError."""
        self._own = not config.engine.url
        self._root, self._name = "", "the daemon"
        if config.engine.url:
            from paceline.client.remote import parse

            url = parse(config.engine.url)
            self._root, self._name = url.path.removesuffix("/v1"), url.netloc
        self._exact: bool | None = True if self._own else None  # None: not asked yet
        self._front: list[int] | None = None
        self._words = _Memory[tuple[tuple[_Group, ...], str]](SHAPES)
        self._counts = _Memory[list[int]]()
        self._cuts = _Memory[int]()
        self._special = _Memory[bool]()

    def count(self, messages: Sequence[Message]) -> Flow[Counted]:
        """How long a conversation is. Loads the models if need be; raises PacelineError as chat does."""
        if not messages:
            return Counted(())
        plain = [Message(each.role, replace_surrogates(each.content)) for each in messages]
        if self._exact is None:
            yield from self._known()
        if self._exact:
            try:
                return (yield from self._counted(plain))
            except _NoRouteError:
                self._exact = False
        return estimate(plain)

    def context(self) -> Flow[int]:
        """Tokens that fit into the context, prompt and answer together; 0: not known (yet). Loads nothing."""
        if self._own:
            answer = yield Call("GET", STATUS)
            models = _decoded(answer).get("models")
            return _number(models[0].get("n_ctx")) if isinstance(models, list) and models else 0
        props = yield from self._known()
        settings = props.get("default_generation_settings")
        if isinstance(settings, dict):
            return _number(settings.get("n_ctx"))
        answer = yield Call("GET", f"{self._root}/v1/models")
        listed = _decoded(answer).get("data")
        first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
        return _number(first.get("max_model_len")) or _number(first.get("context_length"))

    def _known(self) -> Flow[dict[str, Any]]:
        """What the server says of itself: nothing where it is none of llama.cpp's kind."""
        answer = yield Call("GET", f"{self._root}/props")
        props = _decoded(answer) if answer.status == 200 else {}
        self._exact = "default_generation_settings" in props
        self._own = self._own or str(props.get("build_info", "")).startswith("paceline")
        return props

    def _counted(self, messages: Sequence[Message]) -> Flow[Counted]:
        found: list[int] = []
        try:
            groups, rest = yield from self._groups(tuple(each.role for each in messages))
            for group in groups:
                found += yield from self._group(group, messages)
        except _OddTemplateError:
            return (yield from self._whole(messages))
        return Counted(tuple(found), (yield from self._tokens([(rest, False)])) if rest else 0)

    def _groups(self, roles: tuple[str, ...]) -> Flow[tuple[tuple[_Group, ...], str]]:
        """What a template makes of such messages: groups, and what comes behind the last."""
        known = self._words.get(roles)
        if known is not None:
            return known
        marks = [_mark(at, "") for at in range(len(roles))]
        rendered = yield from self._rendered([Message(role, mark) for role, mark in zip(roles, marks, strict=True)])
        words = _between(rendered, marks)
        if words is None:
            raise _OddTemplateError
        cuts = [0]
        for each in words[1:]:
            cuts.append((yield from self._cut(each)))
        ends = [at for at in range(1, len(roles) + 1) if cuts[at] >= 0]
        if len(roles) not in ends:
            ends.append(len(roles))
        groups, first = [], 0
        for end in ends:
            kept = cuts[end] if cuts[end] >= 0 else None
            groups.append(_Group(first, end, words[first : end + 1], max(0, cuts[first]), kept))
            first = end
        rest = words[-1][cuts[-1] :] if cuts[-1] >= 0 else ""
        return self._words.keep(roles, (tuple(groups), rest))

    def _cut(self, words: str) -> Flow[int]:
        """Offset of the last control token in the template's words between two messages; -1: there is none."""
        if not words:
            return -1
        known = self._cuts.get(words)
        if known is not None:
            return known
        pieces = yield from self._pieces(words)
        starts = [0, *accumulate(len(data) for _, data in pieces)]
        found = -1
        if b"".join(data for _, data in pieces) == words.encode():
            for at in range(len(pieces) - 1, -1, -1):
                if (yield from self._is_special(*pieces[at])):
                    found = len(words.encode()[: starts[at]].decode())
                    break
        return self._cuts.keep(words, found)

    def _is_special(self, token: int, data: bytes) -> Flow[bool]:
        """Whether a text means a control token only where the template writes it."""
        known = self._special.get(token)
        if known is None:
            text = data.decode("utf-8", errors="replace")
            plain = yield from self._ids(text, special=False)
            known = self._special.keep(token, plain != [token])
        return known

    def _group(self, group: _Group, messages: Sequence[Message]) -> Flow[list[int]]:
        """Tokens of each message of a group."""
        mine = messages[group.first : group.last]
        words = group.own
        # some templates show less of an answer once another question follows
        answers = any(each.role == "assistant" for each in mine)
        old = answers and any(each.role == "user" for each in messages[group.last :])
        key = _digest((words, [(each.role, each.content) for each in mine], old, group.first == 0))
        known = self._counts.get(key)
        if known is not None:
            return known
        shown = yield from self._shown(group, messages)
        counts, before, parts = list[int](), 0, list[_Part]()
        for at, content in enumerate(shown):
            parts += [(words[at], False), (content, True)]
            if at + 1 == len(shown):
                parts.append((words[-1], False))
            count = yield from self._tokens(parts)
            counts.append(count - before)
            before = count
        if group.first == 0:
            counts[0] += yield from self._missing("".join(text for text, _ in parts))
        return self._counts.keep(key, counts)

    def _shown(self, group: _Group, messages: Sequence[Message]) -> Flow[list[str]]:
        """What the template makes of the messages of a group, such as without blanks around them."""
        shown: list[str] = []
        for at in range(group.first, group.last):
            content = messages[at].content
            marks = [_mark(each, content) for each in range(len(messages))]
            turns = [Message(each.role, mark) for each, mark in zip(messages, marks, strict=True)]
            turns[at] = messages[at]
            rendered = yield from self._rendered(turns)
            around = _between(rendered, [*marks[:at], *marks[at + 1 :]])
            left, right = group.words[at - group.first], group.words[at - group.first + 1]
            stretch = around[at] if around is not None else ""
            if not (stretch.startswith(left) and stretch.endswith(right) and len(stretch) >= len(left) + len(right)):
                raise _OddTemplateError
            shown.append(stretch[len(left) : len(stretch) - len(right)])
        return shown

    def _whole(self, messages: Sequence[Message]) -> Flow[Counted]:
        """The prompt at once; what belongs to which message is shared out by their length."""
        rendered = yield from self._rendered(messages)
        total = (yield from self._tokens([(rendered, False)])) + (yield from self._missing(rendered))
        guess = estimate(messages)
        scale = min(1.0, total / max(1, guess.total))
        shares = tuple(int(each * scale) for each in guess.messages)
        return Counted(shares, total - sum(shares))

    def _missing(self, text: str) -> Flow[int]:
        """Tokens that the model wants at the front, where a prompt does not have them."""
        if self._front is None:
            self._front = yield from self._ids("", special=True, front=True)
        ids = yield from self._ids(text[:256], special=True)
        return 0 if ids[: len(self._front)] == self._front else len(self._front)

    def _tokens(self, parts: Sequence[_Part]) -> Flow[int]:
        """Tokens of a piece of the prompt. Our own server reads no control tokens in messages."""
        texts: set[str] = set()
        for content in [text for text, message in parts if message and self._own]:
            if (yield from self._has_special(content)):
                for token, data in dict.fromkeys((yield from self._pieces(content))):
                    if (yield from self._is_special(token, data)):
                        texts.add(data.decode("utf-8", errors="replace"))
        if not texts:
            return len((yield from self._ids("".join(text for text, _ in parts), special=True)))
        free, kept = _apart(parts, texts)
        count = len((yield from self._ids(free, special=True)))
        return count + len((yield from self._ids(kept, special=False)))

    def _has_special(self, content: str) -> Flow[bool]:
        if not content:
            return False
        return (yield from self._ids(content, special=True)) != (yield from self._ids(content, special=False))

    def _rendered(self, messages: Sequence[Message]) -> Flow[str]:
        turns = [{"role": each.role, "content": each.content} for each in messages]
        found = yield from self._asked("/apply-template", {"messages": turns})
        return str(found.get("prompt", ""))

    def _ids(self, content: str | list[str], *, special: bool, front: bool = False) -> Flow[list[int]]:
        asked = {"content": content, "add_special": front, "parse_special": special}
        found = (yield from self._asked("/tokenize", asked)).get("tokens")
        if not isinstance(found, list):
            raise refusals.not_understood(self._name)
        return found

    def _pieces(self, text: str) -> Flow[list[tuple[int, bytes]]]:
        asked = {"content": text, "add_special": False, "parse_special": True, "with_pieces": True}
        found = (yield from self._asked("/tokenize", asked)).get("tokens")
        try:
            return [(each["id"], _bytes(each["piece"])) for each in found or ()]
        except (TypeError, KeyError, ValueError) as error:
            raise refusals.not_understood(self._name) from error

    def _asked(self, path: str, body: dict[str, Any]) -> Flow[dict[str, Any]]:
        answer = yield Call("POST", f"{self._root}{path}", msgspec.json.encode(body))
        if answer.status in _UNKNOWN:
            raise _NoRouteError
        if answer.status != 200:
            raise refusals.refusal(answer.status, answer.body, self._name)
        return _decoded(answer)


def estimate(messages: Sequence[Message]) -> Counted:
    """A guess from the length, for servers that do not count."""
    counts = [WORDS + -int(-len(each.content.encode("utf-8", "replace")) // BYTES) for each in messages]
    return Counted(tuple(counts), WORDS if counts else 0, estimated=True)


def _mark(at: int, content: str) -> str:
    """A word that stands for a message and that is no part of this one."""
    name = "Qz7"
    while name in content:
        name += "x7"
    return f"{name}M{at}E"


def _between(rendered: str, marks: Sequence[str]) -> tuple[str, ...] | None:
    """What stands between the marks; None unless each is there once, in order."""
    found, at = [], 0
    for mark in marks:
        place = rendered.find(mark, at)
        if place < 0 or rendered.count(mark) != 1:
            return None
        found.append(rendered[at:place])
        at = place + len(mark)
    return (*found, rendered[at:])


def _apart(parts: Sequence[_Part], texts: set[str]) -> tuple[list[str], list[str]]:
    """A piece of a prompt without texts of control tokens in messages, in its stretches, and these texts."""
    pattern = re.compile("|".join(re.escape(each) for each in sorted(texts, key=lambda each: (-len(each), each))))
    free, kept = [""], list[str]()
    for text, message in parts:
        between = pattern.split(text) if message else [text]
        kept += pattern.findall(text) if message else []
        free[-1] += between[0]
        free += between[1:]
    return [stretch for stretch in free if stretch], kept


def _bytes(piece: str | list[int]) -> bytes:
    return piece.encode() if isinstance(piece, str) else bytes(piece)


def _digest(value: object) -> bytes:
    return blake2b(msgspec.json.encode(value), digest_size=16).digest()


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _decoded(answer: Answer) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
