"""One round: propose -> decode -> verify -> commit. The decode is shared with other requests, so it stands between."""

import time
from collections.abc import Sequence

from paceline.engine.backend import DecodeAborted, Hidden, Logits, Span
from paceline.engine.costs import Costs
from paceline.engine.drafters import NO_DRAFT, Draft, Outcome
from paceline.engine.logprobs import chosen
from paceline.engine.sampler import Constraint, Distribution, distribution, tied
from paceline.engine.sequence import Generation, Prefilled
from paceline.engine.tree import depths, leaves
from paceline.engine.verify import Verdict, verify

TIE = 0.25  # logits: verification in larger batches has not been seen to turn choices that led by more


class Prefill:
    """A chunk of a prompt that is not its last."""

    def __init__(self, sequence: Generation, length: int) -> None:
        self.sequence = sequence
        self._chunk = sequence.pending[:length]
        self.span: Span = sequence.place.span(self._chunk)

    def commit(self, rows: Logits, hidden: Hidden | None, milliseconds: float | None, batch: int) -> None:
        """The chunk is in the cache."""
        sequence = self.sequence
        sequence.place.wrote(self._chunk)
        sequence.catch_up()
        sequence.send(Prefilled(len(sequence.place.tokens), len(sequence.tokens)))


class Round:
    """The last known tokens and a draft behind them."""

    def __init__(self, sequence: Generation, room: int, costs: Costs, spare: Sequence[int] = ()) -> None:
        """room: tokens that may be drafted, by batch, cache and priority. costs: this request's part of the step's.
        spare: empty sequences for drafts that branch. Raises DecodeAborted.
        """
        self.sequence = sequence
        self._pending = sequence.pending
        # Where a prompt is read in the same pass its time does not tell what a round costs.
        self.typical = len(self._pending) == 1
        began = time.perf_counter()
        sequence.catch_up()
        self.draft = self._propose(room, costs, 1 + len(spare)) if self.typical else NO_DRAFT
        sequence.stats.drafting_ms += (time.perf_counter() - began) * 1000
        tokens, parents = [*self._pending, *self.draft.tokens], self.draft.parents
        used = spare[: len(leaves(parents)) - 1] if parents else ()
        self.span: Span = sequence.place.span(tokens, 1 + len(self.draft.tokens), parents, used)

    def _propose(self, room: int, costs: Costs, ends: int) -> Draft:
        sequence = self.sequence
        wished = sequence.request.draft_length
        room = room if wished is None else min(room, wished)
        draft = sequence.pilot.choose(sequence.drafters, min(sequence.draft_limit, room), costs, ends, room)
        for failure in sequence.pilot.failed:
            sequence.turn_off(failure.drafter, failure.error)
        if draft.parents or not draft.tokens:
            return draft
        last = sequence.vocabulary.end_of_generation
        stop = next((i + 1 for i, token in enumerate(draft.tokens) if token in last), len(draft.tokens))
        return draft.cut(sequence.viable(draft.tokens[:stop]))

    def commit(self, rows: Logits, hidden: Hidden | None, milliseconds: float | None, batch: int) -> None:
        """Verify the draft against the rows (1 + drafted, n_vocab), keep what stands, cut the cache to it.

        milliseconds: this request's part of the step; None where that would tell nothing, as prompts were read in it.
        batch: tokens in the decode.
        """
        sequence, stats, draft = self.sequence, self.sequence.stats, self.draft
        began = time.perf_counter()
        judge = _Judge(sequence, draft, rows)
        seed, before = sequence.request.sampler.seed, len(sequence.tokens)
        try:
            verdict = verify(draft.tokens, draft.tree, draft.drawn_from, judge.after, seed, before)
        except Exception:
            sequence.place.keep(self.span, ())  # the cache holds what nobody accepted
            raise
        stats.sampling_ms += (time.perf_counter() - began) * 1000
        can_cut = sequence.place.backend.capabilities.partial_removal
        if judge.tie is not None and batch > 1 and self.typical and can_cut:
            try:
                verdict = self._decide_alone(verdict.path[: judge.tie])
            except DecodeAborted:
                sequence.place.cut(before - 1)  # as if the round had not been
                return
        else:
            sequence.place.keep(self.span, verdict.path)
        sequence.show(Outcome(draft, rows, hidden, verdict.path))
        if not sequence.first_token_at:
            sequence.first_token_at = time.perf_counter()
            sequence.send(Prefilled(before, before))
        accepted = [draft.tokens[node] for node in verdict.path]
        taken = sequence.commit([*accepted, verdict.token], [draft.drafters[node] for node in verdict.path])
        sequence.place.cut(min(len(sequence.place.tokens), len(sequence.tokens)))
        if sequence.request.logprobs is not None:
            self._tell(rows, verdict, taken)
        if self.typical and milliseconds is not None:
            self._learn(verdict, taken, milliseconds)
        self._note(verdict.path[: len(taken)])

    def _decide_alone(self, path: Sequence[int]) -> Verdict:
        """What follows the accepted tokens, by a decode of nothing but the last one. Raises DecodeAborted."""
        sequence, place = self.sequence, self.sequence.place
        sequence.stats.strict_ties += 1
        place.keep(self.span, path)
        last = place.tokens[-1]
        place.cut(len(place.tokens) - 1)
        found = _Judge(sequence, self.draft, place.decode([last], outputs=1)).at(0, path)
        return Verdict(path, found.choose(sequence.request.sampler.seed, len(sequence.tokens) + len(path)))

    def _learn(self, verdict: Verdict, taken: Sequence[int], milliseconds: float) -> None:
        """Figures and experience."""
        stats = self.sequence.stats
        stats.rounds += 1
        stats.verifying_ms += milliseconds
        if not self.draft.tokens:
            stats.plain_rounds += 1
            stats.plain_ms += milliseconds
        self.sequence.pilot.learn(self.draft, verdict.path, taken, milliseconds)

    def _note(self, path: Sequence[int]) -> None:
        """Who drafted what, and what stood."""
        draft, deep = self.draft, depths(self.draft.tree)
        for name in dict.fromkeys(draft.drafters):
            mine = [node for node, drafter in enumerate(draft.drafters) if drafter == name]
            each = self.sequence.stats.drafter(name)
            each.note([deep[node] - 1 for node in mine], [deep[node] - 1 for node in path if node in mine])
        if draft.maker:
            self.sequence.stats.drafter(draft.maker).milliseconds += draft.milliseconds

    def _tell(self, rows: Logits, verdict: Verdict, taken: Sequence[int]) -> None:
        """The log-probabilities of the tokens that were taken."""
        wanted = self.sequence.request.logprobs or 0
        where = [0, *(node + 1 for node in verdict.path)]
        for row, token in zip(where, taken, strict=False):
            self.sequence.send(chosen(rows[row], token, wanted))


