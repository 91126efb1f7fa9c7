"""How much of the context each part of a conversation takes, and what can be done where it does not fit.

Pure but for the counting, which is given. Nothing is ever left out here without a choice of the person.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from paceline.chat.context.attaching import message_text
from paceline.chat.context.trimming import trimmed
from paceline.chat.turns import Attached, Turn
from paceline.client.counting import Counted
from paceline.client.events import Message

Count = Callable[[Sequence[Message]], Awaitable[Counted]]
ChoiceKind = Literal["drop", "trim", "leave_out", "summarise"]
SUMMARY = 400  # tokens that a summary may take
ASKING = 160  # tokens of the request for one, at most, without what a person adds to it
SMALLEST = 64  # tokens of an attachment that is still of use
MARGIN = 0.92  # of an attachment's tokens are aimed at when it is trimmed: its parts are not equally dense
NOTE = 48  # characters of the line that says what is missing
_STANDS_FOR = "Summary of this conversation so far, in place of its first messages:"
_REQUEST = (
    "Summarise our conversation up to here, so that it can go on from the summary alone. Keep what was decided and "
    "why, names of files, functions and errors, code that is still needed, and open questions. Leave out pleasantries "
    "and what was given up. Answer with the summary only, in at most 250 words."
)


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
    history: tuple[Part, ...]  # turns that are sent, in order; 0 for one that goes with the one before it, or is empty
    message: int  # the question itself, with the template's words around it
    frame: int  # what begins the answer
    reserve: int  # kept free for the answer
    context: int  # what there is; 0: not known
    cached: int = 0  # of the prompt, what the engine has read already
    estimated: bool = False
    summary: int = 0  # of the system prompt, what stands for turns that are not sent
    files: int = 0  # of the history, what is attached to its turns

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
    """One thing that can be done. `at`: index of the attachment; of turns: how many of the first ones go."""

    kind: ChoiceKind
    label: str  # in words
    frees: int  # tokens; one or two more or less where those of neighbours merge
    at: int = 0
    tokens: int = 0  # trim: what is left of it; summarise: what the summary may take
    estimated: bool = False  # how much it frees is known when it is done


def messages(draft: Draft) -> tuple[Message, ...]:
    """Exactly what is sent."""
    return tuple(message for message, _ in _sent(draft))


async def sizes(draft: Draft, count: Count, context: int, reserve: int, cached: int = 0) -> Sizes:
    """What each part of a draft takes. Raises what `count` raises.

    Attachments are counted one after the other, so that the parts together are exactly the whole; what has been
    counted before is not counted again as the question is typed.
    """
    sent = _sent(draft)
    whole = await count([message for message, _ in sent])
    system = sum(tokens for tokens, (message, _) in zip(whole.messages, sent, strict=True) if message.role == "system")
    turns = [0] * len(draft.path)
    for tokens, (message, at) in zip(whole.messages, sent, strict=True):
        if message.role != "system" and at < len(draft.path):
            turns[at] = tokens
    first = sent[-1][1]
    if first < len(draft.path):  # it goes with a question before it, that has no answer
        without = await count(messages(replace(draft, question="", attached=())))
        turns[first] -= whole.total - without.total
    last = whole.total - whole.frame - system - sum(turns)
    parts = await _attachments(draft, count, whole)
    return Sizes(
        system=system,
        attachments=parts,
        history=tuple(Part(_named(turn), turns[at]) for at, turn in enumerate(draft.path) if at >= draft.skipped),
        message=last - sum(part.tokens for part in parts),
        frame=whole.frame,
        reserve=reserve,
        context=context,
        cached=min(cached, whole.total),
        estimated=whole.estimated,
        summary=await _more(whole, replace(draft, summary=""), count) if draft.summary else 0,
        files=await _more(whole, _bare(draft), count) if _bare(draft) != draft else 0,
    )


async def _more(whole: Counted, less: Draft, count: Count) -> int:
    """What the whole takes more than a draft in which something is missing."""
    return max(0, whole.total - (await count(messages(less))).total)


def _bare(draft: Draft) -> Draft:
    """The draft with nothing attached to the turns before it; a turn stays one, whatever is left of it."""
    sent = draft.path[draft.skipped :]
    path = tuple(replace(turn, attached=(), text=turn.text or "-") if turn.attached else turn for turn in sent)
    return replace(draft, path=(*draft.path[: draft.skipped], *path))


def fit(measured: Sizes, draft: Draft) -> tuple[Choice, ...]:
    """What can be done, the gentlest first; nothing where it fits. One choice alone need not be enough."""
    if measured.fits:
        return ()
    return (*_trims(measured), *_turns(measured, draft), *_drops(measured))


def summarisable(measured: Sizes, draft: Draft, most: int, keep: str = "") -> int:
    """How many of the first turns one summary can be asked of, of at most so many: its request has to fit itself.

    keep: what the person adds to it. 0: not of any more than it stands for already.
    """
    freed = _freed(measured)
    ends = [at for at in _ends(draft, freed) if draft.skipped + at < most]
    fitting = [at for at in (*ends, most - draft.skipped) if 0 < at < len(freed) and _asked(measured, freed[at], keep)]
    return draft.skipped + fitting[-1] if fitting else 0


def apply(draft: Draft, choice: Choice) -> Draft:
    """The draft after a choice. A summary is not made here: see `summarised`."""
    attached = draft.attached
    if choice.kind == "drop":
        return replace(draft, attached=(*attached[: choice.at], *attached[choice.at + 1 :]))
    if choice.kind == "trim":
        one = attached[choice.at]
        share = choice.tokens * MARGIN / max(1, choice.tokens + choice.frees)
        less = trimmed(one, max(0, int(len(one.text) * share) - NOTE), draft.question)
        return replace(draft, attached=(*attached[: choice.at], less, *attached[choice.at + 1 :]))
    return replace(draft, skipped=choice.at, summary="")


def summary_messages(draft: Draft, choice: Choice, keep: str = "") -> tuple[Message, ...]:
    """What asks the model for a summary of the turns that a choice leaves out. keep: what matters to the person.

    It begins as the conversation does, so that the engine has read nearly all of it already.
    """
    request = f"{_REQUEST} Keep above all: {keep.strip()}" if keep.strip() else _REQUEST
    return messages(Draft(draft.system, draft.path[: choice.at], request, (), draft.skipped, draft.summary))


def summarised(draft: Draft, choice: Choice, summary: str) -> Draft:
    """The draft with a summary in the place of its first turns."""
    return replace(draft, skipped=choice.at, summary=summary.strip())


def _sent(draft: Draft) -> list[tuple[Message, int]]:
    """What is sent, each with the index of the first turn that it has; of the new message: their number.

    Templates want the two sides to take turns: what one of them says twice in a row goes as one, and turns without a
    text, such as an answer that failed at once, are not sent.
    """
    found: list[tuple[Message, int]] = []
    system = "\n\n".join(part for part in (draft.system, _summary(draft.summary)) if part.strip())
    if system:
        found.append((Message("system", system), 0))
    for at, role, text in _turn_texts(draft):
        if found and found[-1][0].role == role:
            before, first = found[-1]
            found[-1] = Message(role, f"{before.content}\n\n{text}"), first
        else:
            found.append((Message(role, text), at))
    return found


def _turn_texts(draft: Draft) -> Iterator[tuple[int, str, str]]:
    for at, turn in enumerate(draft.path):
        text = message_text(turn.text, turn.attached) if turn.role == "user" else turn.text
        if at >= draft.skipped and text.strip():
            yield at, turn.role, text
    yield len(draft.path), "user", message_text(draft.question, draft.attached)


def _summary(summary: str) -> str:
    return f"{_STANDS_FOR}\n{summary}" if summary else ""


async def _attachments(draft: Draft, count: Count, whole: Counted) -> tuple[Part, ...]:
    """What each attachment adds to the message, the question left out of it."""
    if not draft.attached:
        return ()
    if whole.estimated:
        return tuple([Part(each.name, await _one(each, count)) for each in draft.attached])
    totals = [
        (await count(messages(replace(draft, question="", attached=draft.attached[:number])))).total
        for number in range(len(draft.attached) + 1)
    ]
    return tuple(
        Part(each.name, after - before) for each, before, after in zip(draft.attached, totals, totals[1:], strict=False)
    )


async def _one(attached: Attached, count: Count) -> int:
    alone = await count([Message("user", message_text("", [attached]))])
    nothing = await count([Message("user", "")])
    return alone.total - nothing.total


def _named(turn: Turn) -> str:
    """A turn as the meter calls it: who, and how it begins."""
    words = " ".join(turn.text.split())
    return f"{'you' if turn.role == 'user' else 'model'}: {words[:40]}{'…' if len(words) > 40 else ''}"


def _trims(measured: Sizes) -> Iterator[Choice]:
    """Attachments that can lose as much as is too much, or at least the most of themselves."""
    for at, part in enumerate(measured.attachments):
        rest = max(SMALLEST, part.tokens - measured.over)
        if rest < part.tokens * 0.95:
            label = f"trim {part.name} from {part.tokens:,} to {rest:,} tokens"
            yield Choice("trim", label, part.tokens - rest, at, rest, estimated=True)


def _turns(measured: Sizes, draft: Draft) -> Iterator[Choice]:
    """Beginnings of the conversation: as many turns as are enough, if that is not all; and all. A summary of fewer,
    where it can be asked of no more at once.
    """
    freed = _freed(measured)
    ends = _ends(draft, freed)
    enough = next((at for at in ends if freed[at] >= measured.over), None)
    found = [at for at in dict.fromkeys([enough, ends[-1] if ends else None]) if at is not None and freed[at]]
    worth = [at for at in ends if freed[at] > 2 * SUMMARY and _asked(measured, freed[at])]
    if worth and not set(found) & set(worth):
        found.insert(0, worth[-1])
    for at in found:
        turns = f"the first {at} messages" if at < len(freed) - 1 else f"all {at} messages before this one"
        if at in worth:
            label = f"summarise {turns}"
            yield Choice("summarise", label, freed[at] - SUMMARY, draft.skipped + at, SUMMARY, estimated=True)
        if freed[at] >= measured.over or at == ends[-1]:
            yield Choice("leave_out", f"leave out {turns}", freed[at], draft.skipped + at)


def _freed(measured: Sizes) -> list[int]:
    """Tokens of the first turns that are sent: of none, of one, and so on."""
    return [0, *accumulate(part.tokens for part in measured.history)]


def _ends(draft: Draft, freed: Sequence[int]) -> list[int]:
    """Of the turns that are sent, how many of the first ones can go: an answer does not stand without its question."""
    return [at for at in range(1, len(freed)) if at == len(freed) - 1 or _asks(draft, draft.skipped + at, freed, at)]


def _asked(measured: Sizes, tokens: int, keep: str = "") -> bool:
    """Whether a summary of so many tokens of turns can be asked for."""
    request = measured.system + tokens + ASKING + len(keep) // 2 + measured.frame
    return not measured.context or request + SUMMARY <= measured.context


def _asks(draft: Draft, turn: int, freed: Sequence[int], at: int) -> bool:
    """Whether a question begins there that is sent as a message of its own."""
    return draft.path[turn].role == "user" and freed[at + 1] > freed[at]


def _drops(measured: Sizes) -> Iterator[Choice]:
    for at, part in enumerate(measured.attachments):
        if part.tokens:
            yield Choice("drop", f"leave out {part.name}", part.tokens, at)
