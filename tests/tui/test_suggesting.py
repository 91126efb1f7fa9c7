"""What is offered beside the prompt: for every command that takes a name, the names."""

import pytest

from paceline.chat.slash import COMMANDS
from support.app_driving import chat, quiet, said, until, write
from support.written_turns import user


@pytest.fixture
def here(app):
    made = app()
    (made.services.root / "a.py").write_text("x = 1\n")
    for title in ("About rings", "About ports"):
        made.services.store.add(made.services.store.create("/elsewhere", title=title).id, user("Hi"))
    return made


async def offered(pilot, text):
    await write(pilot, text, send=False)
    await pilot.pause(0.1)
    popup = chat(pilot).suggesting.popup
    return [choice.text for choice in popup._choices]


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.completes], ids=lambda each: each.name)
async def test_names_are_offered_for_every_command_that_takes_one(here, command):
    async with here.run_test() as pilot:
        await chat(pilot).suggesting.ready()
        assert await offered(pilot, f"/{command.name} ")


async def test_a_session_is_found_by_its_title_and_opened(here):
    async with here.run_test() as pilot:
        assert sorted(await offered(pilot, "/resume ")) == ["About ports", "About rings"]
        assert await offered(pilot, "/resume RING ab") == ["About rings"]
        await pilot.press("enter")
        await until(pilot, lambda: said(pilot) == [("user", "Hi", "done")])
        assert chat(pilot).conversation.session.title == "About rings"
        await quiet(pilot)


async def test_the_session_that_is_open_is_not_offered(here):
    async with here.run_test() as pilot:
        await write(pilot, "Something else")
        assert sorted(await offered(pilot, "/resume ")) == ["About ports", "About rings"]


async def test_what_is_not_offered_of_a_large_workspace_is_said(here):
    async with here.run_test() as pilot:
        await chat(pilot).suggesting.ready()
        chat(pilot).suggesting.workspace.note = "only the first 50,000 files are offered"
        await offered(pilot, "See @a")
        popup = chat(pilot).suggesting.popup
        assert popup.open and popup._note == "only the first 50,000 files are offered"
        await offered(pilot, "See @nothing-like-it")
        assert not popup.open and popup.display
