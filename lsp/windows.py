"""The windows of one document: one that can be read at once, and a larger one that is read while nobody waits."""

from dataclasses import dataclass, replace

from paceline.client.events import Extra
from paceline.lsp.anchor import Budget, Window, choose
from paceline.lsp.place import Place


@dataclass
class Windows:
    """What is in the engine's cache, as far as this document knows."""

    ready: Window | None = None  # the large one, read
    warming: Window | None = None  # the next large one, being read
    small: Window | None = None
    outdated: bool = False  # what the large one shows of other files

    def choose(self, place: Place, small: Budget, full: Budget) -> Window:
        """The window for a request that somebody waits for: a large one if it has been read, else a small one."""
        for window in (self.ready, self.small):
            if window is not None and window.typed(place) is not None:
                return window
        chosen = choose(place, small)
        if small.prefix >= full.prefix and small.suffix >= full.suffix:
            chosen = replace(chosen, full=True)
            self.ready = chosen
        self.small = chosen
        return chosen

    def lacks(self, place: Place) -> bool:
        """Whether another large window should be read."""
        if self.outdated:
            return True
        for window in (self.warming, self.ready):
            typed = window.typed(place) if window is not None else None
            if window is not None and typed is not None and not window.far(typed):
                return False
        return True

    def wanted(self, place: Place, full: Budget, extra: tuple[Extra, ...]) -> Window | None:
        """The large window that should be read next, if any. Then say `began`, and `ended`."""
        if not self.lacks(place):
            return None
        chosen = choose(place, full, self.warming or self.ready)
        if self.small is not None and not extra and (chosen.prefix, chosen.suffix) == _texts(self.small):
            self.ready, self.outdated = replace(self.small, full=True), False  # the small one has it all
            return None
        return replace(chosen, full=True, extra=extra)

    def began(self, window: Window) -> None:
        """It is being read."""
        self.warming, self.outdated = window, False

    def ended(self, window: Window, *, read: bool) -> None:
        """It has been read, or that was stopped."""
        if self.warming is window:  # or it is of no use any more, whatever has become of it
            self.warming = None
            self.ready = window if read else self.ready

    def forget(self) -> None:
        """The engine is another one, or its cache is lost."""
        self.ready = self.warming = self.small = None


def _texts(window: Window) -> tuple[str, str]:
    return window.prefix, window.suffix
