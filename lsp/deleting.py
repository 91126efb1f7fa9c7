"""Whether a change is a single deletion: somebody who takes something back does not want to see more of it."""

PAIRS = frozenset({"()", "[]", "{}", "<>", '""', "''", "``"})  # that editors take away together
BLANKS = " \t"
BREAKS = ("\r\n", "\n", "\r")


def is_single(removed: str, before: str) -> bool:
    """Whether this was taken away by one stroke, which left `before` in front of it.

    One character; an empty pair; blanks up to a line's first character, as a step of indentation; or a line's end and
    the blanks behind it, which some editors take together.
    """
    if len(removed) == 1 or removed in PAIRS or removed == "\r\n":
        return True
    behind = next((removed.removeprefix(each) for each in BREAKS if removed.startswith(each)), None)
    if behind is not None:
        return not behind.strip(BLANKS)
    line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    return bool(removed) and not removed.strip(BLANKS) and not line.strip(BLANKS)
