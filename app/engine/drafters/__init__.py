"""Drafters: guess what the target will say next, cheaply. One a file; `base` has what they share."""

from paceline.engine.drafters.base import NO_DRAFT, Draft, Drafter, Outcome, Proposal

__all__ = ["NO_DRAFT", "Draft", "Drafter", "Outcome", "Proposal"]
