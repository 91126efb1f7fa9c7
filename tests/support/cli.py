"""The command line as a person meets it, with folders of its own and no network."""

import fcntl
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from support.tiny_model import MERGES, SPARE, special, write_tiny_model

PACELINE = (sys.executable, "-m", "paceline")
OURS = (  # variables
    *("PACELINE_", "XDG_", "HF_", "PIP_", "PYTHONIOENCODING", "PYTHONUTF8", "LC_", "LANG", "NO_COLOR", "FORCE_COLOR"),
)
HAS_SMALL_PIPES = hasattr(fcntl, "F_SETPIPE_SZ")  # on Linux
SMALLEST_PIPE = 4096
SECONDS = 60  # after which a command counts as hanging


class TinyModels:
    """Tiny model files, each made when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def target(self) -> Path:
        return write_tiny_model(self.folder / "target.gguf")

    @cached_property
    def draft(self) -> Path:
        return write_tiny_model(self.folder / "draft.gguf", noise=0.05)

    @cached_property
    def foreign(self) -> Path:
        """A draft that cannot write every text: it has another token in the place of a byte that emoji begin with."""
        return write_tiny_model(self.folder / "foreign.gguf", token_changes={0xF0: "other"})

    @cached_property
    def other_tokens(self) -> Path:
        """A draft that can write every text, with tokens of its own."""
        return write_tiny_model(self.folder / "other-tokens.gguf", noise=0.05, token_changes={SPARE: "other"})

    @cached_property
    def without_fim(self) -> Path:
        return write_tiny_model(self.folder / "without-fim.gguf", fim=False)

    @cached_property
    def without_template(self) -> Path:
        """No chat template, but ChatML's tokens."""
        return write_tiny_model(self.folder / "without-template.gguf", template=False)

    @cached_property
    def base(self) -> Path:
        """Neither chat template nor the tokens of one."""
        others = {special("<|im_start|>"): "<|one|>", special("<|im_end|>"): "<|two|>"}
        return write_tiny_model(self.folder / "base.gguf", template=False, token_changes=others)

    @cached_property
    def hostile(self) -> Path:
        """A model that says, all the time, what clears a screen (and, now and then, what sets a window's title)."""
        escape, bell = chr(256 + 0x1B), chr(256 + 0x07)  # as byte-level BPE writes these bytes
        said = {"re t": f"{escape}[2J", "d e": f"{escape}]0;title{bell}"}
        changes = {256 + MERGES.index(merge): text for merge, text in said.items()}
        return write_tiny_model(self.folder / "hostile.gguf", token_changes=changes)

    @cached_property
    def truncated(self) -> Path:
        return write_tiny_model(self.folder / "truncated.gguf", truncate=-1000)

    @cached_property
    def text(self) -> Path:
        return self._file("text.gguf", b"This is not a model.\n")

    @cached_property
    def empty(self) -> Path:
        return self._file("empty.gguf", b"")

    def _file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


class _File(io.TextIOWrapper):
    """Where a person reads later."""


class _Screen(io.TextIOWrapper):
    """Where a person reads now."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Ran:
    """A command that has ended. Output as it came, line endings included."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict:
        """The one JSON object on stdout."""
        assert self.code == 0, self.err
        assert self.out.endswith("}\n")
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    def failed(self, code: int, *words: str) -> bool:
        """With this exit code, these words on stderr, a hint, and an untouched stdout."""
        assert self.code == code, (self.code, self.err)
        assert self.out == ""
        lines = [line for line in self.err.splitlines() if line.startswith(("error: ", "hint: "))]
        assert [line.split(":")[0] for line in lines] == ["error", "hint"], self.err
        assert "Traceback" not in self.err
        missing = [word for word in words if word not in self.err]
        assert not missing, (missing, self.err)
        return True


