"""The commands that begin with a slash: a table, and how a line is read by it. Pure."""

import difflib
import re
from dataclasses import dataclass
from typing import Literal

# what the argument is a name of, so that it can be completed
Completes = Literal["", "command", "session", "file", "theme", "format", "switch", "workload"]
_WORD = re.compile(r"/([A-Za-z][\w-]*)(?:[ \t]+|$)")
_BEGUN = re.compile(r"/([A-Za-z][\w-]*)?")
FORMATS = {"md": "Markdown", "json": "JSON", "html": "HTML"}  # of exported sessions: endings, and names for people
SWITCHES = ("on", "off")


@dataclass(frozen=True)
class SlashCommand:
    """One command. Names have no slash; arguments as a person reads them, [optional] in brackets."""

    name: str
    help: str
    arguments: str = ""
    completes: Completes = ""
    aliases: tuple[str, ...] = ()

    @property
    def needs_argument(self) -> bool:
        """Whether it means nothing alone."""
        return bool(self.arguments) and not self.arguments.startswith("[")

    @property
    def usage(self) -> str:
        """Such as "/rename TITLE"."""
        return f"/{self.name} {self.arguments}".rstrip()


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("help", "keys and commands, or one command", "[COMMAND]", "command", ("keys",)),
    SlashCommand("new", "begin a new session", "[TITLE]"),
    SlashCommand("sessions", "list, search, rename, export and delete sessions", "[WORDS]"),
    SlashCommand("resume", "go on with another session", "[SESSION]", "session"),
    SlashCommand("rename", "give this session a title", "TITLE"),
    SlashCommand("fork", "a new session with this conversation up to here", "[TITLE]"),
    SlashCommand("export", "write this session to a file", "[md|json|html] [FILE]", "format"),
    SlashCommand("delete", "delete this session, after asking"),
    SlashCommand("edit", "let the model change a file; you see the changes first", "FILE INSTRUCTION", "file"),
    SlashCommand("run", "run a command, after asking, and attach its output", "COMMAND"),
    SlashCommand("model", "choose or fetch the models", aliases=("models",)),
    SlashCommand("system", "show or set the system prompt of this session", "[TEXT]"),
    SlashCommand("compact", "replace the older turns by a summary", "[WHAT TO KEEP]"),
    SlashCommand("context", "how many tokens everything takes"),
    SlashCommand("bench", "measure the speed on this machine", "[WORKLOAD]", "workload"),
    SlashCommand("stats", "how answers here and completions in editors fared"),
    SlashCommand("theme", "choose the colours", "[THEME]", "theme"),
    SlashCommand("drafts", "colour what was drafted, by drafter", "[on|off]", "switch"),
    SlashCommand("mouse", "off: the terminal selects text by itself", "[on|off]", "switch"),
    SlashCommand("motion", "off: nothing moves that need not", "[on|off]", "switch"),
    SlashCommand("copy", "copy a code block, or the last answer", "[NUMBER]"),
    SlashCommand("save", "save a code block to a file", "[NUMBER] [FILE]"),
    SlashCommand("undo", "take back the last change to files"),
    SlashCommand("retry", "generate the last answer again", aliases=("regenerate",)),
    SlashCommand("continue", "go on with an answer that was cut"),
    SlashCommand("quit", "leave; everything is saved", aliases=("exit", "q")),
)
_NAMED = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


@dataclass(frozen=True)
class Slash:
    """A line that is a command."""

    command: SlashCommand
    argument: str = ""  # everything behind the name, with its inner blanks and newlines

    @property
    def missing(self) -> bool:
        """Whether an argument is needed, and is not there."""
        return self.command.needs_argument and not self.argument


@dataclass(frozen=True)
class Unknown:
    """A line that begins like a command and is none. near: names that may have been meant, the likeliest first."""

    word: str
    near: tuple[str, ...] = ()


def parse(line: str) -> Slash | Unknown | None:
    """What a prompt means; None: a message for the model.

    A path such as /etc/hosts is none, nor is anything else in which the first word has more than letters, digits
    and hyphens; nor is "/ " or "//". Names are read in any case.
    """
    found = _WORD.match(line) or _WORD.match(line.partition("\n")[0])
    if found is None:
        return None
    word = found[1].lower()
    command = _NAMED.get(word)
    if command is not None:
        return Slash(command, line[found.end() :].strip())
    return Unknown(word, near(word))


def near(word: str) -> tuple[str, ...]:
    """Names of commands that look like the word, aliases excluded."""
    begun = [command.name for command in COMMANDS if command.name.startswith(word)]
    close = [_NAMED[each].name for each in difflib.get_close_matches(word, _NAMED, n=3, cutoff=0.6)]
    return tuple(dict.fromkeys([*begun, *close]))[:3]


def complete(text: str) -> tuple[SlashCommand, ...]:
    """The commands that what is typed so far may become, such as "/ex"; nothing where no name is being typed.

    Those whose name begins so come first, then aliases, then names that contain it.
    """
    found = _BEGUN.fullmatch(text)
    if found is None:
        return ()
    word = (found[1] or "").lower()
    begin = [each for each in COMMANDS if each.name.startswith(word)]
    alias = [each for each in COMMANDS if any(one.startswith(word) for one in each.aliases)]
    inside = [each for each in COMMANDS if len(word) > 1 and word in each.name]
    return tuple(dict.fromkeys([*begin, *alias, *inside]))


def argument_of(text: str) -> tuple[SlashCommand, str] | None:
    """The command and what is typed of its argument: "/theme da"; None where no argument is being typed."""
    found = _WORD.match(text)
    command = _NAMED.get(found[1].lower()) if found is not None else None
    if found is None or command is None or found.end() == len(found[0].rstrip()):
        return None
    return command, text[found.end() :]
