"""What came without a type of its own: arguments of commands, and notifications that the protocol does not know."""

from collections.abc import Sequence
from typing import TypeGuard

from lsprotocol import types

LARGEST = 2**31 - 1  # of the protocol's unsigned numbers


def get(data: object, name: str) -> object:
    """A field; None where there is none. pygls makes objects of some data and leaves others as they are."""
    return data.get(name) if isinstance(data, dict) else getattr(data, name, None)


def is_number(value: object) -> TypeGuard[int]:
    """Whether it may count something. Python takes a truth value for a number."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def number(arguments: Sequence[object]) -> int:
    """The suggestion's, of a command's arguments; 0 where there is none."""
    first = arguments[0] if arguments else 0
    return first if is_number(first) else 0


def arguments(params: object) -> Sequence[object]:
    """Of the command that the item in a notification carries."""
    found = get(get(get(params, "item"), "command"), "arguments")
    return found if isinstance(found, (list, tuple)) else ()


def position(at: object) -> types.Position | None:
    """A position; None for anything else."""
    line, character = get(at, "line"), get(at, "character")
    return types.Position(line, character) if is_number(line) and is_number(character) else None


def lines(span: object) -> tuple[int, int] | None:
    """The first and the last line of a range; None for anything else."""
    first, last = get(get(span, "start"), "line"), get(get(span, "end"), "line")
    return (first, max(first, last)) if is_number(first) and is_number(last) else None
