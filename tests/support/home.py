"""A person's folders in a temporary place, and the command line run in them, in this process."""

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from paceline.cli import main
from support.http_server import Hub
from support.tiny_model import write_tiny_model

ONE_THREAD = "[engine]\nthreads = 1\n"


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def failed(self, code: int) -> bool:
        """With this exit code, a reason and a hint on stderr, and nothing on stdout that is no output."""
        return self.code == code and "error: " in self.err and "\nhint: " in self.err and "Traceback" not in self.err


class Home:
    """No network: what asks for the Hub gets an error, unless `use` names a server on this machine."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        for name in ("config", "data", "state", "cache"):
            monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(root / name))
        monkeypatch.delenv("PACELINE_CONFIG", raising=False)
        (root / "run").mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(root / "run"))
        monkeypatch.setenv("NO_COLOR", "1")
        self.settings = root / "config/paceline/config.toml"
        self.catalogue = root / "config/paceline/catalogue.toml"
        self.store = root / "data/paceline/models"
        self.measured = root / "state/paceline/measurements"
        self.settings.parent.mkdir(parents=True)
        self.write(ONE_THREAD)
        self.forbid_network()

    def forbid_network(self) -> None:
        self._monkeypatch.setattr("paceline.models.hub.offline", lambda: True)

    def use(self, hub: Hub) -> None:
        """Take models from this server."""
        self._monkeypatch.setattr("paceline.models.hub.offline", lambda: False)
        self._monkeypatch.setattr("paceline.models.hub.endpoint", lambda: hub.url)

    def write(self, settings: str) -> None:
        self.settings.write_text(settings, encoding="utf-8")

    def add(self, **entry: object) -> None:
        """A model of the person's own catalogue."""
        self._append("model", entry)

    def add_pair(self, **entry: object) -> None:
        self._append("pair", entry)

    def _append(self, table: str, entry: dict[str, object]) -> None:
        lines = [f"{key} = {str(value).lower() if value is True else repr(value)}" for key, value in entry.items()]
        with self.catalogue.open("a", encoding="utf-8") as file:
            file.write("\n".join([f"[[{table}]]", *lines, ""]))

    def tiny_pair(self, **draft: object) -> tuple[Path, Path]:
        """The pair "tiny", of files of the person's own; `draft` goes to `write_tiny_model`."""
        target = write_tiny_model(self.root / "target.gguf")
        other = write_tiny_model(self.root / "draft.gguf", **{"noise": 0.05, **draft})
        self.add(id="tiny-target", path=str(target), licence="MIT")
        self.add(id="tiny-draft", path=str(other), licence="MIT")
        self.add_pair(id="tiny", target="tiny-target", draft="tiny-draft")
        return target, other

    def choose(self, pair: str = "tiny") -> None:
        """Name a pair in the configuration."""
        self.write(f'{ONE_THREAD}[models]\npair = "{pair}"\n')

    def run(self, *words: str, stdin: str = "") -> Ended:
        self._monkeypatch.setattr(sys, "argv", ["paceline", *words])
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = self._capsys.readouterr()
        return Ended(int(ended.value.code or 0), shown.out, shown.err)
