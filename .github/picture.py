"""Draw the README's picture from a real answer: `python .github/picture.py` (needs a pair that is set up)."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

QUESTION = "Write a Python function that merges two sorted lists"
COMMAND = [sys.executable, "-m", "paceline", "ask", "--stats", "--max-tokens", "330", QUESTION]
LINES = 30


def main() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    console = Console(record=True, width=100, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123 - for the process's life
    console.print(Text.assemble(("$ ", "bold green"), f'paceline ask --stats "{QUESTION}"'))
    answer = done.stdout.rstrip().splitlines()
    console.print(Text("\n".join([*answer[:LINES], "…"] if len(answer) > LINES else answer)))
    console.print()
    console.print(Text(done.stderr.rstrip(), style="cyan"))
    svg = console.export_svg(title="paceline")
    Path(__file__).with_name("ask.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
