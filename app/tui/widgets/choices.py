"""A list to choose from, in which the highlighted line is to be seen whatever colours there are."""

from textual.style import Style
from textual.widgets import OptionList

HIGHLIGHTED = "option-list--option-highlighted"


class Choices(OptionList):
    """Textual's list; with the terminal's own colours, or with none, the highlighted line is reversed.

    Textual takes a text style of "reverse" in a stylesheet, and does not draw it in lists.
    """

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        """The style of a line."""
        style = super().get_visual_style(*component_classes, partial=partial)
        return style + Style(reverse=True) if HIGHLIGHTED in component_classes and self.app.native_ansi_color else style
