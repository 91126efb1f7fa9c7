"""Colours of the app, what they are called, and which of them a terminal can show.

Besides Textual's variables each theme has those of code ($code-keyword and so on), of drafters ($draft-ngram and so on;
on a terminal of sixteen colours the ones that `paceline ask --show-drafts` uses), and of what stands behind changed
code ($diff-out and so on; the marks are for the words that changed).
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from textual.theme import BUILTIN_THEMES, Theme

_CODE = ("keyword", "type", "function", "builtin", "constant", "number", "string", "comment")
_DRAFT = ("ngram", "edit", "draft", "lookahead", "other")
_DIFF = ("out", "out-mark", "in", "in-mark")


def _colours(code: Iterable[str], draft: Iterable[str], diff: Iterable[str]) -> dict[str, str]:
    """The variables of code, drafters and changes, in the order in which those are named above."""
    names = [f"{kind}-{name}" for kind, of in (("code", _CODE), ("draft", _DRAFT), ("diff", _DIFF)) for name in of]
    return dict(zip(names, [*code, *draft, *diff], strict=True))


_DARK_CODE = ("#c9a0ff", "#6fd3e3", "#82b4ff", "#6fd3e3", "#f5a97f", "#f5a97f", "#a3d78a", "#9aa5b7")
_LIGHT_CODE = ("#7a1fa2", "#00667a", "#1d4fb8", "#00667a", "#9a4b00", "#9a4b00", "#256b25", "#565f6d")
_CONTRAST_CODE = ("#ff9cff", "#7fffff", "#9fc8ff", "#7fffff", "#ffd37f", "#ffd37f", "#9fff9f", "#d0d0d0")
_ANSI_CODE = (
    *("ansi_magenta", "ansi_cyan", "ansi_blue", "ansi_cyan", "ansi_red", "ansi_red", "ansi_green", "ansi_default"),
)
_DARK_DRAFT = ("#8fd694", "#6fd3e3", "#e08fff", "#ff8b8b", "#82b4ff")
_LIGHT_DRAFT = ("#256b25", "#00667a", "#8a1fa2", "#b3002d", "#1d4fb8")
_CONTRAST_DRAFT = ("#9fff9f", "#7fffff", "#ff9cff", "#ff9f9f", "#9fc8ff")
_ANSI_DRAFT = ("ansi_green", "ansi_cyan", "ansi_magenta", "ansi_red", "ansi_blue")
_DARK_DIFF = ("#33202a", "#562430", "#1d2f2a", "#193a24")
_LIGHT_DIFF = ("#fbe9e9", "#f9d5d6", "#e6f3e4", "#c9e8c6")
_CONTRAST_DIFF = ("#3a0008", "#600010", "#00280a", "#00340d")
_PLAIN = "ansi_default"
_PLAIN_DIFF = (_PLAIN,) * len(_DIFF)
_DARK = _colours(_DARK_CODE, _DARK_DRAFT, _DARK_DIFF)
_LIGHT = _colours(_LIGHT_CODE, _LIGHT_DRAFT, _LIGHT_DIFF)
_ANSI = _colours(_ANSI_CODE, _ANSI_DRAFT, _PLAIN_DIFF)
_TERMINAL = {  # variables that Textual has in themes of the terminal's own colours only
    "ansi-background": _PLAIN,
    "ansi-foreground": _PLAIN,
    "border-blurred": _PLAIN,
    "input-cursor-background": _PLAIN,
    "input-cursor-foreground": _PLAIN,
    "input-selection-background": _PLAIN,
    "input-selection-foreground": _PLAIN,
    "screen-selection-background": _PLAIN,
    "screen-selection-foreground": _PLAIN,
    "block-cursor-foreground": _PLAIN,
    "block-cursor-background": _PLAIN,
    "block-cursor-text-style": "reverse",
}

THEMES: tuple[Theme, ...] = (
    Theme(
        name="paceline-dark",
        primary="#82b4ff",
        secondary="#6fd3e3",
        accent="#ffb454",
        warning="#ffb454",
        error="#ff6b7d",
        success="#8fd694",
        foreground="#d8dee9",
        background="#14181f",
        surface="#1c222c",
        panel="#262d39",
        variables=_DARK,
    ),
    Theme(
        name="paceline-light",
        primary="#1d4fb8",
        secondary="#00667a",
        accent="#9a4b00",
        warning="#9a4b00",
        error="#b3002d",
        success="#256b25",
        foreground="#1b2027",
        background="#fbfbf9",
        surface="#f0f0ec",
        panel="#e4e4de",
        dark=False,
        variables=_LIGHT,
    ),
    Theme(
        name="paceline-contrast",
        primary="#9fd0ff",
        secondary="#7fffff",
        accent="#ffff5f",
        warning="#ffff5f",
        error="#ff9f9f",
        success="#9fff9f",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1c1c1c",
        variables={
            **_colours(_CONTRAST_CODE, _CONTRAST_DRAFT, _CONTRAST_DIFF),
            "foreground-muted": "#d0d0d0",
            "border": "#ffffff",
            "border-blurred": "#d0d0d0",
        },
    ),
    Theme(
        name="paceline-ansi",
        ansi=True,
        primary="ansi_blue",
        secondary="ansi_cyan",
        accent="ansi_magenta",
        warning="ansi_red",
        error="ansi_red",
        success="ansi_green",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        variables={**_ANSI, **_TERMINAL},
    ),
    Theme(
        name="paceline-plain",
        ansi=True,
        primary=_PLAIN,
        secondary=_PLAIN,
        accent=_PLAIN,
        warning=_PLAIN,
        error=_PLAIN,
        success=_PLAIN,
        foreground=_PLAIN,
        background=_PLAIN,
        surface=_PLAIN,
        panel=_PLAIN,
        boost=_PLAIN,
        variables={
            **_colours([_PLAIN] * len(_CODE), [_PLAIN] * len(_DRAFT), _PLAIN_DIFF),
            **_TERMINAL,
            **dict.fromkeys(("border", "border-blurred", "scrollbar", "scrollbar-hover", "scrollbar-active"), _PLAIN),
            **dict.fromkeys(("scrollbar-background", "scrollbar-background-hover"), _PLAIN),
            **dict.fromkeys(("scrollbar-background-active", "link-color", "link-color-hover"), _PLAIN),
        },
    ),
)
OWN = {"dark": "paceline-dark", "light": "paceline-light", "contrast": "paceline-contrast", "ansi": "paceline-ansi"}
AUTO = "auto"
# what the configuration and /theme take, in the order in which it is offered, and what it looks like
ABOUT: Mapping[str, str] = {
    AUTO: "what the terminal can show",
    "dark": "light text on a dark ground",
    "light": "dark text on a light ground",
    "contrast": "as much contrast as there is",
    "ansi": "the terminal's own sixteen colours",
}
_RICH_TERMINALS = ("256color", "direct", "kitty", "alacritty", "ghostty", "foot", "wezterm")


def choose(name: str, environ: Mapping[str, str]) -> str:
    """The theme's name, for what the configuration says (auto, dark, light, contrast, ansi, or one of Textual's).

    No colours where NO_COLOR is set, whatever the configuration says. auto, and a name that is unknown: the terminal's
    own sixteen colours where it has no more; otherwise dark, or light where it says that its background is.
    """
    if colourless(environ):
        return "paceline-plain"
    if name != AUTO and not fault(name):
        return OWN.get(name, name)
    if not _has_many_colours(environ):
        return OWN["ansi"]
    return OWN["light"] if _is_light(environ) else OWN["dark"]


def colourless(environ: Mapping[str, str]) -> bool:
    """Whether the person wants no colours, in any program: NO_COLOR is set, and not empty."""
    return bool(environ.get("NO_COLOR"))


def names() -> tuple[str, ...]:
    """What themes are called by people: ours first, then Textual's."""
    return (*ABOUT, *sorted(BUILTIN_THEMES))


