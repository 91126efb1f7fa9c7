"""Puts the parts of the language server together, and runs it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from paceline.config import Config
from paceline.lsp.editor import Editor
from paceline.lsp.server import Server

if TYPE_CHECKING:
    from paceline.lsp.edits import Edits
    from paceline.lsp.session import Session


def serve_stdio(config: Config, *, explain: bool = False) -> None:
    """Until the editor goes."""
    Server(config.editor, _behind(config, explain=explain)).start_io()


def serve_tcp(config: Config, host: str, port: int, *, explain: bool = False) -> None:
    """One editor, through a socket; for debugging."""
    Server(config.editor, _behind(config, explain=explain)).start_tcp(host, port)


def _behind(config: Config, *, explain: bool) -> "Callable[[Editor], tuple[Session, Edits]]":
    """What makes the parts. They are imported then: an editor waits for its first answer, and not for them."""

    def behind(editor: Editor) -> "tuple[Session, Edits]":
        from paceline.client.async_client import connect
        from paceline.lsp.completing import Engine
        from paceline.lsp.context.gather import Context, ContextSettings, redacted
        from paceline.lsp.edits import Edits
        from paceline.lsp.figures import Figures
        from paceline.lsp.figures_store import Store, default_path
        from paceline.lsp.session import Session
        from paceline.lsp.telling import Telling

        client = connect(config, editor.log)
        context = Context(ContextSettings(config.editor.other_files, config.editor.git_diff, config.editor.ignore))
        session = Session(
            config,
            Engine(client),
            context,
            Telling(editor.show),
            Figures(Store(default_path()), editor.text),
            editor.log,
            explain=explain,
        )
        return session, Edits(client, editor, redacted)

    return behind
