"""Conversations as files: Markdown and HTML of the branch that is shown, JSON of all branches. Pure."""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from paceline.chat import labels
from paceline.chat.page import html
from paceline.chat.titles import one_line
from paceline.chat.turns import Attached, Run, Session, Turn
from paceline.errors import InputError
from paceline.prompts.context import language
from paceline.prompts.rewriting import fence_for

__all__ = ["file_name", "from_json", "html", "json_", "markdown"]

FORMAT, VERSION = "paceline-session", 1
NAME_BYTES = 120  # of a file's name: encrypted folders take 143
_OPENS = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)")
_HIDES = re.compile(r"^( {0,3})<(?=!--|\?|![a-z]|!\[cdata\[|(?:script|pre|style|textarea)\b)", re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.-]+")
_BETWEEN = re.compile(r"[^\w]+")  # words of a title: ".py-" within a name would look like its ending
# what JSON may hold as it is and a terminal must not see, and lone surrogates, which no file can hold
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")


def markdown(session: Session, path: Sequence[Turn]) -> str:
    """The branch as Markdown; attachments and the system prompt are folded. Control characters are taken out."""
    facts = " · ".join(_escaped(fact) for fact in labels.facts(session))
    parts = [f"# {_escaped(labels.title(session))}", facts]
    if session.system:
        parts.append(_folded("System prompt", session.system, ""))
    for turn in path:
        parts.append(f"## {_escaped(labels.who(turn))}")
        if left_out := labels.left_out(turn):
            parts.append(_folded(left_out, turn.summary, ""))
        parts += [_folded(each.name, each.text, each.path or each.name, each.cut) for each in turn.attached]
        if text := labels.body(turn.text).strip("\n"):
            parts.append(_self_contained(text))
        if ending := labels.ending(turn):
            parts.append(f"*{_escaped(ending)}*")
    return "\n\n".join(parts) + "\n"


def json_(session: Session, turns: Sequence[Turn]) -> str:
    """All branches as JSON, for `from_json`. Can be printed: what could steer a terminal is escaped."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "session": {name: getattr(session, name) for name in Session.__dataclass_fields__},
        "turns": [_turn(turn) for turn in turns],
    }
    text = json.dumps(data, ensure_ascii=False, indent=1, default=str, allow_nan=False)
    return _ESCAPED.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n"


def from_json(text: str) -> tuple[Session, tuple[Turn, ...]]:
    """What `json_` wrote. Raises InputError, saying what is wrong with it.

    Two lone surrogates that stand side by side come back as the one character that they are halves of.
    """
    try:
        data = json.loads(text, parse_constant=_refuse)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError("it is not an exported session")
        if data.get("version") != VERSION:
            raise ValueError(f"it has version {data.get('version')}, not {VERSION}: update Paceline")
        session = msgspec.convert(data.get("session"), Session)
        turns = tuple(_turn_from(each) for each in msgspec.convert(data.get("turns"), list[dict[str, Any]]))
        _check(session, turns)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise InputError(f"this session cannot be read: {one_line(str(error))}", "export it again as JSON") from error
    return session, turns


def file_name(session: Session, suffix: str, taken: Callable[[str], bool] = lambda name: False) -> str:
    """A name for the exported file that every file system takes: words of the title, and the suffix.

    The id stands between them where there are no words, or the name is taken.
    """
    title = unicodedata.normalize("NFC", one_line(session.title))
    words = _BETWEEN.sub(" ", title.replace("\ufffd", " ")).split()
    ending = f".{suffix.lstrip('.')}"
    end = f"{_UNSAFE.sub('', session.id).strip('.-') or 'session'}{ending}"  # an id may be from a file
    room = NAME_BYTES - len(end.encode()) - 1
    stem = "-".join(words).encode()[:room].decode("utf-8", "ignore").strip(".-")
    if not stem:
        return end
    return f"{stem}{ending}" if not taken(f"{stem}{ending}") else f"{stem}-{end}"


def _folded(name: str, text: str, path: str, cut: str = "") -> str:
    """A block that Markdown viewers show closed."""
    body = labels.body(text).rstrip("\n")
    fence = fence_for(body)
    title = one_line(f"{name} ({cut})" if cut else name).replace("&", "&amp;").replace("<", "&lt;")
    return f"<details><summary>{title}</summary>\n\n{fence}{language(path)}\n{body}\n{fence}\n\n</details>"


def _self_contained(text: str) -> str:
    """The text changed so that what it leaves open, a fence or a comment of HTML, does not go on after it."""
    fence, lines = "", []
    for line in text.split("\n"):
        if fence:
            closes = len(line) - len(line.lstrip(" ")) < 4 and line.strip().startswith(fence)
            if closes and set(line.strip()) == {fence[0]}:
                fence = ""
        elif opening := _OPENS.fullmatch(line):
            fence = opening[1] or opening[2]
        else:
            line = _HIDES.sub(r"\1\\<", line)
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


def _escaped(text: str) -> str:
    """Text in which Markdown sees no marks."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&~])", r"\\\1", text)


def _turn(turn: Turn) -> dict[str, Any]:
    fields = {name: getattr(turn, name) for name in Turn.__dataclass_fields__}
    return fields | {
        "attached": [{name: getattr(each, name) for name in Attached.__dataclass_fields__} for each in turn.attached],
        "timings": _finite(turn.timings),
        "runs": [[run.drafter, run.characters] for run in turn.runs],
    }


def _turn_from(data: dict[str, Any]) -> Turn:
    kinds = list[tuple[str, Annotated[int, msgspec.Meta(ge=0)]]]
    runs = tuple(Run(*pair) for pair in msgspec.convert(data.get("runs", []), kinds))
    return msgspec.convert(data | {"runs": runs}, Turn)


def _check(session: Session, turns: Sequence[Turn]) -> None:
    """Raises ValueError unless the turns are a tree, parents first, with the session's leaf, and leave out what is."""
    known: set[int | None] = {None}
    for turn in turns:
        if turn.id in known or turn.parent not in known:
            raise ValueError(f"turn {turn.id} does not follow a turn before it")
        if not 0 <= turn.skipped <= len(turns):
            raise ValueError(f"turn {turn.id} leaves out {turn.skipped} of {len(turns)} turns")
        known.add(turn.id)
    if session.leaf not in known:
        raise ValueError(f"turn {session.leaf}, the last one shown, is missing")


def _finite(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The same with null for what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")
