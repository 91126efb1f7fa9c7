"""When to say nothing. Every silence has a reason: its name is for logs and figures, its sentence for people."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

from paceline.config import EditorConfig
from paceline.lsp.place import Place
from paceline.lsp.suggestions import BEGINNING, CLOSERS
from paceline.lsp.syntax import TRIPLE, inside, language_of, line_comment
from paceline.prompts.fences import PROSE
from paceline.prompts.lines import first_line, is_word, last_line_start, line_ending, normalise
from paceline.prompts.trim import trim
from paceline.workspace.ignoring import matches
from paceline.workspace.kinds import is_binary, is_generated, is_generated_file, is_minified, is_secret_file
from paceline.workspace.redaction import redact

SAMPLE = 8192  # characters of a document's head that say what kind of document it is
NEAR = 1024  # characters around the cursor that are searched for secrets
BARE = 12  # characters, blanks aside, of a document that has hardly begun
SHORT = 4  # characters of a suggestion that may well stand twice
LONG_NUMBER = 24  # characters
LONG_REST = 80  # characters behind the cursor that are more than what closes something
LONG_LINE = 2000  # characters of a line that no person writes

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "unread": "the editor's last change could not be read",
        "off": "completions are switched off",
        "language": "completions are switched off for this language",
        "ignored": "the settings say to leave this file alone",
        "secret": "this file or line holds a secret",
        "large": "the file is too large",
        "binary": "this is no text",
        "minified": "lines are so long that no person wrote them",
        "generated": "a program wrote this file",
        "deleted": "a character has just been deleted",
        "word": "the cursor stands within a word",
        "middle": "there is more text on the line behind the cursor",
        "bare": "there is hardly any text yet to go by",
        "comment": "this is prose in a comment or a document",
        "string": "this is prose in a string",
        "superseded": "a newer request has taken its place",
        "engine": "the engine failed a short while ago and is left alone",
        "empty": "there is nothing to add",
        "unsure": "the model is not sure enough",
        "repeats": "it would repeat what stands there already",
        "invented": "it would make up a number that cannot be known",
        "closing": "only a closing bracket or quote is missing",
    }
)
MATTERS_OF_PROSE = frozenset({"comment", "string"})  # reasons
CLOSING = CLOSERS | frozenset(" \t\r\n")
# what may stand behind the cursor: marks that close something, what editors put behind those, a tag's end
_REST = re.compile(r"""[)\]}>"'`;,: \t]*(?:\{|=>[ \t]*\{?|then|do|</[\w.:-]*>;?)?[)\]};, \t]*""")
_TO_A_SECRET = re.compile(
    r"""(?:passw(?:or)?d|passphrase|secret|token|api[-_]?key|private[-_]?key|access[-_]?key|credentials?)"""
    r"""[\w-]{0,16}["'\]]{0,2}[ \t]{0,8}(?::[ \t]{0,2}\w{1,16}[ \t]{0,2}=|=>|:=|[:=])[ \t]{0,8}"""
    r"""[a-zA-Z]{0,2}["'`][^"'`]{0,256}$""",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w#.])(?:0[xX][0-9a-fA-F][0-9a-fA-F_]{4,}|[0-9][0-9_]{5,})(?![\w.])")
_LITERAL = re.compile(r"""(["'`])[^"'`]*\1,?""")  # an item of a list, which nobody wants twice
_WORDS = re.compile(r"[^\W\d_]{2,}[,.;:!?]?[ \t]+[^\W\d_]+[,.;:!?]?[ \t]")
_QUERY = re.compile(
    r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|FROM|WHERE|JOIN|ORDER|GROUP|VALUES|SET)\b"
)


def before(place: Place, settings: EditorConfig, *, asked: bool, deleted: bool) -> str | None:
    """Why not to compute anything for a place; None if there is no reason.

    asked: by hand, which outweighs whatever is only a matter of taste. deleted: the last change took a single
    character away.
    """
    return of_the_file(place, settings, asked=asked) or (None if asked else _of_the_cursor(place, settings, deleted))


def after(text: str, logprobs: Sequence[float], place: Place, settings: EditorConfig) -> str | None:
    """Why not to show a suggestion; None if there is no reason. logprobs: of its tokens, in nats; may be empty.

    What counts is how likely its beginning is as a whole. The mean of all tokens tells right from wrong less well: it
    forgives one bad guess for the sake of all that follows from it.
    """
    if not text.strip():
        return "empty"
    if sum(logprobs[:BEGINNING]) < settings.threshold:
        return "unsure"
    if CLOSING.issuperset(text) and len("".join(text.split())) == 1:
        return "closing"
    if _repeats(text, place):
        return "repeats"
    if redact(text) != text:
        return "secret"
    if _invents(text, place):
        return "invented"
    return "comment" if not settings.comments and _only_comments(text, place) else None


def trimmed(text: str, place: Place) -> str:
    """What of a text is worth inserting at a place."""
    return trim(place.before, place.after, text, language_of(place.language, place.path))


def worth_keeping(text: str, place: Place, settings: EditorConfig) -> str:
    """What of an answer may be suggested: trimmed, and without comments behind its code where none are wanted."""
    text = trimmed(text, place)
    return text if settings.comments else trimmed(_without_comments_at_the_end(text, place), place)


