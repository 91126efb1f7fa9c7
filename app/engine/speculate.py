"""One round: propose -> decode -> verify -> commit. The decode is shared with other requests, so it stands between."""

import time

from paceline.engine.backend import Logits, Span
from paceline.engine.drafters import NOTHING, Proposal
from paceline.engine.sequence import Generation, Prefilled
from paceline.engine.verify import verify
from paceline.errors import PacelineError


class Prefill:
    """A chunk of a prompt that is not its last."""

    def __init__(self, sequence: Generation, chunk: list[int]) -> None:
        self.sequence = sequence
        self._chunk = chunk
        self.span: Span = sequence.slot.span(chunk)

    def commit(self, rows: Logits, milliseconds: float) -> None:
        """The chunk is in the cache."""
        sequence = self.sequence
        sequence.slot.wrote(self._chunk)
        sequence.events.put(Prefilled(len(sequence.slot.tokens), len(sequence.tokens)))


class Round:
    """The last known tokens and a draft behind them."""

    def __init__(self, sequence: Generation, n_batch: int) -> None:
        self.sequence = sequence
        self._pending = sequence.pending
        self._alone = len(self._pending) == 1  # no prompt in the same pass: its time tells what a round costs
        began = time.perf_counter()
        self.proposal = self._propose(n_batch)
        sequence.stats.drafting_ms += (time.perf_counter() - began) * 1000
        draft = list(self.proposal.tokens)
        self.span: Span = sequence.slot.span(self._pending + draft, outputs=1 + len(draft))

    def _propose(self, n_batch: int) -> Proposal:
        sequence = self.sequence
        limit = min(sequence.draft_limit, n_batch - len(self._pending))
        if not sequence.drafters or not self._alone:
            return NOTHING
        try:
            proposal = sequence.pilot.choose(sequence.drafters, limit)
        except PacelineError as error:  # the answer goes on without the one drafter that can fail
            failed = [each for each in sequence.drafters if each.name == "draft"]
            sequence.drafters = [each for each in sequence.drafters if each not in failed]
            for each in failed:
                each.close()
            sequence.stats.notes.append(f"draft model turned off: {error.message}")
            return NOTHING
        ends = sequence.vocabulary.end_of_generation
        stop = next((i + 1 for i, token in enumerate(proposal.tokens) if token in ends), len(proposal.tokens))
        return proposal.cut(stop)

    def commit(self, rows: Logits, milliseconds: float) -> None:
        """Verify the draft against the rows (1 + drafted, n_vocab), keep what stands, cut the cache to it."""
        sequence, stats, draft = self.sequence, self.sequence.stats, self.proposal.tokens
        slot, before = sequence.slot, len(sequence.tokens)
        slot.wrote([*self._pending, *draft])
        began = time.perf_counter()
        verdict = verify(
            draft,
            self.proposal.drawn_from,
            lambda i: sequence.distribution(rows[i], draft[:i]),
            sequence.request.sampler.seed,
            before,
        )
        stats.sampling_ms += (time.perf_counter() - began) * 1000
        slot.cut(before + verdict.accepted)
        if not sequence.first_token_at:
            sequence.first_token_at = time.perf_counter()
            sequence.events.put(Prefilled(before, before))
        taken = sequence.commit([*draft[: verdict.accepted], verdict.token])
        slot.cut(min(len(slot.tokens), len(sequence.tokens)))
        if self._alone:
            stats.rounds += 1
            stats.verifying_ms += milliseconds
            if not draft:
                stats.plain_rounds += 1
                stats.plain_ms += milliseconds
            sequence.pilot.learn(self.proposal, verdict.accepted, taken, milliseconds)
        if draft:
            stats.drafter(self.proposal.drafter).note(len(draft), min(verdict.accepted, len(taken)))