class CommandLine:
    """Runs `paceline` with a configuration that a test may change, over tiny models."""

    def __init__(self, root: Path, models: TinyModels, state: Path) -> None:
        """state: what was measured is kept here; shared between tests, so that only the first one measures."""
        self.root = root
        self.models = models
        self.config = root / "settings.toml"
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        self.environment |= {f"XDG_{name}_HOME": str(root / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
        self.environment |= {"XDG_STATE_HOME": str(state), "PACELINE_CONFIG": str(self.config), "LC_ALL": "C.UTF-8"}
        self.environment |= {"HF_HUB_OFFLINE": "1", "PIP_NO_INDEX": "1", "XDG_RUNTIME_DIR": str(root / "run")}
        self.environment["TERM"] = "xterm"
        (root / "run").mkdir(mode=0o700, exist_ok=True)
        self.shared = False  # whether `ask` and `complete` ask a daemon; most tests need none, and a start takes time
        self.configure()

    def configure(self, more: str = "", *, target: Path | str = "", draft: Path | str = "", engine: str = "") -> None:
        """Write the configuration: these models (the tiny pair), one thread, `engine` keys, and `more` tables."""
        target, draft = str(target or self.models.target), str(draft or self.models.draft)
        models = f"[models]\ntarget = {json.dumps(target)}\ndraft = {json.dumps(draft)}\n"
        self.config.write_text(f"{models}[engine]\nthreads = 1\n{engine}\n{more}\n", encoding="utf-8")

    def start(self, *args: str | Path, **how: object) -> "subprocess.Popen[bytes]":
        """A running command; stdin is empty, the outputs are pipes."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen([*PACELINE, *self._words(args)], cwd=self.root, env=self.environment, **streams)

    def call(self, *args: str | Path, stdin: str | bytes = b"", terminal: bool = False) -> Ran:
        """The command in this process, which takes a tenth of the time. What `main` lets through fails the test.

        terminal: stdout says that it is one.
        """
        from paceline.cli import main

        data = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
        outputs = [kind(io.BytesIO(), encoding="utf-8") for kind in (_Screen if terminal else _File, _File)]
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as end:
            for name in [name for name in os.environ if name.startswith(OURS)]:
                patch.delenv(name)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            patch.chdir(self.root)
            patch.setattr(sys, "argv", ["paceline", *self._words(args)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(data))
            patch.setattr(sys, "stdout", outputs[0])
            patch.setattr(sys, "stderr", outputs[1])
            main()
        for stream in outputs:
            stream.flush()
        out, err = (stream.buffer.getvalue().decode() for stream in outputs)
        return Ran(int(end.value.code or 0), out, err)

    def run(self, *args: str | Path, stdin: str | bytes = b"", **variables: str) -> Ran:
        """A process that has ended, with these environment variables."""
        return self.execute([*PACELINE, *self._words(args)], stdin, **variables)

    def shell(self, line: str, *args: str | Path) -> Ran:
        """A line of POSIX shell in which "$@" is the command."""
        return self.execute(["/bin/sh", "-c", line, "sh", *PACELINE, *self._words(args)])

    def _words(self, args: Sequence[object]) -> list[str]:
        """The arguments; those commands that would ask a daemon load the models themselves, unless it is wanted."""
        words = [str(arg) for arg in args]
        alone = not self.shared and words[:1] in (["ask"], ["complete"]) and "--daemon" not in words
        return [words[0], "--no-daemon", *words[1:]] if alone else words

    @contextmanager
    def sharing(self) -> "Iterator[CommandLine]":
        """With a daemon, started when it is needed and ended here."""
        self.shared = True
        try:
            yield self
        finally:
            self.shared = False
            self.call("stop", "--now")

    def misused(self, *args: str, naming: str) -> bool:
        """Whether the command line is refused with exit code 2 and an explanation. In this process: nothing is run."""
        from click.testing import CliRunner

        from paceline.cli import cli

        refused = CliRunner().invoke(cli, args)
        assert refused.exit_code == 2, refused.output
        assert refused.stdout == ""
        assert "Error: " in refused.stderr
        assert naming in refused.stderr
        return True

    def execute(self, command: list[str], stdin: str | bytes = b"", **variables: str) -> Ran:
        ended = subprocess.run(
            command,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=self.root,
            env={**self.environment, **variables},
            timeout=SECONDS,
        )
        return Ran(ended.returncode, ended.stdout.decode("utf-8", "surrogateescape"), ended.stderr.decode())

    def write(self, name: str, content: str | bytes) -> str:
        """A file in the folder where commands run; its name."""
        (self.root / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name


@contextmanager
def slow_answer(paceline: CommandLine) -> "Iterator[subprocess.Popen[bytes]]":
    """A command that is stuck in a long answer, because nobody reads more than a little of it."""
    paceline.configure(engine="context = 16384")
    running = paceline.start("ask", "Why?", "--max-tokens", 12000, "--speculation", "off")
    fcntl.fcntl(running.stdout, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    try:
        yield running
    finally:
        running.kill()
        for pipe in (running.stdout, running.stderr):
            pipe.close()
        running.wait()
