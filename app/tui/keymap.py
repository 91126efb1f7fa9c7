"""The keys that the configuration gives to actions: as Textual wants them, and what is wrong with them.

An action is called as its binding is (`chat.drafts`); what stands before the dot says where it can be done, and may be
left out for the conversation.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

from textual import keys as textual_keys
from textual.binding import Binding
from textual.dom import DOMNode

HERE = "chat"  # the place that may be left out
# places whose keys work at the same time: whatever has the focus is in the conversation's screen, and in the app
TOGETHER = (frozenset({HERE, "app", "prompt"}), frozenset({HERE, "app", "turns"}))
_ROOMS = ("paceline.tui.screens", "paceline.tui.widgets")
_MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})
_NAMED = frozenset(key.value for key in textual_keys.Keys if "+" not in key.value and not key.value.startswith("<"))


def keymap(keys: Mapping[str, str]) -> Mapping[str, str]:
    """Textual's keymap for the configuration's."""
    return {_whole(name): each for name, each in keys.items()}


def faults(keys: Mapping[str, str]) -> list[str]:
    """What is wrong with the configuration's keys, a sentence each: such as an action that there is not.

    Loads every screen where there are any keys, to know their actions.
    """
    if not keys:
        return []
    usual = actions()
    wanted = {_whole(name): _split(each) for name, each in keys.items()}
    unknown = [_no_action(name, usual) for name in keys if _whole(name) not in usual]
    wrong = [f"{name}: {_no_key(key)}" for name, each in keys.items() for key in _split(each) if not is_key(key)]
    return [*unknown, *wrong, *_clashes(usual, {name: each for name, each in wanted.items() if name in usual})]


def actions() -> dict[str, tuple[str, ...]]:
    """Every action whose keys can be chosen, with its usual keys."""
    found: dict[str, tuple[str, ...]] = {}
    for each in _with_bindings():
        for binding in each.BINDINGS:
            if isinstance(binding, Binding) and binding.id:
                found[binding.id] = (*found.get(binding.id, ()), *_split(binding.key))
    return {name: tuple(dict.fromkeys(each)) for name, each in found.items()}


def is_key(name: str) -> bool:
    """Whether Textual has a key of this name, such as "f2", "ctrl+t" or "?"."""
    *modifiers, key = name.split("+") if name != "+" else [name]
    if not _MODIFIERS.issuperset(modifiers) or (modifiers and key.isupper()):
        return False
    if len(key) == 1 or key in _NAMED or key in textual_keys.KEY_NAME_REPLACEMENTS.values():
        return key.isprintable() and not key.isspace()
    try:
        unicodedata.lookup(textual_keys.KEY_TO_UNICODE_NAME.get(key, key.replace("_", " ")))
    except KeyError:
        return False
    return True


def _whole(name: str) -> str:
    """An action's name with its place."""
    return name if "." in name else f"{HERE}.{name}"


def _split(keys: str) -> tuple[str, ...]:
    """Single keys, as Textual names them."""
    return tuple(
        textual_keys._character_to_key(key) if len(key) == 1 else key for key in map(str.strip, keys.split(","))
    )


def _with_bindings() -> Iterator[type[DOMNode]]:
    """The app, and all of its screens and widgets."""
    modules = [import_module("paceline.tui.app")]
    for room in map(import_module, _ROOMS):
        modules += [import_module(f"{room.__name__}.{each.name}") for each in iter_modules(room.__path__)]
    for module in modules:
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, DOMNode) and each.__module__ == module.__name__:
                yield each


def _no_action(name: str, usual: Mapping[str, object]) -> str:
    """An action that there is not, with the one that may be meant, or all of its place."""
    near = get_close_matches(name.lower(), map(_short, usual), n=1, cutoff=0.75)
    place = _whole(name).partition(".")[0]
    there = [_short(each) for each in usual if each.startswith(f"{place}.")]
    places = dict.fromkeys(each.partition(".")[0] for each in usual)
    listed = f"there are {', '.join(there)}" if there else f"the places are {', '.join(places)}"
    return f'there is no action "{name}"; ' + (f"did you mean {near[0]}?" if near else listed)


def _no_key(key: str) -> str:
    """A key that there is not, with the one that may be meant."""
    if not key:
        return "a key is missing"
    likely = key.lower().replace("-", "+").replace("control", "ctrl").replace(" ", "")
    near = [likely] if is_key(likely) else get_close_matches(likely, _NAMED, n=1, cutoff=0.75)
    return f'there is no key "{key}"; ' + (f"did you mean {near[0]}?" if near else 'write it as in "f2,ctrl+t"')


def _clashes(usual: Mapping[str, tuple[str, ...]], wanted: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Keys that the configuration gives to an action while another one has them, in the same place."""
    now = {**usual, **wanted}
    told = set[tuple[str, ...]]()
    for name, keys in wanted.items():
        for other, theirs in now.items():
            for key in keys:
                fact = (key, *sorted((name, other)))
                if other != name and key in theirs and _meet(name, other) and fact not in told:
                    told.add(fact)
                    yield f'"{key}" is the key of two actions, {" and ".join(map(_short, (name, other)))}'


def _meet(one: str, other: str) -> bool:
    """Whether two actions can be done at the same time."""
    places = {one.partition(".")[0], other.partition(".")[0]}
    return len(places) == 1 or any(places <= each for each in TOGETHER)


def _short(name: str) -> str:
    return name.removeprefix(f"{HERE}.")
