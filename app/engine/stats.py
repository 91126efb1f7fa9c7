"""What a request did and how long it took: the numbers a person can see."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

ENOUGH = 8  # plain rounds that make a fair sample


@dataclass
class DrafterStats:
    """One drafter's part in a request."""

    drafted: int = 0
    accepted: int = 0
    rounds: int = 0
    milliseconds: float = 0.0  # spent on making drafts
    proposed_at: Counter[int] = field(default_factory=Counter)  # by position in the draft, the first is 0
    accepted_at: Counter[int] = field(default_factory=Counter)

    def note(self, drafted: Sequence[int], accepted: Sequence[int]) -> None:
        """A draft had tokens at these positions, several at one where it branched, and these were accepted."""
        self.rounds += 1
        self.drafted += len(drafted)
        self.accepted += len(accepted)
        self.proposed_at.update(drafted)
        self.accepted_at.update(accepted)

    def acceptance_by_position(self, positions: int = 16) -> list[float]:
        """Share of drafts' first, second, ... tokens that were accepted."""
        return [round(self.accepted_at[i] / self.proposed_at[i], 3) for i in range(positions) if self.proposed_at[i]]


@dataclass
class Stats:
    """Everything counted and timed during one request. Times in milliseconds."""

    prompt_tokens: int = 0
    cached_tokens: int = 0  # of the prompt, found in the cache
    queued_ms: float = 0.0  # before it began to run
    prompt_ms: float = 0.0
    predicted_tokens: int = 0
    predicted_ms: float = 0.0
    rounds: int = 0
    drafting_ms: float = 0.0
    verifying_ms: float = 0.0  # inside the target's decode
    sampling_ms: float = 0.0
    plain_rounds: int = 0  # rounds without a draft, and what they took
    plain_ms: float = 0.0
    usual_plain_ms: float = 0.0  # what a token costs on this machine without drafts, by the cost model
    usual_prompt_per_second: float | None = None  # what it reads of a prompt, by the cost model; None: not measured
    strict_ties: int = 0  # near-ties that were decided again by a decode of one token
    shared_rounds: int = 0  # steps in which others had a part: their time is not this request's alone
    context_full: bool = False  # this is why the answer ended
    drafters: dict[str, DrafterStats] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # why something was not done

    def drafter(self, name: str) -> DrafterStats:
        """The named drafter's figures."""
        return self.drafters.setdefault(name, DrafterStats())

    @property
    def drafted(self) -> int:
        """Tokens drafted, by anybody."""
        return sum(each.drafted for each in self.drafters.values())

    @property
    def accepted(self) -> int:
        """Drafted tokens that stood."""
        return sum(each.accepted for each in self.drafters.values())

    @property
    def tokens_per_second(self) -> float:
        """Of the answer, prompt not counted."""
        return self.predicted_tokens / self.predicted_ms * 1000 if self.predicted_ms > 0 else 0.0

    @property
    def plain_ms_per_token(self) -> float:
        """What a token costs without drafts: measured in this request where it had some such rounds."""
        return self.plain_ms / self.plain_rounds if self.plain_rounds >= ENOUGH else self.usual_plain_ms

    @property
    def speed_up(self) -> float | None:
        """Over plain decoding on this machine; None where that is not known, the answer too short to tell, or the
        machine was shared with other requests.

        The first token comes with the prompt's last logits: n tokens take n - 1 plain decodes.
        """
        if (
            self.shared_rounds
            or self.predicted_tokens <= ENOUGH
            or not (self.plain_ms_per_token and self.predicted_ms > 0)
        ):
            return None
        return self.plain_ms_per_token * (self.predicted_tokens - 1) / self.predicted_ms

    def timings(self) -> dict[str, Any]:
        """As plain data: the field names of llama.cpp's server (`timings`), then our own."""
        prompt_n = self.prompt_tokens - self.cached_tokens
        return {
            "prompt_n": prompt_n,
            "prompt_ms": round(self.prompt_ms, 3),
            "cache_n": self.cached_tokens,
            "prompt_per_token_ms": round(self.prompt_ms / prompt_n, 3) if prompt_n > 0 else 0.0,
            "prompt_per_second": round(prompt_n / self.prompt_ms * 1000, 3) if self.prompt_ms > 0 else 0.0,
            "usual_prompt_per_second": (
                None if self.usual_prompt_per_second is None else round(self.usual_prompt_per_second, 3)
            ),
            "predicted_n": self.predicted_tokens,
            "predicted_ms": round(self.predicted_ms, 3),
            "predicted_per_token_ms": (
                round(self.predicted_ms / self.predicted_tokens, 3) if self.predicted_tokens else 0.0
            ),
            "predicted_per_second": round(self.tokens_per_second, 3),
            "draft_n": self.drafted,
            "draft_n_accepted": self.accepted,
            "queued_ms": round(self.queued_ms, 3),
            "rounds": self.rounds,
            "mean_accepted_length": round(self.accepted / self.rounds, 3) if self.rounds else 0.0,
            "drafting_ms": round(self.drafting_ms, 3),
            "verifying_ms": round(self.verifying_ms, 3),
            "sampling_ms": round(self.sampling_ms, 3),
            "wasted_n": self.drafted - self.accepted,
            "strict_n": self.strict_ties,
            "speed_up": None if self.speed_up is None else round(self.speed_up, 3),
            "drafters": {
                name: {
                    "rounds": each.rounds,
                    "draft_n": each.drafted,
                    "draft_n_accepted": each.accepted,
                    "acceptance_by_position": each.acceptance_by_position(),
                    "drafting_ms": round(each.milliseconds, 3),
                }
                for name, each in self.drafters.items()
            },
            "notes": list(self.notes),
        }
