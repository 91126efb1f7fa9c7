"""Puts the parts of the language server together, and runs it."""

from collections.abc import Callable

from paceline.client.async_client import connect
from paceline.config import Config, EditorConfig
from paceline.lsp.completing import Engine
from paceline.lsp.context.gather import Context, ContextSettings, redacted
from paceline.lsp.editor import Editor
from paceline.lsp.edits import Edits
from paceline.lsp.figures import Figures
from paceline.lsp.figures_store import Store, default_path
from paceline.lsp.server import Server
from paceline.lsp.session import Session
from paceline.lsp.telling import Telling


def serve_stdio(config: Config, *, explain: bool = False) -> None:
    """Until the editor goes."""
    Server(_behind(config, explain=explain)).start_io()


def serve_tcp(config: Config, host: str, port: int, *, explain: bool = False) -> None:
    """One editor, through a socket; for debugging."""
    Server(_behind(config, explain=explain)).start_tcp(host, port)


def _behind(config: Config, *, explain: bool) -> Callable[[Editor], tuple[Session, Edits]]:
    def behind(editor: Editor) -> tuple[Session, Edits]:
        client, context = connect(config, editor.log), Context(_shown(config.editor))

        def reconfigured(settings: EditorConfig) -> None:
            context.settings = _shown(settings)

        session = Session(
            config,
            Engine(client),
            context,
            Telling(editor.show),
            Figures(Store(default_path()), editor.text),
            editor.log,
            reconfigured=reconfigured,
            explain=explain,
        )
        return session, Edits(client, editor, redacted)

    return behind


def _shown(settings: EditorConfig) -> ContextSettings:
    return ContextSettings(settings.other_files, settings.git_diff, settings.ignore)
