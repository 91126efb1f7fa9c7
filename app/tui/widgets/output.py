"""What a command prints, while it runs and until the next message is sent."""

from pathlib import Path

from textual.widgets import Log

from paceline.text import strip_controls

KEPT = 2000  # lines


class Output(Log):
    """Takes no room while there is nothing to see. Focused, it scrolls with the arrow keys."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(highlight=False, max_lines=KEPT, auto_scroll=True, id=id)
        self.display = False

    def begin(self, line: str) -> None:
        """A command has been started."""
        self.clear()
        self.display = True
        self.write(" ".join(strip_controls(line).split()) + "\n")

    def add(self, text: str) -> None:
        """More of what it prints; safe to show."""
        self.write(text.expandtabs(4))

    def end(self, how: str) -> None:
        """It is over."""
        if self.line_count and self.lines[-1]:
            self.write("\n")
        self.write(f"[{how}]")

    def hide(self) -> bool:
        """Show nothing; whether there was something."""
        shown, self.display = bool(self.display), False
        return shown
