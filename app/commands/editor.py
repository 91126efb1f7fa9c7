"""`paceline editor`: show an editor's configuration for completions, or write it into the editor's own files."""

import difflib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from paceline import console
from paceline.commands import editors
from paceline.commands.editors import Change, Editor, Plan
from paceline.errors import ExitCode, InputError, PacelineError, ResourceError

BACKUP = ".before-paceline"
VIMS = ("vim", "gvim", "vi", "macvim")
VIM = """\
Vim is served by the plug-in llama.vim, with Paceline for its server:

    paceline stop; paceline serve --http 127.0.0.1:8765     # or http = "127.0.0.1:8765" under [daemon]
    let g:llama_config = {'endpoint_fim': 'http://127.0.0.1:8765/infill', 'api_key': 'the token'}

`paceline status` shows the address and the token. Neovim has a plug-in of Paceline's own: paceline editor neovim"""


@click.command()
@click.argument("name", default="", metavar="[NAME]")
@click.option("--write", is_flag=True, help="Write it into the editor's own files: shows what changes, and asks.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--language", "languages", multiple=True, metavar="NAME", help="Only for this language (Helix, Kate).")
def command(name: str, write: bool, yes: bool, languages: tuple[str, ...]) -> None:
    """Show what an editor needs for completions as you type, or write it.

    Without NAME: the editors that Paceline knows, and which of them are on this machine. Nothing is ever overwritten
    that is not understood; a file that is changed is kept beside itself, with the ending .before-paceline.
    """
    known = editors.known()
    if not name:
        if write:
            raise click.UsageError("--write needs the name of an editor")
        _list(known)
        return
    if name.lower() in VIMS:
        if write:
            raise InputError("for Vim there is nothing to write", "`paceline editor vim` says how llama.vim is set up")
        console.out(VIM)
        return
    editor = _chosen(known, name)
    if write:
        _write(editor, languages, yes=yes)
    else:
        _show(editor, languages)


def _chosen(known: Sequence[Editor], name: str) -> Editor:
    """The editor of that name, or of that program's name."""
    for editor in known:
        if name.lower() in (editor.name, *editor.programs):
            return editor
    names = [editor.name for editor in known]
    near = difflib.get_close_matches(name.lower(), [*names, *VIMS], n=1)
    raise click.BadParameter(
        f"no editor {name!r} is known"
        + (f"; did you mean {near[0]}?" if near else f": it is one of {', '.join(names)} and vim"),
        param_hint="NAME",
    )


def _list(known: Sequence[Editor]) -> None:
    rows = [(editor.name, editors.found(editor) or "-", _state(editor), editor.about) for editor in known]
    vim = next((found for name in VIMS[:2] if (found := shutil.which(name))), "-")  # vi may be another one
    rows.append(("vim", vim, "by hand", "by llama.vim, with Paceline for its server"))
    console.show_table(["editor", "on this machine", "set up", "completions"], rows)
    console.say("\npaceline editor NAME shows the configuration, paceline editor NAME --write writes it")


def _state(editor: Editor) -> str:
    """Whether the editor has all that it needs."""
    try:
        plan = editors.plan(editor, ())
    except PacelineError:
        return "?"
    if not plan.changes:
        return "yes"
    return "in part" if any(change.before is not None and change.ours for change in plan.changes) else "no"


def _show(editor: Editor, languages: Sequence[str]) -> None:
    """The configuration on stdout, with where it belongs."""
    first = True
    for step in editors.applicable(editor):
        if not first:
            console.out("")
        first = False
        if text := editors.snippet(step, languages):
            console.out(f"{_comment(step.kind, step.comment)} {editors.target_of(step)}")
            console.out(text)
        else:
            console.out(f"# copies {_some(len(step.sources), 'file')} into {editors.target_of(step)}")
    for each in editor.command:
        console.out(f"# in {editors.path_of(each.folder)} run {' '.join(_words(editor, each.run))}")
    console.say(f"\n{_after(editor)}")
    console.say(
        f"More in {editors.folder() / editor.name / 'README.md'}; to write it: paceline editor {editor.name} --write"
    )


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _comment(kind: str, comment: str) -> str:
    return comment or {"json": "//"}.get(kind, "#")


