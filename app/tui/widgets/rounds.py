"""How the last rounds went: tokens per second and acceptance, as two small curves."""

from textual.widget import Widget


class Rounds(Widget):
    """A panel of two curves. Draws only when it is told of a round."""

    def __init__(self, *, kept: int = 240, id: str | None = None) -> None:
        """kept: how many rounds are remembered."""
        super().__init__(id=id)

    def add(self, tokens_per_second: float, acceptance: float | None) -> None:
        """One more round. acceptance: accepted part of what was drafted, 0 to 1; None: nothing was drafted."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forgets all rounds."""
        raise NotImplementedError
