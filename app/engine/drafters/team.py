"""Which drafters serve a request, and why one of them does not."""

from dataclasses import dataclass, field

from paceline.engine.backend import Backend
from paceline.engine.controller import Controller
from paceline.engine.drafters.base import Drafter
from paceline.engine.drafters.edit import EditDrafter
from paceline.engine.drafters.library import Library
from paceline.engine.drafters.lookahead import COLUMNS, LENGTH, LookaheadDrafter
from paceline.engine.drafters.lookup import LookupDrafter
from paceline.engine.drafters.model import DraftModel, ModelDrafter
from paceline.engine.drafters.universal import UniversalDrafter
from paceline.engine.sequence import Request
from paceline.engine.stats import Stats

GUESSED = 1 + COLUMNS * LENGTH  # about so many tokens are in a round of lookahead
GAIN = 1.25  # what lookahead may cost, of a plain decode: it brings about so much (Fu et al. 2024, table 1, halved)
BROAD = 2.0  # where nine tokens cost less than so many plain decodes, alternatives of the draft model are worth making


@dataclass(frozen=True)
class Team:
    """Makes the drafters for each request. `ends`: how many a draft that branches may have."""

    target: Backend
    controller: Controller
    draft: DraftModel | None
    ends: int = 1
    library: Library = field(default_factory=Library)

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
            drafters += [
                EditDrafter(request.original),
                LookupDrafter(self.library, request.references, editing=bool(request.original)),
            ]
        if wanted in ("auto", "lookahead"):
            reason = self._why_no_lookahead(wanted == "lookahead")
            if reason:
                stats.notes.append(reason)
            elif self._lookahead_pays() or wanted == "lookahead":
                drafters.append(LookaheadDrafter(self.ends))
        if wanted in ("auto", "draft"):
            reason = self._why_no_draft(wanted == "draft")
            if reason:
                stats.notes.append(reason)
            elif self.draft is not None:
                drafters.append(self._with_model(self.draft, request))
        for drafter in drafters:
            drafter.extend(request.prompt)
        return drafters

    def _with_model(self, draft: DraftModel, request: Request) -> Drafter:
        vocabulary, costs = self.target.vocabulary, self.controller.draft_costs
        if draft.universal:
            return UniversalDrafter(draft, vocabulary, costs=costs)
        return ModelDrafter(
            draft,
            request.sampler,
            shared_noise=request.seeded or request.strict,
            n_tokens=vocabulary.n_tokens,
            costs=costs,
            constraint=request.constraint,
            runners_up=self.ends > 1 and self._relative(9) < BROAD,
        )

    def _relative(self, tokens: int) -> float:
        costs = self.controller.costs
        return costs.at(tokens) / costs.at(1)

    def _lookahead_pays(self) -> bool:
        return self.ends > COLUMNS and self._relative(GUESSED) < GAIN

    def _why_no_lookahead(self, forced: bool) -> str:
        """Empty when it may be used, or need not be spoken of."""
        if forced and self.ends <= COLUMNS:
            return f"no lookahead: it needs {COLUMNS} spare sequences of the model's cache"
        return ""

    def _why_no_draft(self, forced: bool) -> str:
        """Empty when the draft model may be used."""
        if self.draft is None:
            return "no draft model is set" if forced else ""
        if forced:
            return ""
        perfect = self.controller.outlook(1.0)
        hopeful = self.controller.outlook(0.9)
        if hopeful > 1.0:
            return ""
        return (
            f"draft model not used: on this machine it would give {hopeful:.2f}x with 90 % of its tokens accepted, "
            f"{perfect:.2f}x with all"
        )