class _Judge:
    """The target's final distributions along a draft. `tie`: tokens accepted before the first near-tie, if strict."""

    def __init__(self, sequence: Generation, draft: Draft, rows: Logits) -> None:
        self.tie: int | None = None
        self._sequence = sequence
        self._draft = draft
        self._rows = rows
        constraint = sequence.request.constraint
        self._rules: Constraint | None = constraint
        if constraint is not None and draft.tokens:
            self._rules = constraint.copy() if constraint.allowed() is not None else None
        self._passed = 0  # accepted tokens that the rules know of

    def after(self, path: Sequence[int]) -> Distribution:
        """Behind the drafted tokens on this path, which is longer each time."""
        return self.at(path[-1] + 1 if path else 0, path)

    def at(self, row: int, path: Sequence[int]) -> Distribution:
        """The same, by this row."""
        sequence, drafted = self._sequence, [self._draft.tokens[node] for node in path]
        if self._rules is not None:
            for token in drafted[self._passed :]:
                self._rules.advance(token)
        self._passed = len(path)
        allowed = None if self._rules is None else self._rules.allowed()
        logits, request = self._rows[row], sequence.request
        if request.strict and self.tie is None:
            position, recent = len(sequence.tokens) + len(path), sequence.recent(drafted)
            if tied(logits, request.sampler, TIE, position, recent, allowed):
                self.tie = len(path)
        return distribution(logits, request.sampler, sequence.recent(drafted), allowed)
