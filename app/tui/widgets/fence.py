"""What can be done with a code block: the row below it, and what a click there means. Nothing here draws."""

from collections.abc import Sequence
from dataclasses import dataclass

from paceline.tui.widgets.rows import Row, Span, measure


@dataclass(frozen=True)
class Offer:
    """Something that can be done with a code block, as its last line offers it."""

    key: str  # as a person presses it
    label: str
    action: str  # what BlockAction names


OFFERS = (
    Offer("c", "copy", "copy"),
    Offer("s", "save", "save"),
    Offer("o", "open", "open"),
    Offer("r", "run", "run"),
    Offer("a", "apply", "apply"),
)


def offers_row(offers: Sequence[Offer], width: int, indent: int = 0) -> Row:
    """The row: those that fit, and a line to its end."""
    spans: list[Span] = [(" " * indent, ())] if indent else []
    for offer, columns in _placed(offers, width, indent):
        spans += [("─ ", ("frame",)), (offer.key, ("offer-key",)), (f" {offer.label} ", ("offer",))]
        assert measure(spans) == columns.stop
    return Row((*spans, ("─" * max(0, width - measure(spans)), ("frame",))))


def offered(offers: Sequence[Offer], column: int, width: int, indent: int = 0) -> Offer | None:
    """What is offered at this column of the row; None: nothing is."""
    return next((offer for offer, columns in _placed(offers, width, indent) if column in columns), None)


def _placed(offers: Sequence[Offer], width: int, indent: int) -> list[tuple[Offer, range]]:
    found = []
    at = indent
    for offer in offers:
        size = measure([(f"─ {offer.key} {offer.label} ", ())])
        if at + size > width:
            break
        found.append((offer, range(at, at + size)))
        at += size
    return found
