"""Whether other files help: holes of which the right answer needs a name that stands in another file of the project."""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from bench.infilling.contestants import Ours
from bench.infilling.holes import Hole
from bench.infilling.passing import runs
from paceline.lsp.ahead import SHARE
from paceline.lsp.context.gather import Context
from paceline.lsp.engine import PREFIX
from paceline.lsp.place import Place
from paceline.prompts.context import Attachment

PROJECTS = Path(__file__).with_name("projects.toml")
HOLE = "‸"
CHARACTERS = int(3.2 * PREFIX) // SHARE  # of other files: what the language server gives them in a large window


@dataclass(frozen=True)
class Project:
    """A document with a hole, the library that it imports from, and what tells whether the hole is filled rightly."""

    library: str  # its name
    text: str
    before: str
    after: str
    answer: str  # one that is right
    test: str

    @property
    def hole(self) -> Hole:
        """The document's."""
        return Hole({"entry_point": "document"}, self.before, self.after, "")

    def passes(self, text: str) -> bool:
        """Whether the document does what it should with this text in the hole."""
        return runs(f"{self.before}{text}{self.after}\n{self.test}", {self.library: self.text})


def projects() -> Iterator[Project]:
    """All of them."""
    for each in tomllib.loads(PROJECTS.read_text("utf-8"))["project"]:
        before, _, after = each["document"].partition(HOLE)
        yield Project(each["library"], each["text"], before, after, each["answer"], each["test"])


def shown(project: Project) -> tuple[Attachment, ...]:
    """What the language server finds in a folder with these two files."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, project.library).write_text(project.text, "utf-8")
        document = project.before + project.after
        Path(folder, project.hole.path).write_text(document, "utf-8")
        uri = Path(folder, project.hole.path).as_uri()
        place = Place(uri, "python", 1, project.before, project.after, project.hole.path, folder)
        context = Context()
        context.opened(uri, place.path, folder, "python", document)
        context.refresh(place)
        return context.gather(place, CHARACTERS)


def compared(who: Ours, details: Path | None = None) -> Mapping[str, Any]:
    """How many holes are filled rightly with other files, and how many without."""
    told = []
    for project in projects():
        assert project.passes(project.answer), f"the right answer is wrong: {project.answer}"
        others = shown(project)
        each: dict[str, Any] = {"library": project.library, "found": len(others)}
        for name, files in (("with", others), ("without", ())):
            text = who.fill(project.hole, several=False, others=files)
            each |= {name: project.passes(text), f"{name}_text": text}
        told.append(each)
        print(f"\r{len(told)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if details:
        details.write_text(json.dumps(told, indent=1, ensure_ascii=False), "utf-8")
    return {
        "projects": len(told),
        "shown_other_files": sum(bool(each["found"]) for each in told),
        "passed_with_other_files": sum(each["with"] for each in told),
        "passed_without": sum(each["without"] for each in told),
    }
