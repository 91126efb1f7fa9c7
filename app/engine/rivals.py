"""Offers that contradict each other: at most one of them is right there, so that each is worth less."""

from collections.abc import Sequence
from dataclasses import replace

from paceline.engine.acceptance import disputed
from paceline.engine.drafters.base import Proposal


def marked(offers: Sequence[Proposal]) -> list[Proposal]:
    """The offers, with the tokens marked at which another one that agreed so far has another token. Chains only."""
    if len(offers) < 2:
        return list(offers)
    places: list[set[int]] = [set() for _ in offers]
    for at, offer in enumerate(offers):
        for other in range(at):
            here = parting(offer, offers[other])
            if here is not None:
                places[at].add(here)
                places[other].add(here)
    return [_mark(offer, places[at]) if places[at] else offer for at, offer in enumerate(offers)]


def parting(one: Proposal, other: Proposal) -> int | None:
    """The first place where two chains differ; None: one begins with the other, or one of them branches."""
    if one.parents or other.parents:
        return None
    for at, (a, b) in enumerate(zip(one.tokens, other.tokens, strict=False)):
        if a != b:
            return at
    return None


def _mark(offer: Proposal, places: set[int]) -> Proposal:
    return replace(offer, buckets=[disputed(key) if at in places else key for at, key in enumerate(offer.buckets)])
