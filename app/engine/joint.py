"""One decode for all who have a turn: each one's part prepared, all decoded in one pass, each one's part committed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paceline.engine.backend import Backend, DecodeAborted, Hidden, Logits
from paceline.engine.costs import CostModel, SharedCosts
from paceline.engine.kv import SlotTable
from paceline.engine.scheduler import Turn
from paceline.engine.sequence import Generation
from paceline.engine.speculate import Prefill, Round
from paceline.errors import EngineError

Work = Prefill | Round


@dataclass(frozen=True)
class Joint:
    """Decodes. `committed` is told of each sequence whose part stands, `failed` of each other one, and why."""

    target: Backend
    slots: SlotTable
    costs: CostModel
    committed: Callable[[Generation], None]
    failed: Callable[[Generation, Exception], None]

    def prepare(self, turns: Sequence[Turn]) -> list[Work]:
        """Each one's part of the decode, drafts included. Raises DecodeAborted."""
        base, speakers = sum(turn.tokens for turn in turns), sum(turn.speaks for turn in turns)
        reading = any(turn.sequence.reading for turn in turns)
        top = min(turn.sequence.rank for turn in turns)
        room, spare = self.slots.room(self.target.capabilities.n_batch) - base, list(self.slots.spare)
        work: list[Work] = []
        for turn in turns:
            sequence = turn.sequence
            try:
                if not turn.speaks:
                    work.append(Prefill(sequence, turn.tokens))
                    continue
                costs = SharedCosts(self.costs, base - turn.tokens, speakers - 1)
                drafting = not reading and sequence.rank == top
                work.append(Round(sequence, room if drafting else 0, costs, spare))
            except DecodeAborted:
                raise
            except Exception as error:
                self.failed(sequence, error)
            else:
                drafted, spare = len(work[-1].span.tokens) - turn.tokens, spare[len(work[-1].span.spare) :]
                base, room = base + drafted, room - drafted
        return work

    def run(self, work: Sequence[Work]) -> None:
        """Decode and commit. What fails together is tried one by one, so that it fails alone. Raises DecodeAborted."""
        if not work:
            return
        try:
            tokens = sum(len(each.span.tokens) for each in work)
            if not self.slots.make_room(tokens):
                raise EngineError(f"the model's cache has no room for {tokens} tokens", "raise engine.context")
            began = time.perf_counter()
            rows, hidden = self._decode(work)
            milliseconds = (time.perf_counter() - began) * 1000
        except DecodeAborted:
            raise
        except Exception as error:
            if len(work) == 1:
                self.failed(work[0].sequence, error)
            for each in work if len(work) > 1 else ():
                self.run([each])
            return
        typical = all(isinstance(each, Round) and each.typical for each in work)
        if typical:
            self.costs.observe(tokens, milliseconds)
        for each in work:
            each.sequence.stats.shared_rounds += len(work) > 1
            outputs = each.span.outputs
            part = self._part(each, work, milliseconds) if typical else None
            self._commit(each, rows[:outputs], None if hidden is None else hidden[:outputs], part, tokens)
            rows, hidden = rows[outputs:], None if hidden is None else hidden[outputs:]

    def _decode(self, work: Sequence[Work]) -> tuple[Logits, Hidden | None]:
        """Rows of logits and, where a drafter looks at them, hidden states."""
        spans = [each.span for each in work]
        if any(isinstance(each, Round) and each.sequence.needs_hidden for each in work):
            rows, hidden = self.target.decode(spans, hidden=True), self.target.hidden_states().copy()
        else:
            rows, hidden = self.target.decode(spans), None
        # Strict requests may decode once more before others have read their rows.
        return (rows.copy() if any(each.sequence.request.strict for each in work) else rows), hidden

    def _commit(self, work: Work, rows: Logits, hidden: Hidden | None, milliseconds: float | None, batch: int) -> None:
        try:
            work.commit(rows, hidden, milliseconds, batch)
        except Exception as error:
            self.failed(work.sequence, error)
        else:
            self.committed(work.sequence)

    def _part(self, work: Work, everybody: Sequence[Work], milliseconds: float) -> float:
        """One request's part of what a step took."""
        tokens = len(work.span.tokens)
        base = sum(len(each.span.tokens) for each in everybody) - tokens
        return SharedCosts(self.costs, base, len(everybody) - 1).of_step(tokens, milliseconds)
