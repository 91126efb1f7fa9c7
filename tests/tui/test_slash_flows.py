"""Slash commands, from what is typed in the prompt to what a person sees then."""

import pytest
from textual.widgets import Button

from paceline.client.events import Text
from paceline.config import Config, EngineConfig
from support.app_driving import chat, told, until, write
from support.app_services import ScriptedClient, ScriptedProgram
from support.counting_server import CountingServer
from support.templates import QWEN
from support.toy_tokenizer import ToyTokenizer


def seen(pilot):
    """What is on the terminal now."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def shows(pilot, *words):
    await until(pilot, lambda: all(word in seen(pilot) for word in words))


async def says(pilot, words):
    """In a line that goes away by itself; how those are drawn is tested in test_toasts.py."""
    await until(pilot, lambda: words in told(pilot))


async def back(pilot):
    await pilot.press("escape")
    await until(pilot, lambda: pilot.app.screen is chat(pilot))


async def test_model_chooses_the_pair_that_answers_from_now_on(app):
    opened = app()
    async with opened.run_test(size=(100, 30)) as pilot:
        await write(pilot, "/model")
        await shows(pilot, "tiny")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await says(pilot, "tiny answers from now on")
        assert opened.services.models.chosen == ["tiny"]


async def test_model_says_who_answers_where_it_is_a_server(app):
    there = Config(engine=EngineConfig(url="http://127.0.0.1:9/v1"))
    async with app(config=there).run_test(size=(100, 30)) as pilot:
        await write(pilot, "/model")
        await says(pilot, "http://127.0.0.1:9/v1 answers, with its own model")


class TestContext:
    @pytest.fixture
    def client(self):
        return ScriptedClient(counter=CountingServer(QWEN, ToyTokenizer(), context=3000))

    async def test_it_shows_what_each_part_takes(self, app):
        async with app().run_test(size=(100, 30)) as pilot:
            await write(pilot, "How long is this?")
            await write(pilot, "/context")
            await shows(pilot, "system prompt", "earlier turns", "kept for the answer", "of 3,000 tokens")
            await back(pilot)


async def test_context_that_cannot_be_counted_is_said(app):
    async with app().run_test(size=(100, 30)) as pilot:
        await write(pilot, "/context")
        await says(pilot, "nobody counts")


@pytest.mark.parametrize(("line", "argument"), [("/bench", ""), ("/bench edit", "edit"), ("/stats", "")])
async def test_other_commands_are_run_and_what_they_print_is_shown(app, line, argument):
    opened, given = app(), []

    def program(argument):
        given.append(argument)
        return ScriptedProgram(f"paceline {line[1:6]}", ("first line", "last line"))

    opened.services.programs.update({"bench": program, "stats": program})
    async with opened.run_test(size=(100, 30)) as pilot:
        await write(pilot, line)
        await shows(pilot, "first line", "last line", "(done)")
        assert given == [argument]
        await back(pilot)


async def test_drafts_colours_what_was_drafted_and_says_by_whom(app, client):
    client.says = lambda *_: ["by itself ", Text("from the texts", "ngram")]
    async with app().run_test(size=(100, 30)) as pilot:
        await write(pilot, "Hi")
        plain = style_of(pilot, "from the texts")
        assert "drafted by" not in seen(pilot)
        await write(pilot, "/drafts on")
        await shows(pilot, "drafted by: texts at hand")
        assert style_of(pilot, "from the texts") != plain == style_of(pilot, "by itself")
        await write(pilot, "/drafts")
        await until(pilot, lambda: "drafted by" not in seen(pilot))
        assert style_of(pilot, "from the texts") == plain


def style_of(pilot, words):
    segments = [segment for strip in pilot.app.screen._compositor.render_strips() for segment in strip]
    found = next(segment for segment in segments if words.strip() in segment.text)
    return found.style.color


async def test_run_asks_then_shows_the_output_and_attaches_it(app, client):
    async with app().run_test(size=(100, 30)) as pilot:
        await write(pilot, "/run echo made of words; exit 3")
        await shows(pilot, "Run this command?", "echo made of words; exit 3")
        await pilot.press("y")
        await shows(pilot, "$ echo made of words; exit 3", "exited 3")
        await until(pilot, lambda: [each.kind for each in chat(pilot).attached] == ["output"])
        await write(pilot, "Why?")
        assert "made of words" in client.asked[-1].said[-1][1]


async def test_run_runs_nothing_after_a_no(app):
    opened = app()
    async with opened.run_test(size=(100, 30)) as pilot:
        await write(pilot, "/run touch made")
        await shows(pilot, "Run this command?")
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await pilot.pause(0.2)
        assert not (opened.services.root / "made").exists()


async def test_r_shows_the_code_that_python_gets_before_it_runs_it(app, client):
    client.says = lambda *_: ["```python\nprint(6 * 7, end='!')\n```\n"]
    async with app(environ={"VIRTUAL_ENV": ""}).run_test(size=(100, 30)) as pilot:
        await write(pilot, "Compute")
        await pilot.press("ctrl+up", "r")
        await shows(pilot, "Run this command?", "with this to read:", "print(6 * 7, end='!')")
        assert pilot.app.screen.query_one("#no", Button).has_focus
        await pilot.press("y")
        await until(pilot, lambda: chat(pilot).attached)
        assert chat(pilot).attached[0].text.startswith("42!")


async def test_mouse_says_whose_it_is(app):
    async with app().run_test(size=(100, 30)) as pilot:
        await write(pilot, "/mouse off")
        await says(pilot, "the terminal selects text by itself")
        await write(pilot, "/mouse")
        await says(pilot, "the mouse is the app's")


async def test_motion_says_what_is_so_now(app):
    async with app().run_test(size=(100, 30)) as pilot:
        await write(pilot, "/motion off")
        await says(pilot, "nothing moves that need not")
        await write(pilot, "/motion")
        await says(pilot, "what is scrolled moves")


async def test_what_is_no_switch_is_said(app):
    async with app().run_test(size=(100, 30)) as pilot:
        for name in ("mouse", "motion", "drafts"):
            await write(pilot, f"/{name} maybe")
            await says(pilot, "'maybe' is neither on nor off")
            pilot.app.clear_notifications()
            await pilot.pause()
