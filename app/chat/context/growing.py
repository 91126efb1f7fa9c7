"""What a message takes while it is being typed: what stands around the question is measured once, not at every pause.

The question stands at the end of what it is sent with, behind a fence or a template's words, at which tokens end. So it
is counted with no more than that before it: a text of megabytes that goes with it costs nothing from then on.
"""

from collections.abc import Hashable
from dataclasses import replace

from paceline.chat.context import budget
from paceline.chat.context.budget import Count, Draft, Sizes
from paceline.client.events import Message

_FENCE = "```"  # what is attached ends with one


class Growing:
    """Remembers the last thing that it measured. For one engine, and one event loop."""

    def __init__(self) -> None:
        self._known: tuple[Hashable, Sizes] | None = None

    async def sizes(self, draft: Draft, count: Count, context: int, reserve: int) -> Sizes:
        """As budget.sizes, exact but for a token or two where a model's tokens reach across what ends them.

        Raises what `count` raises.
        """
        key = _around(draft)
        if self._known is None or self._known[0] != key:
            self._known = None
            self._known = key, await budget.sizes(replace(draft, question=""), count, context, reserve)
        known = self._known[1]
        more = await self._question(draft, count) if draft.question.strip() else 0
        return replace(known, message=known.message + more, context=context, reserve=reserve)

    async def _question(self, draft: Draft, count: Count) -> int:
        """What the question adds."""
        before, whole = (_FENCE, f"{_FENCE}\n\n{draft.question}") if draft.attached else ("", draft.question)
        counted = [(await count([Message("user", text)])).total for text in (before, whole)]
        return counted[1] - counted[0]


def _around(draft: Draft) -> Hashable:
    """All of it but the question, in what is the same object at the next pause: comparing it takes no time."""
    turns = tuple((turn.role, turn.text, turn.attached) for turn in draft.path)
    return draft.system, draft.summary, draft.skipped, draft.attached, turns
