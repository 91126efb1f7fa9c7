"""Which file a block of an answer is for, and what is said where there is nothing to do."""

import pytest
from textual.widgets import Input

from paceline.tui.screens.naming import NamingScreen
from paceline.tui.screens.review import ReviewScreen
from support.app_driving import chat, told, until, write
from support.screens import Seen

CART = (
    "class Cart:\n    def __init__(self):\n        self.items = []\n\n"
    "    def total(self):\n        return sum(self.items)\n"
)
OLD_TESTS = "from shop.cart import Cart\n\n\ndef test_empty():\n    assert Cart().total() == 0\n"
TEST = "def test_two():\n    cart = Cart()\n    cart.items = [1, 2]\n    assert cart.total() == 3\n"
OTHER = "import sys\n\nfor line in sys.stdin:\n    print(line)\n"


@pytest.fixture
def here(app):
    made = app()
    for name, text in {"shop/cart.py": CART, "tests/test_cart.py": OLD_TESTS}.items():
        (made.services.root / name).parent.mkdir()
        (made.services.root / name).write_text(text)
    return made


async def apply(pilot, asked, number):
    await write(pilot, asked)
    turn = chat(pilot).conversation.path[-1].id
    chat(pilot).do(chat(pilot).files.apply(turn, number))


async def reviewed(pilot):
    await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
    return pilot.app.screen._review.changes


@pytest.mark.parametrize("number", [0, None])
@pytest.mark.parametrize("asked", ["Is @shop/cart.py right?", "Is it right?"])
@pytest.mark.parametrize("code", [CART, CART.rstrip(), "    def total(self):\n        return sum(self.items)\n"])
async def test_a_block_that_the_file_has_already_is_said_to_be_there(here, client, asked, number, code):
    client.says = lambda *_: [f"Yes:\n\n```python\n{code}\n```\n"]
    async with here.run_test(notifications=True) as pilot:
        await apply(pilot, asked, number)
        await until(pilot, lambda: "shop/cart.py is like this already" in told(pilot))
        assert pilot.app.screen is chat(pilot)


async def test_a_replacement_by_the_same_is_said_to_be_there(here, client):
    same = "        self.items = []\n"
    client.says = lambda *_: [f"shop/cart.py\n<<<<<<< SEARCH\n{same}=======\n{same}>>>>>>> REPLACE\n"]
    async with here.run_test(notifications=True) as pilot:
        await apply(pilot, "Mend @shop/cart.py", None)
        await until(pilot, lambda: "shop/cart.py is like this already" in told(pilot))


async def test_where_one_file_is_as_shown_the_change_of_another_is_reviewed(here, client):
    better = f"```python tests/test_cart.py\n{OLD_TESTS}\n\n{TEST}```\n"
    client.says = lambda *_: [f"This is right:\n\n```python shop/cart.py\n{CART}```\n\n{better}"]
    async with here.run_test() as pilot:
        await apply(pilot, "Test @shop/cart.py", None)
        assert [each.path for each in await reviewed(pilot)] == ["tests/test_cart.py"]


async def test_a_file_that_is_named_for_a_block_and_has_it_already_is_not_written_anew(here, client):
    (here.services.root / "run.py").write_text(OTHER)
    client.says = lambda *_: [f"```python\n{OTHER}```\n"]
    async with here.run_test(notifications=True, size=(90, 30)) as pilot:
        await apply(pilot, "Say something", 0)
        await until(pilot, lambda: isinstance(pilot.app.screen, NamingScreen))
        await pilot.pause()
        seen = Seen(pilot, pilot.app).text
        assert "Choose" in seen and "Save" not in seen
        pilot.app.screen.query_one(Input).value = "run.py"
        await pilot.press("enter")
        await until(pilot, lambda: "run.py is like this already" in told(pilot))
        assert pilot.app.screen is chat(pilot)


