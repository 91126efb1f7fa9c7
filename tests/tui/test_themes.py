"""Every terminal gets colours it can show."""

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from paceline.commands.drafts import ANOTHER, COLOURS
from paceline.tui.themes import ABOUT, OWN, THEMES, called, choose, defaults, names

BY_NAME = {theme.name: theme for theme in THEMES}
CODE = [name for name in defaults() if name.startswith(("code-", "draft-"))]
CHANGED = ("diff-out", "diff-out-mark", "diff-in", "diff-in-mark")  # what stands behind changed code


@pytest.mark.parametrize(
    ("name", "environ", "chosen"),
    [
        ("auto", {"TERM": "xterm-256color"}, "paceline-dark"),
        ("auto", {"TERM": "tmux-256color", "COLORFGBG": "0;15"}, "paceline-light"),
        ("auto", {"TERM": "xterm", "COLORTERM": "truecolor"}, "paceline-dark"),
        ("auto", {"TERM": "linux"}, "paceline-ansi"),
        ("auto", {"TERM": "screen"}, "paceline-ansi"),
        ("auto", {}, "paceline-ansi"),
        ("contrast", {"TERM": "linux"}, "paceline-contrast"),
        ("light", {}, "paceline-light"),
        ("nord", {}, "nord"),
        ("no such theme", {"TERM": "xterm-256color"}, "paceline-dark"),
        ("dark", {"NO_COLOR": "1", "TERM": "xterm-256color"}, "paceline-plain"),
        ("dark", {"NO_COLOR": ""}, "paceline-dark"),
    ],
)
def test_a_theme_is_chosen(name, environ, chosen):
    assert choose(name, environ) == chosen
    assert chosen in BY_NAME or chosen in BUILTIN_THEMES


@pytest.mark.parametrize("name", ["paceline-dark", "paceline-light", "paceline-contrast"])
def test_text_can_be_read(name):
    theme = BY_NAME[name]
    ground, code = Color.parse(theme.background), Color.parse(theme.surface)
    least = 7 if name == "paceline-contrast" else 4.5
    for colour in (theme.foreground, theme.primary, theme.secondary, theme.accent, theme.error, theme.success):
        assert contrast(Color.parse(colour), ground) >= least, colour
    for variable in CODE:
        assert contrast(Color.parse(theme.variables[variable]), code) >= least, variable


@pytest.mark.parametrize("name", ["paceline-dark", "paceline-light", "paceline-contrast"])
def test_changed_code_can_be_read_in_all_of_its_colours(name):
    theme = BY_NAME[name]
    grounds = [Color.parse(theme.variables[each]) for each in CHANGED]
    code = [theme.variables[each] for each in CODE if each.startswith("code-")]
    least = 7 if name == "paceline-contrast" else 4.5
    for colour in (*code, theme.foreground, theme.error, theme.success):
        for ground in grounds:
            assert contrast(Color.parse(colour), ground) >= least, (colour, ground.hex)
    assert len(set(grounds)) == 4


@pytest.mark.parametrize("theme", BUILTIN_THEMES.values(), ids=lambda theme: theme.name)
def test_code_has_colours_for_dark_and_light_in_themes_of_others(theme):
    found = defaults(theme)
    assert set(found) == set(defaults())
    if theme.ansi:
        assert all(value.startswith("ansi_") for value in found.values())
        return
    surface = Color.parse(theme.to_color_system().generate()["surface"])
    for each in (name for name in found if name.startswith("code-")):
        colour = Color.parse(found[each])
        assert all(contrast(colour, Color.parse(found[ground])) >= 4.5 for ground in CHANGED)
        assert contrast(colour, surface) >= 3.5, each  # some of these grounds are neither dark nor light


def contrast(one, other):
    """As WCAG 2 defines it: 4.5 is enough for text, 7 is better."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("name", ["paceline-ansi", "paceline-plain"])
def test_sixteen_colours_are_the_terminals_own(name):
    system = BY_NAME[name].to_color_system().generate()
    for variable in (*CODE, "primary", "foreground", "background", "error"):
        assert system[variable].startswith("ansi_"), variable


def test_no_colour_is_no_colour():
    colours = {BY_NAME["paceline-plain"].to_color_system().generate()[name] for name in (*CODE, "primary", "error")}
    assert colours == {"ansi_default"}


def test_drafters_have_the_colours_that_they_have_on_the_command_line():
    for drafter, colour in {**COLOURS, "other": ANOTHER}.items():
        assert BY_NAME["paceline-ansi"].variables[f"draft-{drafter}"] == f"ansi_{colour}"


def test_all_themes_have_the_same_variables():
    assert all(set(defaults()) <= set(theme.variables) for theme in THEMES)


def test_themes_are_called_as_the_readme_calls_them_and_ours_come_first():
    assert names()[:5] == ("auto", "dark", "light", "contrast", "ansi") == tuple(ABOUT)
    assert list(names()[5:]) == sorted(BUILTIN_THEMES)
    assert {called(theme) for theme in OWN.values()} <= set(names())
    assert called("nord") == "nord"