def _write(editor: Editor, languages: Sequence[str], *, yes: bool) -> None:
    plan = editors.plan(editor, languages)
    for sentence in plan.kept:
        console.say(f"note: {sentence}")
    runs = [(_words(editor, each.run), editors.path_of(each.folder)) for each in editor.command]
    if not plan.changes and not runs:
        console.say(f"{editor.title} has all of it already; nothing is written")
        return
    _preview(editor, plan)
    for words, folder in runs:
        console.say(f"run in {folder}: {' '.join(words)}")
    for words, _ in runs:
        if shutil.which(words[0]) is None:
            raise InputError(f"{words[0]} is not on the PATH, and {editor.title} needs it", "install it and try again")
    if not yes and not console.can_ask():
        raise click.UsageError("there is nobody to ask: add --yes to write it")
    if not yes and not console.ask_yes_no("Do this?", default=True):
        console.say("nothing is written")
        raise click.exceptions.Exit(ExitCode.FAILURE)
    _carry_out(plan)
    for words, folder in runs:
        _run(words, folder)
    console.say(f"\n{_after(editor)}")


def _preview(editor: Editor, plan: Plan) -> None:
    """The changes as unified diffs; whole new files of ours in a line for each folder."""
    new = [change.path for change in plan.changes if change.before is None and change.ours]
    for folder in dict.fromkeys(_folder(editor, path) for path in new):
        files = [path for path in new if _folder(editor, path) == folder]
        console.say(f"new file {files[0]}" if len(files) == 1 else f"{len(files)} new files in {folder}")
    for change in plan.changes:
        for line in () if change.path in new else _diff(change):
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            console.say(console.coloured(line, colour, sys.stderr) if colour else line)


def _folder(editor: Editor, path: Path) -> Path:
    """Of a file of ours: the folder that a step puts it into, by itself or with others."""
    targets = [editors.target_of(step) for step in editors.applicable(editor) if step.kind == "file"]
    return next((target for target in targets if path.is_relative_to(target)), path.parent)


def _diff(change: Change) -> Iterator[str]:
    before = (change.before or "").splitlines()
    name = str(change.path)
    old = name if change.before is not None else "/dev/null"
    yield from difflib.unified_diff(before, change.after.splitlines(), old, name, lineterm="")


def _carry_out(plan: Plan) -> None:
    """Write all files. Raises InputError where one has changed since it was read, ResourceError where it cannot."""
    from paceline.models.store import replace

    for change in plan.changes:
        if editors.read(change.path) != change.before:
            raise InputError(f"{change.path} has changed meanwhile", "try again")
        path = change.path.resolve()  # the file that a link points to
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if change.before is not None:
                console.say(f"kept the former {change.path} as {_backup(path)}")
            replace(path, change.after.encode("utf-8"))
        except OSError as error:
            raise ResourceError(f"cannot write {change.path}: {error.strerror}", "nothing else is written") from error
        console.say(f"wrote {change.path}")


def _backup(path: Path) -> Path:
    """A copy beside the file, under a name that nothing has."""
    target, number = path.with_name(path.name + BACKUP), 1
    while target.exists():
        target, number = path.with_name(f"{path.name}{BACKUP}.{number}"), number + 1
    shutil.copy2(path, target)
    return target


def _words(editor: Editor, run: Sequence[str]) -> list[str]:
    program = editors.found(editor) or editor.programs[0]
    return [program if word == "{program}" else word for word in run]


def _run(words: Sequence[str], folder: Path) -> None:
    console.say(f"running {' '.join(words)}")
    with subprocess.Popen(
        words,
        cwd=folder,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        assert running.stdout is not None, "it is piped"
        for line in running.stdout:
            console.say(f"  {line.rstrip()}")
    if running.returncode:
        message = f"{words[0]} failed with code {running.returncode}"
        raise ResourceError(message, "what it said is above; mend that and try again")


def _after(editor: Editor) -> str:
    return editor.after.replace("{data}", str(editors.path_of("{data}")))
