"""The workloads: what a coding assistant does all day. Their texts are in `workloads.toml` beside this file."""

from importlib import resources

import msgspec

from paceline.config import convert, read_toml


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, or a hole in a file that is to be filled in."""

    name: str
    title: str  # what it is about, for people
    prompt: str = ""  # the question; empty: a hole
    language: str = ""  # of the file
    file: str = ""  # which the question is about
    before: str = ""  # the hole, up to the end of a line
    after: str = ""  # the hole

    @property
    def is_hole(self) -> bool:
        """Whether it is filled in, rather than asked."""
        return not self.prompt

    @property
    def question(self) -> str:
        """What the model is asked, the file included."""
        return f"{self.prompt}\n\n```{self.language}\n{self.file}```" if self.file else self.prompt


class _Workloads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    workload: tuple[Workload, ...]


def load() -> dict[str, Workload]:
    """All of them by name, in the order in which they are measured."""
    with resources.as_file(resources.files("paceline.bench") / "workloads.toml") as path:
        return {each.name: each for each in convert(read_toml(path), _Workloads, path).workload}