def of_the_file(place: Place, settings: EditorConfig, *, asked: bool) -> str | None:
    """Why to leave a document alone, wherever the cursor stands in it, unless on a secret; as `before` says it."""
    path = place.path or unquote(urlsplit(place.uri).path)
    if place.lost:
        return "unread"
    if not settings.enabled:
        return "off"
    if place.language and place.language in settings.disabled_languages:
        return "language"
    if matches(settings.ignore, path.lstrip("/")):
        return "ignored"
    if is_secret_file(path) or _in_a_secret(place):
        return "secret"
    if len(place.before) + len(place.after) > settings.max_file_kb * 1024:
        return "large"
    head = place.before[:SAMPLE] + place.after[: max(0, SAMPLE - len(place.before))]
    if is_binary(head):
        return "binary"
    if asked:
        return None
    if is_minified(head) or len(_line(place)) > LONG_LINE:
        return "minified"
    return "generated" if is_generated_file(path) or is_generated(head) else None


def _of_the_cursor(place: Place, settings: EditorConfig, deleted: bool) -> str | None:
    if deleted:
        return "deleted"
    rest = first_line(place.after[:LONG_LINE]).rstrip()
    if len(rest) > LONG_REST or not _REST.fullmatch(rest):
        return "word" if is_word(rest[0]) and is_word(place.before[-1:]) else "middle"
    if not settings.comments and (reason := _prose(place)):
        return reason
    return "bare" if len("".join((place.before[-NEAR:] + place.after[:NEAR]).split())) < BARE else None


def _prose(place: Place) -> str | None:
    """Whether people, not programs, read what is written here."""
    language = language_of(place.language, place.path)
    typed = place.before[last_line_start(place.before) :]
    if language in PROSE:
        return None if _in_a_fence(place.before) else "comment"
    found = inside(place.before, language)
    if found.kind == "comment":
        return "comment"
    if found.kind == "code" or typed.lstrip().startswith((">>>", "...")):
        return None
    content = place.before[found.start :]
    opening = place.before[: found.start - len(found.mark)]
    if language == "python" and found.mark in TRIPLE and not opening[last_line_start(opening) :].strip(" \trRuUfF"):
        return "comment"  # a docstring
    said = content[last_line_start(content) :]
    return "string" if _WORDS.search(said) and not _QUERY.match(said) and not _QUERY.match(content) else None


def _in_a_secret(place: Place) -> bool:
    """Whether the cursor's line holds a secret, or is about to."""
    head = place.before[-NEAR:]
    typed = head[last_line_start(head) :]
    if _TO_A_SECRET.search(typed):
        return True
    rest = first_line(place.after[:NEAR])
    text = head + place.after[:NEAR]
    line = slice(len(head) - len(typed), len(head) + len(rest))
    return redact(text)[line] != text[line]


def _in_a_fence(text: str) -> bool:
    """Whether a block of code is open in a document of prose."""
    return (text.count("```") + text.count("~~~")) % 2 == 1


def _repeats(text: str, place: Place) -> bool:
    """Whether the suggestion says again what stands right before the cursor or right after it, or several lines of
    what stands near.
    """
    said, above, below = _lines(text), _lines(place.before[-NEAR:]), _lines(place.after[:NEAR])
    length = len("".join(said))
    if length < SHORT or place.before[last_line_start(place.before) :].strip():  # the rest of a line is another matter
        return False
    if above[-len(said) :] == said or below[: len(said)] == said:
        return True
    needed = 1 if _LITERAL.fullmatch(said[0]) else 2
    return len(said) >= needed and (_has(above, said[:needed]) or _has(below, said[:needed]))


def _invents(text: str, place: Place) -> bool:
    """Whether there is a long number in the suggestion that stands nowhere near, and is neither round nor a limit of
    what some number of bits holds.
    """
    head = place.before[-NEAR:]
    word = re.search(r"#?\w*$", head)
    begun = word[0] if word else ""
    for found in _NUMBER.findall(begun + text):
        if found in begun or found in head or found in place.after[:NEAR]:
            continue
        if len(found) > LONG_NUMBER:
            return True
        number = int(found.replace("_", ""), 16 if found[:2] in ("0x", "0X") else 10)
        if number & (number - 1) and number & (number + 1) and len(set(str(number).rstrip("0"))) > 2:
            return True
    return False


def _lines(text: str) -> list[str]:
    """Lines with something on them, without blanks around it."""
    return [line.strip() for line in normalise(text).split("\n") if line.strip()]


def _has(lines: Sequence[str], some: Sequence[str]) -> bool:
    """Whether these lines follow each other among those."""
    return any(list(lines[at : at + len(some)]) == some for at in range(len(lines) - len(some) + 1))


def _only_comments(text: str, place: Place) -> bool:
    """Whether there is nothing but comments in a suggestion."""
    language = language_of(place.language, place.path)
    mark = line_comment(language)
    if not mark or not all(line.startswith(mark) for line in _lines(text)):
        return False
    return inside(place.before, language).kind == "code"


def _without_comments_at_the_end(text: str, place: Place) -> str:
    """The text without lines that hold nothing but comments, and blank ones before those, where code stands in front
    of them: nobody has asked for more.
    """
    language = language_of(place.language, place.path)
    mark, lines = line_comment(language), normalise(text).split("\n")
    end = len(lines)
    while end and mark and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith(mark)):
        end -= 1
    if not end or end == len(lines) or inside(place.before, language).kind != "code":
        return text
    return line_ending(place.before + place.after).join(lines[:end])


def _line(place: Place) -> str:
    head, tail = place.before[-LONG_LINE - 1 :], place.after[: LONG_LINE + 1]
    return head[last_line_start(head) :] + first_line(tail)
