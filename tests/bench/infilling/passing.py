"""Whether a solution passes its problem's own tests, in a process of its own with limits on time and memory."""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping

SECONDS = 10


def passes(problem: Mapping[str, str], solution: str) -> bool:
    """Run it."""
    program = f"{solution}\n{problem['test']}\ncheck({problem['entry_point']})\n"
    with tempfile.TemporaryDirectory() as folder:
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
