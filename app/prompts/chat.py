"""A conversation as the text, and the tokens, that the model was trained to see: its own chat template, rendered."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

from jinja2.exceptions import SecurityError, TemplateSyntaxError

from paceline.errors import InputError, ModelError
from paceline.prompts.meter import Meter, OverBudgetError
from paceline.prompts.sandbox import TemplateRefusalError, TemplateSandbox
from paceline.prompts.tokenizer import Tokenizer
from paceline.text import replace_surrogates, strip_controls

T = TypeVar("T")

MAX_TEMPLATE = 256 * 1024  # characters
MAX_SECONDS = 5.0
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_PRIVATE_USE = (range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
_HINT = "choose another model, or one whose file comes from a publisher that you trust"


@dataclass(frozen=True)
class Message:
    """One turn: `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True)
class Segment:
    """A stretch of rendered text. special: texts of control tokens in it mean those tokens."""

    text: str
    special: bool


def render_chat(
    template: str,
    messages: Sequence[Message],
    *,
    bos: str = "",
    eos: str = "",
    add_generation_prompt: bool = True,
    extra: Mapping[str, Any] | None = None,
    guarded: Iterable[str] = (),
    now: datetime | None = None,
) -> list[Segment]:
    """Render a conversation with a template that nobody has checked.

    bos, eos: texts of these tokens, for the template. extra: further variables of it, such as `tools`.
    guarded: texts that must stay plain text where a message (or `extra`) contains them; each such place becomes a
    segment of its own that is not special. now: what the template takes for the present time.

    A system message that the template refuses or leaves out goes in front of the first user message.
    Raises ModelError when the template is too large, broken, unsafe, without end, or refuses the conversation.
    """
    if len(template) > MAX_TEMPLATE:
        raise ModelError(f"the model's chat template has {len(template)} characters; {MAX_TEMPLATE} are allowed", _HINT)
    variables = {"tools": None, "documents": None, **(extra or {}), "bos_token": bos, "eos_token": eos}
    plain = [{"role": message.role, "content": replace_surrogates(message.content)} for message in messages]
    guard = Guard(guarded, [template, *_strings(plain), *_strings(variables)])

    def attempt(turns: list[dict[str, str]]) -> str:
        values = {**guard.hide(variables), "bos_token": bos, "eos_token": eos}
        values |= {"messages": guard.hide(turns), "add_generation_prompt": add_generation_prompt}
        return _render(template, values, now or datetime.now().astimezone())

    return guard.split(_with_or_without_system(attempt, plain, guard))


def encode_chat(
    template: str | None,
    messages: Sequence[Message],
    tokenizer: Tokenizer,
    *,
    bos: str = "",
    eos: str = "",
    add_generation_prompt: bool = True,
    extra: Mapping[str, Any] | None = None,
    now: datetime | None = None,
    unfinished: str = "",
) -> list[int]:
    """Tokens of a conversation; see render_chat. What the model wants at the front is there exactly once.

    unfinished: how the answer that follows begins; the model goes on behind it.

    template: None or empty for a model that brings none: then ChatML, if the vocabulary has its tokens.
    Raises ModelError as render_chat does, and when there is no template.
    """
    segments = render_chat(
        template or fallback_template(tokenizer),
        messages,
        bos=bos,
        eos=eos,
        add_generation_prompt=add_generation_prompt,
        extra=extra,
        guarded=_controls(tokenizer, _strings([[message.role, message.content] for message in messages] + [extra])),
        now=now,
    )
    tokens = [token for part in segments for token in tokenizer.encode(part.text, special=part.special)]
    tokens += tokenizer.encode(replace_surrogates(unfinished)) if unfinished else []
    front = tokenizer.encode("", bos=True)
    return tokens if tokens[: len(front)] == front else front + tokens


def fallback_template(tokenizer: Tokenizer) -> str:
    """A template for a model that has none. Raises ModelError when its vocabulary doesn't suggest one."""
    if {"<|im_start|>", "<|im_end|>"} <= set(tokenizer.special_texts()):
        return CHATML
    raise ModelError(
        "the model has no chat template, so it cannot be asked questions",
        "it may be a base model, good for completions only: choose an instruct model for questions",
    )


def _controls(tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Texts of control tokens in these texts.

    User-defined tokens are left out: they are the same tokens in any text, and templates may look for them, as
    those of reasoning models do for `</think>`.
    """
    found = [special for special in tokenizer.special_texts() if special and any(special in text for text in texts)]
    return [text for text in found if tokenizer.encode(text) != tokenizer.encode(text, special=True)]


class Guard:
    """Keeps texts of control tokens apart from the template's own while a template is rendered.

    Each text that occurs in what goes in is replaced by one private-use character that occurs nowhere, which comes
    out of the template as it went in, and marks the place in the output.
    """

    def __init__(self, guarded: Iterable[str], everything: Sequence[str]) -> None:
        """everything: all texts that go in, the template included. Raises InputError if no character is left."""
        whole = "\n".join(everything)
        inside = sorted((text for text in set(guarded) if text and text in whole), key=lambda text: (-len(text), text))
        used = set(whole)
        free = (chr(code) for block in _PRIVATE_USE for code in block if chr(code) not in used)
        self._marks = dict(zip(inside, free, strict=False))
        if len(self._marks) < len(inside):
            raise InputError("the text uses every private-use character of Unicode", "take some of them out")
        self._texts = {mark: text for text, mark in self._marks.items()}
        self._find = re.compile("|".join(map(re.escape, inside)) or r"(?!)")
        self._split = re.compile(f"([{''.join(self._texts)}])" if self._texts else r"(?!)")

    def hide(self, value: T) -> T:
        """The value with marks for guarded texts, in strings, lists, tuples and mappings."""
        hidden: object = value
        if isinstance(value, str):
            hidden = self._find.sub(lambda found: self._marks[found[0]], value)
        elif isinstance(value, Mapping):
            hidden = {self.hide(key): self.hide(item) for key, item in value.items()}
        elif isinstance(value, (list, tuple)):
            hidden = [self.hide(item) for item in value]
        return cast(T, hidden)

    def split(self, rendered: str) -> list[Segment]:
        """The output in segments, with the guarded texts in their places again."""
        parts = [part for part in self._split.split(rendered) if part]
        return [Segment(self._texts.get(part, part), part not in self._texts) for part in parts]


def _with_or_without_system(
    attempt: Callable[[list[dict[str, str]]], str], turns: list[dict[str, str]], guard: Guard
) -> str:
    """The output for the turns, or, where the template has no place for system messages, for the folded turns."""
    folded = fold_system(turns)
    try:
        rendered = attempt(turns)
    except ModelError as error:
        if folded == turns or not isinstance(error.__cause__, TemplateRefusalError):
            raise
        return attempt(folded)
    told = [guard.hide(turn["content"].strip()) for turn in turns if turn["role"] == "system"]
    return rendered if all(text in rendered for text in told) else attempt(folded)


def fold_system(turns: list[dict[str, str]]) -> list[dict[str, str]]:
    """The turns without system messages, whose text goes in front of the first user message (or becomes one)."""
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    rest = [turn for turn in turns if turn["role"] != "system"]
    if len(rest) == len(turns):
        return turns
    first = next((at for at, turn in enumerate(rest) if turn["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *rest]
    asked = {"role": "user", "content": f"{system}\n\n{rest[first]['content']}"}
    return [*rest[:first], asked, *rest[first + 1 :]]


def _render(template: str, variables: Mapping[str, Any], now: datetime) -> str:
    """The template's output. Every failure becomes a ModelError, with what Jinja or Python raised as its cause."""
    meter = Meter(sum(map(len, _strings(variables))), MAX_SECONDS)
    try:
        return TemplateSandbox(meter, now).render(template, variables)
    except TemplateRefusalError as error:
        said = _line(error) or "no reason given"
        raise ModelError(
            f"the model's chat template refuses this conversation: {said}",
            "most templates want user and assistant to take turns, the user first and last",
        ) from error
    except OverBudgetError as error:
        raise ModelError(f"the model's chat template was stopped: {error}", _HINT) from error
    except SecurityError as error:
        raise ModelError(f"the model's chat template tries something unsafe: {_line(error)}", _HINT) from error
    except TemplateSyntaxError as error:
        raise ModelError(
            f"the model's chat template is broken in line {error.lineno}: {_line(error.message)}", _HINT
        ) from error
    except Exception as error:  # a template can make Python raise anything
        raise ModelError(f"the model's chat template fails: {_line(error) or type(error).__name__}", _HINT) from error


def _line(said: object) -> str:
    """What a template says, safe and short enough for one line of a terminal."""
    return " ".join(strip_controls(str(said)).split())[:200]


def _strings(value: object) -> list[str]:
    """All strings in the value, however deep."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    return [text for item in value for text in _strings(item)] if isinstance(value, (list, tuple)) else []
