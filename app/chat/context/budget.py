"""How much of the context each part of a conversation takes, and what can be done where it does not fit. Pure."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from paceline.chat.context.attaching import message_text
from paceline.chat.turns import Attached, Turn
from paceline.client.counting import Counted
from paceline.client.events import Message

Count = Callable[[Sequence[Message]], Awaitable[Counted]]
ChoiceKind = Literal["drop", "trim", "leave_out", "summarise"]


@dataclass(frozen=True)
class Draft:
    """A message that is about to be sent, and what goes before it."""

    system: str
    path: tuple[Turn, ...]  # the turns before it
    question: str
    attached: tuple[Attached, ...] = ()
    skipped: int = 0  # so many of the first turns are not sent
    summary: str = ""  # what stands for them


@dataclass(frozen=True)
class Part:
    """One thing and what it takes, in tokens."""

    name: str
    tokens: int


@dataclass(frozen=True)
class Sizes:
    """The meter. All in tokens."""

    system: int
    attachments: tuple[Part, ...]  # of this message, in order
    history: tuple[Part, ...]  # turns that are sent, in order
    message: int  # the question itself, with the template's words around it
    frame: int  # what begins the answer
    reserve: int  # kept free for the answer
    context: int  # what there is; 0: not known
    cached: int = 0  # of the prompt, what the engine has read already
    estimated: bool = False

    @property
    def prompt(self) -> int:
        """Everything that is sent."""
        parts = sum(part.tokens for part in (*self.attachments, *self.history))
        return self.system + parts + self.message + self.frame

    @property
    def used(self) -> int:
        """The prompt and the reserve."""
        return self.prompt + self.reserve

    @property
    def over(self) -> int:
        """What does not fit; 0: it fits, or it is not known how much there is."""
        return max(0, self.used - self.context) if self.context else 0

    @property
    def left(self) -> int:
        """What is still free."""
        return max(0, self.context - self.used)

    @property
    def fits(self) -> bool:
        """Whether it can be sent as it is."""
        return not self.over


@dataclass(frozen=True)
class Choice:
    """One thing that can be done. `at`: index of the attachment; of turns: how many of the first ones."""

    kind: ChoiceKind
    label: str  # in words
    frees: int  # tokens
    at: int = 0
    tokens: int = 0  # trim: what is left of it; summarise: what the summary may take
    estimated: bool = False


async def sizes(draft: Draft, count: Count, context: int, reserve: int, cached: int = 0) -> Sizes:
    """What each part of a draft takes. Raises what `count` raises."""
    raise NotImplementedError


def fit(measured: Sizes, draft: Draft) -> tuple[Choice, ...]:
    """What can be done, the gentlest first; nothing where it fits. One choice alone need not be enough."""
    raise NotImplementedError


def apply(draft: Draft, choice: Choice) -> Draft:
    """The draft after a choice. A summary is not made here: see `summarised`."""
    raise NotImplementedError


def messages(draft: Draft) -> tuple[Message, ...]:
    """Exactly what is sent."""
    raise NotImplementedError


def summary_messages(draft: Draft, choice: Choice, keep: str = "") -> tuple[Message, ...]:
    """What asks the model for a summary of the turns that a choice would leave out. keep: what matters to the person."""
    raise NotImplementedError


def summarised(draft: Draft, choice: Choice, summary: str) -> Draft:
    """The draft with a summary in the place of its first turns."""
    return replace(draft, skipped=choice.at, summary=summary)
