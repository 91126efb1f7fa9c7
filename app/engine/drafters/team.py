"""Which drafters serve a request, and why one of them does not."""

from dataclasses import dataclass

from paceline.engine.backend import Backend
from paceline.engine.controller import Controller
from paceline.engine.drafters.base import Drafter
from paceline.engine.drafters.lookup import LookupDrafter
from paceline.engine.drafters.model import DraftModel, ModelDrafter
from paceline.engine.sequence import Request
from paceline.engine.stats import Stats


@dataclass(frozen=True)
class Team:
    """Makes the drafters for each request."""

    target: Backend
    controller: Controller
    draft: DraftModel | None

    def drafters(self, request: Request, stats: Stats) -> list[Drafter]:
        """The drafters that may serve this request, fed with its prompt. Why one is missing goes into the notes."""
        wanted = request.speculation
        if wanted == "off":
            return []
        if not self.target.capabilities.partial_removal:
            stats.notes.append("no speculation: this model's memory cannot drop rejected tokens (recurrent or hybrid)")
            return []
        drafters: list[Drafter] = []
        if wanted in ("auto", "ngram"):
            drafters.append(LookupDrafter())
        if wanted in ("auto", "draft"):
            reason = self._why_no_draft(wanted == "draft")
            if reason:
                stats.notes.append(reason)
            elif self.draft is not None:
                drafters.append(
                    ModelDrafter(
                        self.draft,
                        request.sampler,
                        shared_noise=request.seeded,
                        n_tokens=self.target.vocabulary.n_tokens,
                    )
                )
        for drafter in drafters:
            drafter.extend(request.prompt)
        return drafters

    def _why_no_draft(self, forced: bool) -> str:
        """Empty when the draft model may be used."""
        if self.draft is None:
            return "no draft model is set" if forced else ""
        if forced:
            return ""
        perfect = self.controller.draft_outlook(1.0)
        hopeful = self.controller.draft_outlook(0.9)
        if hopeful > 1.0:
            return ""
        return (
            f"draft model not used: on this machine it would give {hopeful:.2f}x with 90 % of its tokens accepted, "
            f"{perfect:.2f}x with all"
        )
