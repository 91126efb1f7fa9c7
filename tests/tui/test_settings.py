"""Values of the app's configuration that mean nothing are named, with what may be meant; all others are taken."""

import pytest

from paceline.config import ChatConfig, Config
from paceline.tui import keymap
from paceline.tui.app import PacelineApp
from paceline.tui.settings import wrong
from support import app_driving
from support.app_services import ScriptedClient, services


def told(theme="auto", **keys):
    return wrong(ChatConfig(theme=theme, keys={name.replace("__", "."): each for name, each in keys.items()}))


@pytest.mark.parametrize("theme", ["auto", "dark", "light", "contrast", "ansi", "nord", "paceline-dark"])
def test_themes_that_there_are_are_right(theme):
    assert told(theme) == []


@pytest.mark.parametrize(("theme", "meant"), [("solarised", "solarized-"), ("Dark", "mean dark?"), ("x", "contrast")])
def test_a_theme_that_there_is_not_is_named_with_what_may_be_meant(theme, meant):
    (said,) = told(theme)
    assert said.startswith(f'chat.theme: there is no theme "{theme}"; ')
    assert meant in said


@pytest.mark.parametrize(
    "keys",
    [
        {"drafts": "f2,ctrl+t"},
        {"drafts": "f2, ctrl+t"},
        {"chat__drafts": "f12"},
        {"help": "&"},
        {"help": "alt+ampersand"},
        {"turns__copy": "y"},
        {"review__all": "y"},
        {"drafts": "f3", "rounds": "f2"},  # changed about
        {"stop": "escape"},  # as it is
        {"write": "ctrl+shift+pagedown"},
        {"new": "+"},
    ],
)
def test_actions_and_keys_that_there_are_are_right(keys):
    assert told(**keys) == []


def test_an_action_that_there_is_not_is_named():
    assert told(draft="f9") == ['chat.keys: there is no action "draft"; did you mean drafts?']
    assert told(turn__copy="y") == ['chat.keys: there is no action "turn.copy"; did you mean turns.copy?']
    (said,) = told(foo="f9")
    assert 'no action "foo"; there are stop, interrupt, help' in said and "review" not in said
    (said,) = told(review__zzz="f9")
    assert 'no action "review.zzz"; there are review.hunk, review.apply' in said
    (said,) = told(nowhere__zzz="f9")
    assert 'no action "nowhere.zzz"; the places are ' in said and "turns" in said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("ctrl-t", 'drafts: there is no key "ctrl-t"; did you mean ctrl+t?'),
        ("Ctrl+T", 'drafts: there is no key "Ctrl+T"; did you mean ctrl+t?'),
        ("f2,pagdown", 'drafts: there is no key "pagdown"; did you mean pagedown?'),
        ("f2 f9", 'drafts: there is no key "f2 f9"; write it as in "f2,ctrl+t"'),
        ("strg+t", 'drafts: there is no key "strg+t"; write it as in "f2,ctrl+t"'),
        ("", "drafts: a key is missing"),
    ],
)
def test_a_key_that_there_is_not_is_named(keys, said):
    assert told(drafts=keys) == [f"chat.keys: {said}"]


@pytest.mark.parametrize(
    ("keys", "two"),
    [
        ({"drafts": "f3"}, "drafts and rounds"),
        ({"recall": "ctrl+g"}, "recall and prompt.editor"),  # the prompt has the focus in the same screen
        ({"drafts": "f12", "rounds": "f12"}, "drafts and rounds"),
        ({"review__all": "n"}, "review.all and review.none"),
    ],
)
def test_a_key_of_two_actions_is_told_once(keys, two):
    (said,) = told(**keys)
    assert said.startswith('chat.keys: "') and said.endswith(f'" is the key of two actions, {two}')


def test_the_same_key_may_do_different_things_in_different_places():
    assert told(turns__copy="n", review__all="y") == []


def test_every_usual_key_is_one_and_none_of_the_conversation_has_two_actions():
    usual = keymap.actions()
    assert len(usual) > 40
    assert all(keymap.is_key(key) for keys in usual.values() for key in keys)
    assert keymap.faults({name: ",".join(keys) for name, keys in usual.items() if name.startswith("chat.")}) == []


def test_names_without_a_place_are_of_the_conversation():
    assert keymap.keymap({"drafts": "f9", "review.all": "y"}) == {"chat.drafts": "f9", "review.all": "y"}


async def test_the_app_says_so_when_it_starts(tmp_path):
    config = Config(chat=ChatConfig(theme="solarised", keys={"foo": "f9"}))
    app = PacelineApp(services(tmp_path, ScriptedClient(), config=config))
    async with app.run_test(notifications=True) as pilot:
        await app_driving.until(pilot, lambda: "foo" in app_driving.told(pilot))
        assert "solarised" in app_driving.told(pilot)
