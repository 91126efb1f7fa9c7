"""Whether a solution passes its problem's own tests, in a process of its own with limits on time and memory."""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

SECONDS = 10


def passes(problem: Mapping[str, str], solution: str) -> bool:
    """Run it."""
    return runs(f"{solution}\n{problem['test']}\ncheck({problem['entry_point']})\n")


def runs(program: str, files: Mapping[str, str] = {}) -> bool:
    """Whether a program ends well. files: what it may import, by name."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        program = f"import sys\nsys.path.append({folder!r})\n{program}" if files else program
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program],
                cwd=folder,
                timeout=SECONDS,
                capture_output=True,
                preexec_fn=_limits,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS - 2, SECONDS - 2))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
