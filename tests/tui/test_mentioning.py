"""A file is completed, and then what is in it."""

import pytest

from paceline.tui.widgets.prompt import Prompt
from support.app_driving import chat, quiet, told, until, write

CART = "class Cart:\n    def add(self, item): ...\n\n    def total(self): ...\n"


@pytest.fixture
def here(app):
    made = app()
    (made.services.root / "shop").mkdir()
    (made.services.root / "shop/cart.py").write_text(CART)
    return made


async def test_behind_a_completed_file_a_colon_leads_into_it(here, client):
    async with here.run_test() as pilot:
        await chat(pilot).suggesting.ready()
        await write(pilot, "See @cart", send=False)
        await until(pilot, lambda: chat(pilot).suggesting.popup.open)
        await pilot.press("tab")
        prompt = chat(pilot).query_one(Prompt)
        await until(pilot, lambda: prompt.text == "See @shop/cart.py ")
        await pilot.press("colon", *"tot")
        assert prompt.text == "See @shop/cart.py:tot"
        await until(pilot, lambda: chat(pilot).suggesting.popup.open)
        await pilot.press("tab")
        await until(pilot, lambda: prompt.text == "See @shop/cart.py:Cart.total ")
        await pilot.press("colon")
        assert prompt.text == "See @shop/cart.py:Cart.total :"


async def test_a_method_is_attached_by_its_plain_name(here, client):
    async with here.run_test(notifications=True) as pilot:
        await chat(pilot).suggesting.ready()
        await write(pilot, "See @shop/cart.py:add please")
        await quiet(pilot)
        assert "Cart.add, shop/cart.py:2" in client.asked[0].messages[-1].content


async def test_what_several_classes_have_is_asked_back(here, client):
    (here.services.root / "shop/cart.py").write_text(CART + "\n\nclass Basket:\n    def add(self, item): ...\n")
    async with here.run_test(notifications=True) as pilot:
        await chat(pilot).suggesting.ready()
        await write(pilot, "See @shop/cart.py:add please")
        assert "it has Cart.add, Basket.add" in told(pilot)
        assert client.asked == []
