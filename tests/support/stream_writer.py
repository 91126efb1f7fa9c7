"""A process that writes an answer piece by piece until it is killed, and says after each piece that it is kept.

Run as `python stream_writer.py FILE`: it prints the session's id and the turn's, then a number for every piece.
"""

import itertools
import sys
from pathlib import Path

from paceline.chat.store import Store
from paceline.chat.turns import Run, Turn


def piece(number: int) -> str:
    """What is written as this piece."""
    return f"piece {number} 日本語\n"


def main() -> None:
    store = Store(Path(sys.argv[1]))
    session = store.create("/work")
    question = store.add(session.id, Turn(0, None, "user", "Tell me a story"))
    turn = store.add(session.id, Turn(0, question.id, "assistant", "", state="streaming"))
    print(session.id, turn.id, flush=True)
    for number in itertools.count():
        store.append(turn.id, piece(number), [Run("draft", len(piece(number)))])
        print(number, flush=True)


if __name__ == "__main__":
    main()
