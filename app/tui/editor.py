"""The person's own editor, which has the terminal while the app goes on without being seen."""

import asyncio
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from paceline.errors import InputError

GRACE = 2.0  # seconds in which an editor that is to end puts the terminal in order
_TYPED = [getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)]


class Editor:
    """One at a time. What comes meanwhile is read, kept, and seen when the editor has ended."""

    def __init__(self, app: App[Any], environ: Mapping[str, str]) -> None:
        """environ: names the editor, and is what it gets."""
        self._app, self._environ = app, environ
        self._open = False

    async def text(self, text: str, suffix: str) -> str:
        """A text as the person leaves it. suffix: of a file's name, by which editors know languages. InputError."""
        with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
            path = Path(folder) / f"text{suffix}"
            path.write_text(text, encoding="utf-8", errors="replace")
            await self.file(path)
            try:
                return path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError("what the editor left cannot be read", "save it as UTF-8") from error

    async def file(self, path: Path) -> None:
        """Let the person edit a file. Raises InputError where there is no editor, or it fails."""
        words = _command(self._environ)
        name = Path(words[0]).name
        if self._open:
            raise InputError("the editor is open already", "one at a time")
        self._open = True
        try:
            status = await self._run([*words, str(path)])
        except (OSError, ValueError) as error:
            raise InputError(f"{name} cannot be started: {error.args[-1]}", "check EDITOR") from error
        except SuspendNotSupported as error:
            raise InputError("an editor cannot have this terminal", "use another one") from error
        finally:
            self._open = False
        if status:
            how = f"was ended by {_signal(-status)}" if status < 0 else f"ended with status {status}"
            raise InputError(f"{name} {how}", "check EDITOR")

    async def _run(self, words: list[str]) -> int:
        """Its exit status. Raises OSError and ValueError where it cannot be started."""
        failed: OSError | ValueError | None = None
        status = 0
        shown = sys.stdout, sys.stderr
        try:
            with self._app.suspend(), _unseen(self._app, *shown), _typed_for_another():
                try:  # nothing may leave suspend() that way: it would not give the terminal back to the app
                    process = await asyncio.create_subprocess_exec(*words, env=dict(self._environ))
                except (OSError, ValueError) as error:
                    failed = error
                else:
                    status = await _waited(process)
        except asyncio.CancelledError:  # the app has left before us, and what is printed is no longer its
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
            raise
        if failed is not None:
            raise failed
        return status


def _command(environ: Mapping[str, str]) -> list[str]:
    """The words that start the editor. Raises InputError where there is none."""
    editor = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        words = shlex.split(editor)
    except ValueError as error:
        raise InputError(f"EDITOR is no command: {error}", "set it to one, such as EDITOR=nano") from error
    if not words:
        raise InputError("no editor is named", "set EDITOR, such as EDITOR=nano")
    if shutil.which(words[0], path=environ.get("PATH")) is None:
        raise InputError(f"the editor {words[0]} is not there", "check EDITOR")
    return words


async def _waited(process: asyncio.subprocess.Process) -> int:
    """Its exit status. Whoever does not wait any more, as the app leaves, ends it: two cannot have one terminal."""
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=GRACE)
        raise


@contextmanager
def _unseen(app: App[Any], *caught: Any) -> Iterator[None]:  # noqa: ANN401 - whatever catches what is printed
    """Nothing of the app's is drawn into the editor's screen; what is printed is caught, as always."""
    out, wrong = caught
    driver = app._driver  # nothing else can keep it silent: whatever draws goes through it
    with ExitStack() as stack:
        if driver is not None:
            vars(driver)["write"] = _nowhere
            stack.callback(vars(driver).pop, "write", None)
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(wrong))
        yield


@contextmanager
def _typed_for_another() -> Iterator[None]:
    r"""Ctrl-C and Ctrl-\ reach all that have the terminal, where the editor does not take them as keys.

    They are caught and not ignored: an ignored signal would be ignored by the editor, too.
    """
    before = {}
    with suppress(ValueError):  # another thread than the first: then signals are not ours
        before = {number: signal.signal(number, _nothing) for number in _TYPED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _signal(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _nowhere(_: str) -> None:
    """Write it to nobody."""


def _nothing(*_: object) -> None:
    """Done about a signal."""
