"""What is drawn in terminals that have few signs: Linux's own, and those of other encodings."""

import re
from pathlib import Path

import pytest
import textual
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

import paceline.chat
import paceline.tui
from paceline.tui.signs import Signs, needed
from support.app_driving import chat, until, write

# beside ASCII: what the kernel's own font (code page 437) and those of Debian's console-setup for Latin scripts have
EVERYWHERE = "█░▒·•─│┌┐└┘├┤┬┴┼↑↓←→■▲▼°═║╔╗╚╝╠╣╦╩╬╪╫┼"
SIGNS = re.compile(r"[\u2010-\u2027\u2030-\u205e\u2190-\u27bf\u2900-\u2bff\U0001f300-\U0001faff]")
CONSOLE = {"TERM": "linux", "COLORTERM": ""}


def drawn():
    """Every sign that stands in the source of the app, and in what it has of Textual."""
    ours = [path for package in (paceline.chat, paceline.tui) for path in Path(package.__file__).parent.rglob("*.py")]
    folder = Path(textual.__file__).parent
    theirs = [folder / name for name in ("_border.py", "scrollbar.py", "command.py", "widgets/_option_list.py")]
    sources = [path for path in (*ours, *theirs) if path.name != "signs.py"]
    return sorted({sign for path in sources for sign in SIGNS.findall(path.read_text("utf-8"))})


@pytest.mark.parametrize("sign", drawn())
def test_every_sign_of_the_app_is_in_the_fonts_of_consoles_or_has_a_stand_in_as_wide(sign):
    shown = Signs(console=True, encoding="utf-8").plain(sign)
    assert shown.isascii() or shown in EVERYWHERE
    assert cell_len(shown) == cell_len(sign)


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1", "cp1252"])
@pytest.mark.parametrize("sign", ["─", "█", "…", "☑", "日", "🔎", "д", "“", "·", "é"])
def test_what_an_encoding_lacks_is_written_in_what_it_has_and_as_wide(encoding, sign):
    shown = Signs(console=False, encoding=encoding).plain(sign)
    assert shown.encode(encoding)
    assert cell_len(shown) == cell_len(sign)


def test_what_an_encoding_has_stays():
    assert Signs(console=False, encoding="cp1252").plain("“é” · …") == "“é” · …"


def test_letters_stay_on_a_console():
    assert Signs(console=True, encoding="utf-8").plain("naïve Straße, кот") == "naïve Straße, кот"


@pytest.mark.parametrize(
    ("term", "encoding", "few"),
    [
        ("linux", "utf-8", True),
        ("linux-16color", "UTF-8", True),
        ("xterm-256color", "utf-8", False),
        ("", "utf8", False),
        ("xterm", "ISO-8859-1", True),
        ("xterm", "ascii", True),
    ],
)
def test_who_needs_it(term, encoding, few):
    assert bool(needed({"TERM": term}, encoding)) is few


def test_lines_keep_their_styles():
    before = [Segment("plain"), Segment("▌", "bold")]
    after = Signs(console=True, encoding="utf-8").apply(before, Color(0, 0, 0))
    assert [tuple(each) for each in after] == [("plain", None, None), ("│", "bold", None)]


async def shown(pilot):
    await pilot.pause()
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


ANSWER = "- [x] done\n- [ ] open\n\n```python\npass\n```\n\n> quoted …\n\n| a | b |\n|--|--|\n| 1 | 2 |\n"


async def test_nothing_on_a_console_is_drawn_with_signs_that_it_lacks(app, client):
    client.says = lambda *_: [ANSWER]
    async with app(environ=CONSOLE).run_test(size=(100, 30)) as pilot:
        await write(pilot, "What is left?")
        await pilot.press("f3", "f2")
        conversation = await shown(pilot)
        assert "x done" in conversation
        assert "- open" in conversation
        await write(pilot, "/help")
        await until(pilot, lambda: pilot.app.screen is not chat(pilot))
        pictures = [conversation, await shown(pilot)]
        await pilot.press("escape")
        await write(pilot, "/run echo a\x1bb")
        await until(pilot, lambda: pilot.app.screen is not chat(pilot))
        pictures.append(await shown(pilot))
        for picture in pictures:
            assert [each for each in picture if not (each.isascii() or each in EVERYWHERE)] == []


async def test_elsewhere_all_signs_are_drawn(app, client):
    client.says = lambda *_: [ANSWER]
    async with app().run_test(size=(100, 30)) as pilot:
        await write(pilot, "What is left?")
        assert "☑ done" in await shown(pilot)
