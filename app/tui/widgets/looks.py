"""What the transcript's styles are called, and what each of them looks like in the theme that there is now."""

from rich.style import Style
from textual.widget import Widget

from paceline.tui.widgets import colouring

NAMES = (
    *("you", "model", "branch", "attached", "state", "failed", "selected", "greeting"),
    *("heading", "heading1", "strong", "emphasis", "struck", "code", "link", "address", "quote", "quote-mark", "mark"),
    *("frame", "fence", "fence-title", "offer", "offer-key"),
    *colouring.NAMES,
    *("drafted-ngram", "drafted-edit", "drafted-draft", "drafted-lookahead", "drafted-other"),
)


def look(widget: Widget, component: str) -> Style:
    """What a widget's component looks like, without what is behind it.

    A colour that lets something through is mixed here.
    """
    styles = widget.get_component_styles(component)
    style = styles.partial_rich_style
    colour = styles.color
    if styles.has_rule("color") and colour.a < 1 and colour.ansi is None:
        style += Style(color=(widget.background_colors[1] + colour).rich_color)
    return style
