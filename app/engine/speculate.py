"""One round: propose -> decode -> verify -> commit. The decode is shared with other requests, so it stands between."""

import time
from collections.abc import Sequence

from paceline.engine.backend import Logits, Span
from paceline.engine.costs import Costs
from paceline.engine.drafters import NOTHING, Proposal
from paceline.engine.logprobs import chosen
from paceline.engine.sequence import Generation, Prefilled
from paceline.engine.verify import verify
from paceline.errors import PacelineError


class Prefill:
    """A chunk of a prompt that is not its last."""

    def __init__(self, sequence: Generation, length: int) -> None:
        self.sequence = sequence
        self._chunk = sequence.pending[:length]
        self.span: Span = sequence.place.span(self._chunk)

    def commit(self, rows: Logits, milliseconds: float | None) -> None:
        """The chunk is in the cache."""
        sequence = self.sequence
        sequence.place.wrote(self._chunk)
        sequence.send(Prefilled(len(sequence.place.tokens), len(sequence.tokens)))


class Round:
    """The last known tokens and a draft behind them."""

    def __init__(self, sequence: Generation, room: int, costs: Costs) -> None:
        """room: tokens that may be drafted, by batch, cache and priority. costs: this request's part of the step's.

        Raises DecodeAborted.
        """
        self.sequence = sequence
        self._pending = sequence.pending
        self._costs = costs
        # Where a prompt is read in the same pass its time does not tell what a round costs.
        self.typical = len(self._pending) == 1
        began = time.perf_counter()
        self.proposal = self._propose(room)
        sequence.stats.drafting_ms += (time.perf_counter() - began) * 1000
        draft = list(self.proposal.tokens)
        self.span: Span = sequence.place.span(self._pending + draft, outputs=1 + len(draft))

    def _propose(self, room: int) -> Proposal:
        sequence = self.sequence
        limit = min(sequence.draft_limit, room)
        if not self.typical:
            return NOTHING
        try:
            proposal = sequence.pilot.choose(sequence.drafters, limit, self._costs)
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

    def commit(self, rows: Logits, milliseconds: float | None) -> None:
        """Verify the draft against the rows (1 + drafted, n_vocab), keep what stands, cut the cache to it.

        milliseconds: this request's part of the step; None where that would tell nothing, as prompts were read in it.
        """
        sequence, stats, draft = self.sequence, self.sequence.stats, self.proposal.tokens
        slot, before = sequence.place, len(sequence.tokens)
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
            sequence.send(Prefilled(before, before))
        taken = sequence.commit([*draft[: verdict.accepted], verdict.token])
        slot.cut(min(len(slot.tokens), len(sequence.tokens)))
        if sequence.request.logprobs is not None:
            self._tell(rows, taken)
        if self.typical and milliseconds is not None:
            self._learn(verdict.accepted, taken, milliseconds)
        if draft:
            stats.drafter(self.proposal.drafter).note(len(draft), min(verdict.accepted, len(taken)))

    def _learn(self, accepted: int, taken: Sequence[int], milliseconds: float) -> None:
        """Figures and experience."""
        stats = self.sequence.stats
        stats.rounds += 1
        stats.verifying_ms += milliseconds
        if not self.proposal.tokens:
            stats.plain_rounds += 1
            stats.plain_ms += milliseconds
        self.sequence.pilot.learn(self.proposal, accepted, taken, milliseconds)

    def _tell(self, rows: Logits, taken: Sequence[int]) -> None:
        """The log-probabilities of the tokens that were taken."""
        wanted = self.sequence.request.logprobs or 0
        for i, token in enumerate(taken):
            self.sequence.send(chosen(rows[i], token, wanted))