async def test_where_something_is_saved_the_key_says_so(here, client):
    client.says = lambda *_: [f"```python\n{OTHER}```\n"]
    async with here.run_test(size=(90, 30)) as pilot:
        await write(pilot, "Say something")
        chat(pilot).do(chat(pilot).acting.save(OTHER))
        await until(pilot, lambda: isinstance(pilot.app.screen, NamingScreen))
        await pilot.pause()
        seen = Seen(pilot, pilot.app).text
        assert "Save" in seen and "Choose" not in seen


@pytest.mark.parametrize("number", [0, None])
@pytest.mark.parametrize(
    "sentence",
    [
        "Add the following code to the test_cart.py file:",
        "To test `shop/cart.py`, add the following code to the test_cart.py file:",
        "To test the class in `shop/cart.py`, you can put this in `tests/test_cart.py`:",
        "It is tested by test_cart.py with pytest.ini:",  # which is not there
    ],
)
async def test_the_sentence_before_the_code_says_which_file_it_is_for(here, client, sentence, number):
    client.says = lambda *_: [f"Sure.\n\n{sentence}\n\n```python\n{TEST}```\n"]
    async with here.run_test() as pilot:
        await apply(pilot, "Write tests for @shop/cart.py", number)
        (change,) = await reviewed(pilot)
        assert (change.path, change.before) == ("tests/test_cart.py", OLD_TESTS)
        assert "def test_two" in change.after and "def test_empty" in change.after


async def test_a_file_that_was_found_by_its_name_alone_is_a_guess_and_says_so(here, client):
    client.says = lambda *_: [f"Add this to the test_cart.py file:\n\n```python\n{TEST}```\n"]
    async with here.run_test() as pilot:
        await apply(pilot, "Write tests for @shop/cart.py", 0)
        (change,) = await reviewed(pilot)
        assert not change.certain
        assert "the answer calls it test_cart.py: this is the only file of that name" in change.notes


async def test_of_two_files_of_a_name_none_is_taken(here, client):
    (here.services.root / "more").mkdir()
    (here.services.root / "more/test_cart.py").write_text(OLD_TESTS)
    client.says = lambda *_: [f"Add this to the test_cart.py file:\n\n```python\n{TEST}```\n"]
    async with here.run_test() as pilot:
        await apply(pilot, "Write tests for @shop/cart.py", 0)
        (change,) = await reviewed(pilot)
        assert (change.path, change.before) == ("test_cart.py", None)


@pytest.mark.parametrize("number", [0, None])
async def test_a_new_file_is_made_where_the_sentence_says_so(here, client, number):
    client.says = lambda *_: [f"Create a file checks.py that tests shop/cart.py:\n\n```python\n{TEST}```\n"]
    async with here.run_test() as pilot:
        await apply(pilot, "Write tests for @shop/cart.py", number)
        (change,) = await reviewed(pilot)
        assert (change.path, change.before, change.after) == ("checks.py", None, TEST)


@pytest.mark.parametrize("number", [0, None])
async def test_code_that_no_sentence_places_is_put_into_the_file_that_was_asked_about_with_a_note(here, client, number):
    client.says = lambda *_: [f"You can test it:\n\n```python\n{TEST}```\n"]
    async with here.run_test() as pilot:
        await apply(pilot, "Write tests for @shop/cart.py", number)
        (change,) = await reviewed(pilot)
        assert change.path == "shop/cart.py" and not change.certain
        assert "the answer does not say which file this code is for" in change.notes


async def test_a_block_that_the_answer_did_not_end_is_known_to_be_cut_also_alone(here, client):
    client.says = lambda *_: [f"```python shop/cart.py\n{CART}\n    def count(self):\n        return len(se"]
    async with here.run_test() as pilot:
        await apply(pilot, "Count in @shop/cart.py", 0)
        (change,) = await reviewed(pilot)
        assert not change.certain
        assert "the answer ends within the code" in change.notes
