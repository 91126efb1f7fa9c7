"""Things that go with a message, exactly as the model is shown them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from paceline.chat.context.finder import Finder, Found
from paceline.chat.context.mentions import Mention
from paceline.chat.context.remembering import Texts
from paceline.chat.context.symbols import language_of, symbols
from paceline.chat.context.walking import Walk
from paceline.chat.turns import Attached
from paceline.errors import InputError
from paceline.prompts.context import Attachment, with_files
from paceline.text import replace_surrogates, strip_controls
from paceline.workspace import git
from paceline.workspace.diffs import redacted
from paceline.workspace.files import below
from paceline.workspace.ignoring import Rules
from paceline.workspace.kinds import is_secret_file

FOLDER = 64 * 1024  # characters of a folder's files that are shown
LISTED = 400  # entries of a folder that are listed
NEW = 1000  # files that Git does not follow, which are counted
PARSED = 4  # texts of which it is remembered what they define
NAMED = 5  # mentions that are proposed
_LINES = "mention lines instead, as in @app.py:10-40"
HIDDEN = "secrets in it are replaced by asterisks"


class KeptBackError(InputError):
    """Something is not attached unasked. may_override: a person may say yes to it; False for secrets."""

    def __init__(self, message: str, hint: str = "", *, may_override: bool) -> None:
        super().__init__(message, hint)
        self.may_override = may_override


class Attaching:
    """Reads what was found or mentioned in one workspace. Blocks: call it in a thread."""

    def __init__(self, root: Path, ignore: Sequence[str] = ()) -> None:
        """ignore: patterns as in .gitignore, besides those of the workspace's own files."""
        self._root = root.resolve()
        self._ignore = tuple(ignore)
        self._rules = Rules(str(self._root), self._ignore)
        self._texts = Texts()
        self._symbols = lru_cache(PARSED)(symbols)

    def of(self, found: Found, output: Attached | None = None, *, override: bool = False) -> Attached:
        """What was found. output: the last command's. Raises InputError, KeptBackError among them."""
        if found.kind == "diff":
            return self.diff()
        if found.kind == "output":
            if output is None:
                raise InputError("no command has been run yet", "run one with ! in front of it, such as !git status")
            return output
        if found.kind == "folder":
            return self.folder(found.path, override=override)
        if found.kind == "symbol":
            return self._symbol(found, override=override)
        return self.file(found.path, found.first, found.last, override=override)

    def mention(
        self, mention: Mention, finder: Finder, output: Attached | None = None, *, override: bool = False
    ) -> Attached:
        """What is mentioned. Raises InputError, also where several files define it, KeptBackError among them."""
        meant = finder.meanings(mention.name)
        if not meant:
            raise InputError(f"there is nothing called {mention.name} here", "type @ and a part of the name to search")
        if len(meant) > 1:
            more = f", or one of {len(meant) - NAMED:,} more" if len(meant) > NAMED else ""
            which = ", ".join(each.mention for each in meant[:NAMED])
            raise InputError(f"{len(meant):,} files define {mention.name}", f"say which: {which}{more}")
        found = replace(meant[0], first=mention.first, last=mention.last) if mention.first else meant[0]
        return self.of(found, output, override=override)

    def file(self, path: str, first: int = 0, last: int = 0, *, override: bool = False) -> Attached:
        """A file, or lines of it. path: relative to the workspace, or absolute. Raises as `of`."""
        where, name = self._allowed(path, override=override)
        text, cut = self._shown(where, name)
        if first:
            text, lines = _lines(text, first, last, name)
            name = f"{name}:{lines}"
        return Attached("file", name, text, str(where), cut)

    def folder(self, path: str, *, override: bool = False) -> Attached:
        """A listing of a folder, and its files as far as they go. Raises as `of`."""
        where, name = self._allowed(path.rstrip("/") + "/", override=override)
        name = name.rstrip("/") + "/"
        if not where.is_dir():
            raise InputError(f"{name} is not a folder", "type @ and a part of the name to search")
        inside = where.is_relative_to(self._root) and not self._rules.ignored(_within(name))
        within = where.relative_to(self._root).as_posix() + "/" if inside else ""
        within = "" if within == "./" else within
        walk = Walk(str(self._root if inside else where), self._ignore)
        names = [each.path.removeprefix(within) for each in walk.entries(within, above=inside)]
        listing = "\n".join([*names[:LISTED], *([f"… and {len(names) - LISTED:,} more"] if names[LISTED:] else [])])
        files = [each for each in names if not each.endswith("/")]
        shown = [each for each in files if self._leads_where_it_stands(where / each, override=override)]
        blocks, out = self._files(where, shown)
        out += [each for each in files if each not in set(shown)]
        text = "\n\n".join([f"{name}\n{listing}", *blocks])
        return Attached("folder", name, text, str(where), _left_out(out))

    def _leads_where_it_stands(self, path: Path, *, override: bool) -> bool:
        """Whether a file of a folder is no link, or one to what may be shown just as well."""
        try:
            if path.resolve() == path:
                return True
            self._allowed(str(path), override=override)
        except (OSError, RuntimeError, InputError):
            return False
        return True

    def diff(self) -> Attached:
        """What has changed since the last commit, staged or not. Raises InputError where nothing has that is shown."""
        found = git.differences(str(self._root))
        new = self._unfollowed()
        if not found.files and not found.left:
            hint = f"{new}: `git add` them, or mention them by name" if new else "see `git status`"
            raise InputError("nothing has changed since the last commit", hint)
        ignored = self._rules.ignored
        shown = [each for each in found.files if not (ignored(each.name) or ignored(each.old))]
        seen = {each.name for each in shown}
        left = [name for name in found.left if not ignored(name)]
        names = dict.fromkeys([*(each.name for each in found.files), *found.left])
        kept = [name for name in names if name not in seen and name not in left]
        out = f"kept back by rules: {_some(map(_spelled, kept))}" if kept else ""
        if not shown and not left:
            raise InputError("nothing has changed since the last commit that a model may be shown", out)
        text = "".join(each.head + each.hunks for each in shown) + _others(left, more=found.cut)
        clean = redacted(text)
        partly = [_spelled(name) for name in found.partly if name in seen]
        filtered = [_spelled(name) for name in found.filtered if name in seen]
        notes = [
            out,
            f"shown in part: {_some(partly)}" if partly else "",
            f"without their lines, since a filter of Git changes those: {_some(filtered)}" if filtered else "",
            f"named only: {_some(map(_spelled, left))}" if left else "",
            "there may be more" if found.cut else "",
            f"{new}, which are not shown" if new else "",
            HIDDEN if clean != text else "",
        ]
        return Attached("diff", "git diff", clean, "", "; ".join(note for note in notes if note))

    def _unfollowed(self) -> str:
        """How many files a diff cannot have, since Git knows nothing of them; "": none."""
        names = git.untracked(str(self._root))
        count = sum(not self._rules.ignored(name) for name in names[:NEW])
        more = "more than " if len(names) > NEW else ""
        if not count:
            return ""
        return f"{more}{count:,} new file{'s are' if count > 1 else ' is'} not followed by Git"

    def _symbol(self, found: Found, *, override: bool) -> Attached:
        """All definitions of the name in its file, or those that have the lines that are asked for."""
        where, name = self._allowed(found.path, override=override)
        text, cut = self._shown(where, name)
        language = language_of(name)
        every = self._symbols(language, text, ends=False)
        if not any(each.name == found.name for each in every):
            methods = dict.fromkeys(each.name for each in every if each.name.endswith(f".{found.name}"))
            if len(methods) != 1:
                some = f"it has {_some(methods)}" if methods else "type @ and a part of the name"
                raise InputError(f"{found.name} is not defined in {name}", some)
            found = replace(found, name=next(iter(methods)))
        same = [each for each in self._symbols(language, text) if each.name == found.name]
        if not same:
            raise InputError(f"{name} is no {language} as it is: where {found.name} ends is not known", _LINES)
        if found.last:
            same = [each for each in same if each.first <= found.last and found.first <= each.last]
        if not same:
            raise InputError(f"{found.name} is not defined in line {found.first:,} of {name}", "leave the line out")
        spans: list[tuple[int, int]] = []
        for each in sorted(same, key=lambda each: each.first):
            if spans and each.first <= spans[-1][1] + 1:
                spans[-1] = spans[-1][0], max(spans[-1][1], each.last)
            else:
                spans.append((each.first, each.last))
        parts, lines = zip(*(_lines(text, first, last, name) for first, last in spans), strict=True)
        return Attached("symbol", f"{found.name}, {name}:{', '.join(lines)}", "\n".join(parts), str(where), cut)

    def _shown(self, where: Path, name: str) -> tuple[str, str]:
        """A file's text as a model may see it, and what was left out of it. Raises InputError."""
        text, hidden = self._texts.read(where, name)
        return text, HIDDEN if hidden else ""

    def _files(self, folder: Path, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """Whole files as they fit into FOLDER characters, and the names of those that do not fit or are no text."""
        blocks, out, room = list[str](), list[str](), FOLDER
        for name in names:
            try:
                text = self._texts.read(folder / name, name, room)[0] if room > 0 else None
            except InputError:
                text = None
            if text is None or len(text) > room:
                out.append(name)
                continue
            blocks.append(f"===== {name}\n{text}")
            room -= len(text)
        return blocks, out

    def _allowed(self, path: str, *, override: bool) -> tuple[Path, str]:
        """Where a file or folder is, links followed, and its name. Raises KeptBackError, or InputError: not there."""
        spelled = replace_surrogates(strip_controls(path)).replace("\n", " ")
        try:
            where = below(self._root, path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"there is no {spelled} here", "type @ and a part of the name to search") from error
        inside = where.is_relative_to(self._root)
        name = where.relative_to(self._root).as_posix() if inside else str(where)
        name = "./" if name == "." else replace_surrogates(strip_controls(name)).replace("\n", " ")
        real = where.relative_to(self._root).as_posix() if inside else str(where)
        end = "/x" if where.is_dir() else ""
        if is_secret_file(real + end) or is_secret_file(path.rstrip("/") + end):
            raise KeptBackError(f"{name} looks like a file of secrets, which no model is shown", may_override=False)
        if override:
            return where, name
        if not inside:
            raise KeptBackError(f"{name} is outside of the workspace {self._root}", may_override=True)
        if real != "." and self._rules.ignored(real + (end and "/\x01")):
            raise KeptBackError(f"{name} is kept from models by ignore rules", may_override=True)
        return where, name


def message_text(question: str, attached: Sequence[Attached]) -> str:
    """Exactly what the model is sent for a turn: what is attached, in order, then the question.

    The same turn always gives the same text, so that an engine finds its tokens in the cache.
    """
    return with_files(question, [Attachment(each.name, each.text) for each in attached], None)


def _within(folder: str) -> str:
    """A name in a folder that no rule is about: whether it is ignored is whether the folder is."""
    return f"{folder.rstrip('/')}/\x01"


def _lines(text: str, first: int, last: int, name: str) -> tuple[str, str]:
    """Lines of a text, from 1, the last included, and their numbers in words. Raises InputError beyond its end."""
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    if first > count:
        raise InputError(f"{name} has {count:,} lines, and no line {first:,}", "name lines that are there")
    last = min(max(first, last), count)
    part = "\n".join(lines[first - 1 : last]) + ("\n" if last < len(lines) else "")
    return part, str(first) if first == last else f"{first}-{last}"


def _others(names: Sequence[str], *, more: bool) -> str:
    """Files that have changed as well, below a diff that has no room for them."""
    if not names:
        return ""
    end = [f"… and {len(names) - LISTED:,} more"] if names[LISTED:] else ["… and perhaps more"] if more else []
    return "\n".join(["Changed as well, but not shown:", *map(_spelled, names[:LISTED]), *end, ""])


def _spelled(name: str) -> str:
    """A file's name in one line."""
    return replace_surrogates(strip_controls(name)).replace("\n", " ")


def _left_out(names: Sequence[str]) -> str:
    """In words."""
    return f"listed only, without their text: {_some(names)}" if names else ""


def _some(names: Iterable[str]) -> str:
    """The first of them, and how many there are besides."""
    known = [*names]
    more = f" and {len(known) - 3:,} more" if len(known) > 3 else ""
    return ", ".join(known[:3]) + more
