"""Secrets in a text, replaced by as many asterisks: no line and no character changes its place.

Three ways to know one: by how a provider's keys begin, by what stands around it (a key block, a URL, a header), and by
the name that a random-looking value is given. Every pattern is tried only where a fixed word stands and reaches a
bounded way from there, so the time is linear in the text.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]

LONG = 4096  # characters of one secret at most; what is longer is replaced in part
BLOCK = 4 * LONG  # characters of a block of several lines
REACH = BLOCK + 256  # characters around a part of a text that may decide what in it is secret
_LINE = 256  # characters within which the beginning of a line is looked for
_HEAD, _FOOT = "-----BEGIN ", "-----END "
# the fixed beginning of a key: what follows it. Beginnings that words have too ask for a random look.
_KEYS: dict[str, tuple[str, bool]] = {
    **dict.fromkeys(("AKIA", "ASIA", "ABIA", "ACCA"), (r"[0-9A-Z]{16}\b", False)),
    "AIza": (r"[\w-]{35}", False),
    "GOCSPX-": (r"[\w-]{20,60}", False),
    "ya29.": (r"[\w-]{20,1024}", False),
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), (r"[0-9A-Za-z]{30,255}", False)),
    "github_pat_": (r"\w{22,255}", False),
    **dict.fromkeys(("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-"), (r"[\w-]{20,255}", False)),
    **dict.fromkeys(
        ("xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxs-", "xoxr-", "xoxo-", "xapp-"), (r"[\w-]{10,255}", False)
    ),
    "hooks.slack.com/services/": (r"[\w/]{20,128}", False),
    **dict.fromkeys(("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), (r"[0-9A-Za-z]{10,255}", False)),
    "sk-": (r"[\w-]{20,512}", True),
    "hf_": (r"[0-9A-Za-z]{30,64}\b", True),
    "npm_": (r"[0-9A-Za-z]{36}\b", True),
    "pypi-": (r"[\w-]{50,512}", False),
    "SG.": (r"[\w-]{16,64}\.[\w-]{16,128}", True),
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_"), (r"[0-9a-f]{64}", False)),
    **dict.fromkeys(("shpat_", "shpca_", "shppa_", "shpss_"), (r"[0-9a-fA-F]{32}", False)),
    "hvs.": (r"[\w-]{20,255}", True),
    "dapi": (r"[0-9a-f]{32}\b", False),
    "SK": (r"[0-9a-f]{32}\b", False),  # Twilio
    "AGE-SECRET-KEY-1": (r"[0-9A-Z]{40,80}", False),
    "eyJ": (r"[\w-]{8,1024}\.[\w-]{8,2048}(?:\.[\w-]{0,1000})?", False),  # a signed token (JWT)
    "AccountKey=": (r"[0-9A-Za-z+/]{40,128}={0,2}", False),
    "SharedAccessKey=": (r"[0-9A-Za-z+/]{40,128}={0,2}", False),
}
_KEY_PATTERNS = [(begin, re.compile(follow), random) for begin, (follow, random) in _KEYS.items()]
_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BLOB_LINE = re.compile(
    r"^[ \t\"'+]{0,40}((?=[A-Za-z+/]{0,60}\d)[0-9A-Za-z+/]{60,80}={0,2})(?:\\n)?[\"',;]{0,3}[ \t]{0,8}\r?$",
    re.MULTILINE,
)
_BLOB = re.compile(
    r"(?:[ \t\"'+]{0,40}(?:[\w-]{1,40}:[ \t][^\r\n]{0,100}|[0-9A-Za-z+/]{16,80}={0,2})?"
    r"(?:\\n)?[\"',;]{0,3}[ \t]{0,8}\r?\n)*"
)
_URL = re.compile(r"://[^\s/:@'\"<>`]{0,100}:([^\s/@'\"<>`]{3,200})@")
_HEADER = re.compile(r"(?:bearer|basic)[ \t]{1,4}([\w+/=.~-]{20,2048})", re.IGNORECASE)
_WORDS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "apikey", "api-key", "access_key"),
    *("accesskey", "access-key", "auth_key", "authkey", "private_key", "privatekey", "credential", "signing_key"),
    *("encryption_key", "encryptionkey", "client_key", "account_key", "accountkey", "license_key", "master_key"),
    *("_pass", "-pass", "dbpass", '"auth"', "'auth'"),
)
_SHORT = ("_pass", "-pass", "dbpass")  # these end a name
_PASSWORDS = ("password", "passwd", "passphrase", "pwd", *_SHORT)  # people choose these: they need not look random
_GIVEN = r"""[\w-]{0,24}["'\]]{0,2}[ \t]{0,8}(?::[ \t]{0,2}[\w.\[\]| ]{1,32}=|:=|=>|==?|!=|:)[ \t]{0,8}"""
_NEXT_LINE = r"(?:\\?\r?\n[ \t]{0,40})?"
_QUOTED = re.compile(_GIVEN + _NEXT_LINE + r"""(?:\[\]byte\(|[a-zA-Z]{0,2})(["'`])([^\s"'`]{6,512})\1""")
_BARE = re.compile(_GIVEN + r"""([^\s"'`(){}\[\]<>$,;:]{8,512})[ \t]{0,8}(?:$|[\r\n#;,&])""", re.MULTILINE)
_CALLED = re.compile(r"""[\w-]{0,24}["']?[ \t]{0,4},[ \t]{0,4}(["'`])([^\s"'`]{12,512})\1""")  # setenv("TOKEN", "…")
_SHELL = re.compile(r"""[A-Z0-9_]{0,16}=([^\s"'`$(){}\[\]<>,;]{6,512})[ \t]{0,8}\r?$""", re.MULTILINE)  # TOKEN=…
_SHELL_NAME = re.compile(r"[ \t]{0,16}(?:(?:export|set|env|-e)[ \t]{1,4})?[A-Z0-9_]{0,48}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{32,128}")
_COMMANDS = {  # a program's name: how it is given a password
    "mysql": re.compile(r"[^\r\n|;]{0,200}?[ \t]-p([^\s\"'$]{6,128})"),
    "sshpass": re.compile(r"[ \t]{1,8}-p[ \t]{0,2}([^\s\"'$]{6,128})"),
    "curl": re.compile(r"[^\r\n|;]{0,200}?[ \t](?:-u|--user)[ \t=]{0,2}[\"']?[^\s:\"'$]{1,64}:([^\s\"'$]{4,200})"),
}
_TELEGRAM = re.compile(r":AA[\w-]{33}\b")
_PLACEHOLDER = re.compile(
    r"pass|pwd|secret|token|example|changeme|dummy|fake|sample|placeholder|redacted|your|key"
    r"|xxx|\*\*\*|\.\.\.|[<>{}%$()\[\]\s\\]",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\W*(?:user|name|pass|passwd|password|pwd|secret|token|x+|\*+|\.+|[<{$%\[].*)\W*", re.IGNORECASE)
_CODE = re.compile(
    r"\{|<|\\|\(\?|\[.-.|%[sdr(]|\*\*\*|\.\.\.|^https?:"
)  # patterns, formats and what stands for a secret
_WORDY = re.compile(r"(?:[A-Za-z]*\d{0,4}|[A-Z]?[a-z]+(?:\d{0,2}[A-Z][a-z]*)*)")  # a part of a name
_PATHLIKE = re.compile(r"https?:|[\w-]+(?:[./:-][\w-]+)*|[/.~].*")


def redact(text: str) -> str:
    """The text without keys, tokens and passwords. Its length and its lines stay as they are."""
    spans = sorted(set(_spans(text)))
    if not spans:
        return text
    parts, at = [], 0
    for start, end in spans:
        start = max(start, at)
        if start < end:
            parts += [text[at:start], _hidden(text[start:end])]
            at = end
    return "".join(parts) + text[at:]


def redact_part(text: str, start: int, end: int) -> str:
    """The characters [start, end) of the redacted text, told from what stands near: also of secrets that an edge cuts.

    What stands farther away than REACH is not looked at.
    """
    first, last = max(0, start - LONG), min(len(text), end + LONG)
    head = text.find(_HEAD, max(0, start - REACH), start)
    first = min(first, head) if head >= 0 else first
    if text.find(_HEAD, first, end) >= 0:
        foot = text.find(_FOOT, end, end + REACH)
        last = max(last, min(len(text), foot + LONG)) if foot >= 0 else last
    first = max(text.rfind("\n", max(0, first - _LINE), first) + 1, first - _LINE, 0)
    return redact(text[first:last])[start - first : end - first]


def looks_random(value: str) -> bool:
    """Whether a program made this up: no word, name or path changes so often between kinds of characters."""
    if len(value) < 16 or _CODE.search(value) or all(map(_WORDY.fullmatch, re.split(r"[\W_]+", value))):
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "p" for c in value]
    if "d" not in kinds or not {"u", "l"} & set(kinds):
        return False
    changes = sum(one != two for one, two in pairwise(kinds))
    return changes * 5 >= len(value) and entropy(value) >= min(3.0, math.log2(len(set(value)) or 1) * 0.85)


def entropy(value: str) -> float:
    """Bits in each character, by how often each occurs (Shannon)."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def _hidden(secret: str) -> str:
    return re.sub(r"[^\s]", "*", secret)


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _spans(text: str) -> Iterator[Span]:
    """Where secrets stand; they may overlap."""
    yield from _keys(text)
    yield from _bots(text)
    yield from _blocks(text)
    for at in _places(text, "://"):
        found = _URL.match(text, at)
        if found and not _PLACE.fullmatch(found[1]):
            yield found.span(1)
    for name, pattern in _COMMANDS.items():
        for at in _places(text, name):
            found = pattern.match(text, at + len(name))
            if found and not _PLACE.fullmatch(found[1]) and _mixed(found[1]):
                yield found.span(1)
    yield from _named(text)


def _keys(text: str) -> Iterator[Span]:
    for begin, pattern, random in _KEY_PATTERNS:
        for at in _places(text, begin):
            if at and (text[at - 1].isalnum() or text[at - 1] in "_-"):
                continue
            found = pattern.match(text, at + len(begin))
            if found and (not random or looks_random(found[0])):
                yield at, found.end()


def _bots(text: str) -> Iterator[Span]:
    """Keys that begin with a number of their own: Telegram's."""
    for at in _places(text, ":AA"):
        digits = re.search(r"(?<![\w-])\d{8,10}$", text[max(0, at - 11) : at])
        if digits and (found := _TELEGRAM.match(text, at)):
            yield at - len(digits[0]), found.end()


def _blocks(text: str) -> Iterator[Span]:
    """Private keys, and lines of what may be one whose head or foot lies outside."""
    done, foot = 0, text.find(_FOOT)
    for at in _places(text, _HEAD):
        begin = _BLOCK.match(text, at)
        if begin is None or at < done:
            continue
        while 0 <= foot < at:
            foot = text.find(_FOOT, foot + 1)
        whole = 0 <= foot <= begin.end() + BLOCK and _BLOCK_END.match(text, foot)
        done = foot if whole else _blob_end(text, begin.end())
        yield begin.end(), done
    run: list[Span] = []
    for found in _BLOB_LINE.finditer(text):
        if run and text.count("\n", run[-1][1], found.start(1)) > 1:
            run = []
        run.append(found.span(1))
        if len(run) == 3:
            yield from run
        elif len(run) > 3:
            yield run[-1]


def _blob_end(text: str, start: int) -> int:
    """Where a key block ends that has no foot yet."""
    found = _BLOB.match(text, start, start + BLOCK)
    return found.end() if found else start


def _lowered(text: str) -> str:
    """In lower case and as long as before."""
    lower = text.lower()
    return lower if len(lower) == len(text) else re.sub("[A-Z]+", lambda found: found[0].lower(), text)


def _named(text: str) -> Iterator[Span]:
    lower = _lowered(text)
    for at in (each for word in ("bearer ", "basic ") for each in _places(lower, word)):
        found = _HEADER.match(text, at)
        if found and looks_random(found[1]):
            yield found.span(1)
    for word in _WORDS:
        for at in _places(lower, word):
            end = at + len(word)
            if word not in _SHORT or not text[end : end + 1].isalpha():
                yield from _given(text, end, chosen=word in _PASSWORDS)
                yield from _set(text, at, end)


def _given(text: str, at: int, *, chosen: bool) -> Iterator[Span]:
    """What is given to a name that ends about here. chosen: by a person."""
    if found := _QUOTED.match(text, at):
        value = found[2]
        if looks_random(value) or _is_hex(value) or (chosen and _password(value)):
            yield found.span(2)
    elif found := _CALLED.match(text, at):
        if looks_random(found[2]):
            yield found.span(2)
    elif (found := _BARE.match(text, at)) and (
        looks_random(found[1]) or _is_hex(found[1]) or (chosen and _typed(found[1]))
    ):
        yield found.span(1)


def _set(text: str, at: int, end: int) -> Iterator[Span]:
    """What a line of a shell or of an .env file gives to a name in capitals, in which a word stands from at to end."""
    if not text[at:end].isupper():
        return
    found = _SHELL.match(text, end)
    head = text[max(0, at - 80) : at]
    named = found is not None and _SHELL_NAME.fullmatch(head[head.rfind("\n") + 1 :]) is not None
    if found and named and _mixed(found[1]) and not _PLACEHOLDER.search(found[1]):
        yield found.span(1)


def _mixed(value: str) -> bool:
    """Whether there are letters and digits in it."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_hex(value: str) -> bool:
    """Whether it is a long number that no person writes."""
    return _HEX.fullmatch(value) is not None and _mixed(value.removeprefix("0x")) and entropy(value) >= 3.0


def _password(value: str) -> bool:
    """Whether a quoted text may be a password: no name, no placeholder, no path."""
    if _PLACEHOLDER.search(value):
        return False
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed or not _PATHLIKE.fullmatch(value)


def _typed(value: str) -> bool:
    """The same without quotes, where code may stand as well: only what no name looks like."""
    if _PLACEHOLDER.search(value) or not (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
        return False
    return re.fullmatch(r"[\w.]+", value) is None or (value[0].isdigit() and not value.replace(".", "").isdigit())
