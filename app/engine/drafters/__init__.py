"""Drafters: guess what the target will say next, cheaply. One a file; `base` has what they share."""

from paceline.engine.drafters.base import NOTHING, Drafter, Proposal

__all__ = ["NOTHING", "Drafter", "Proposal"]
