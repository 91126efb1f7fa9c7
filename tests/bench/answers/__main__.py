"""Record what small models answer to wishes for edits, as people write them.

    python tests/bench/answers --batch first --model 1.5b

Asks the model that is set up where this runs, through the daemon. Answers are added to the file as they come, and
what is in it already is not asked again, so that it can be stopped at any time. Labels (`after`, `why`) are added by
hand; tests/chat/edits/test_answers.py reads them.
"""

import argparse
import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from paceline import config, paths
from paceline.client.client import Client, connect
from paceline.client.events import End, Message, Options, Text
from support.answers import BATCHES, FOLDER, Recorded, read, tasks, write

MOST = 900  # tokens of an answer


def asked(client: Client, messages: list[Message], options: Options) -> tuple[str, str]:
    """The answer, and why it ended."""
    said = ""
    with closing(client.chat(messages, options)) as events:
        for event in events:
            if isinstance(event, Text):
                said += event.text
            elif isinstance(event, End):
                return said, event.reason
    return said, "broken off"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", choices=BATCHES, required=True)
    parser.add_argument("--model", required=True, help="the name that the answers are kept under")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    settings = config.load(paths.config_file())
    path = options.folder / f"{options.batch}-{options.model}.json"
    known = read(path)
    with connect(settings, print) as client:
        for task in tasks(options.batch):
            if any(each.task == task.name for each in known):
                continue
            system, user = Message("system", settings.ask.system), Message("user", task.prompt)
            wish = Options(max_tokens=MOST, temperature=task.temperature, seed=1, original=task.original)
            answer, reason = asked(client, [system, user], wish)
            known.append(Recorded(task.name, reason, answer))
            write(path, known)
            print(task.name, reason, len(answer), flush=True)


if __name__ == "__main__":
    main()
