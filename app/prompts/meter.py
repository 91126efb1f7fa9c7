"""A budget of work, so that a program nobody trusts ends in time and in memory."""

import time

from jinja2.utils import Namespace

STEP = 16  # units of work for one turn of a loop, one call or one filter
NODE = 2  # units for looking at one value inside of a list or mapping
MEBI = 1 << 20
MAX_BITS = 4096  # of an integer
_CONTAINERS = (list, tuple, dict, set, frozenset, Namespace)


class OverBudgetError(Exception):
    """More time, work or memory was wanted than is allowed."""


class Meter:
    """Counts work in units of about one character moved, and looks at the clock whenever it counts.

    Besides the sum, every single value is bounded, counted as if nothing in it were shared: twenty lists that each
    hold the one before twice are small in memory and endless to print or to compare.
    """

    def __init__(self, given: int, seconds: float) -> None:
        """given: characters of honest input; the allowance grows with it. seconds: for all of it together."""
        self.value_limit = MEBI + 4 * given  # characters and nodes in one value
        self._left = 4 * MEBI + 64 * given  # units of work
        self._until = time.monotonic() + seconds + given / MEBI

    def charge(self, units: int) -> None:
        """Spend units of work. Raises OverBudgetError when there are none left, or no time."""
        self._left -= units
        if self._left < 0:
            raise OverBudgetError("it does too much work")
        if time.monotonic() > self._until:
            raise OverBudgetError("it takes too long")

    def room(self, size: int) -> None:
        """A value of this many characters and nodes is about to be made. Raises OverBudgetError if that's too big."""
        if size > self.value_limit:
            raise OverBudgetError("it makes too large a value")
        self.charge(size)

    def bits(self, count: int) -> None:
        """An integer with about this many bits is about to be made. Raises OverBudgetError if that's too big."""
        if count > MAX_BITS:
            raise OverBudgetError("it makes too large a number")

    def weigh(self, value: object) -> int:
        """Characters and nodes of the value. Raises OverBudgetError when it is too large or contains itself."""
        weight, nodes, stack = 0, 0, [value]
        while stack:
            item = stack.pop()
            nodes += 1
            if isinstance(item, str):
                weight += len(item)
            elif isinstance(item, int):
                weight += item.bit_length() // 3
            elif isinstance(item, _CONTAINERS):
                if isinstance(item, Namespace):
                    item = item._Namespace__attrs
                if isinstance(item, dict):
                    stack.extend(item.keys())
                    stack.extend(item.values())
                else:
                    stack.extend(item)
            if weight + nodes + len(stack) > self.value_limit:
                raise OverBudgetError("it makes too large a value")
        self.charge(NODE * nodes)
        return weight + nodes

    def checked(self, value: object) -> object:
        """The value, once it is known to be small enough. Raises OverBudgetError."""
        if isinstance(value, str):
            self.room(len(value))
        elif isinstance(value, _CONTAINERS):
            self.weigh(value)
        elif isinstance(value, int):
            self.bits(value.bit_length())
        return value