def called(theme: str) -> str:
    """What people call a theme, from its name in Textual: "dark" for "paceline-dark"."""
    return next((name for name, each in OWN.items() if each == theme), theme)


def fault(name: str) -> str:
    """What is wrong with a theme's name in the configuration; "": nothing."""
    if name in names() or any(name == theme.name for theme in THEMES):
        return ""
    near = get_close_matches(name.lower(), names(), n=1)
    meant = f"did you mean {near[0]}?" if near else f"it may be {', '.join(ABOUT)}, or one of Textual's"
    return f'there is no theme "{name}"; {meant}'


def defaults(theme: Theme | None = None) -> dict[str, str]:
    """Variables for themes that are not the app's own: return them from `App.get_theme_variable_defaults`."""
    if theme is None or theme.ansi:
        return dict(_ANSI)
    return dict(_DARK if theme.dark else _LIGHT)


def _has_many_colours(environ: Mapping[str, str]) -> bool:
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return True
    terminal = environ.get("TERM", "").lower()
    return any(word in terminal for word in _RICH_TERMINALS) or "WT_SESSION" in environ


def _is_light(environ: Mapping[str, str]) -> bool:
    """What rxvt, Konsole and others say in COLORFGBG: foreground;background, in the sixteen colours' numbers."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "15")
