"""Puts the parts of the language server together, and runs it."""

import logging
import sys
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
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever is printed by mistake must not come between messages
    _keep_quiet()
    Server(config.editor, _behind(config, explain=explain)).start_io(stdout=output)


def serve_tcp(config: Config, host: str, port: int, *, explain: bool = False) -> None:
    """One editor, through a socket; for debugging."""
    _keep_quiet()
    Server(config.editor, _behind(config, explain=explain)).start_tcp(host, port)


def _keep_quiet() -> None:
    """What pygls logs goes to the editor's log without what it is about: messages hold people's texts."""

    def without_texts(record: logging.LogRecord) -> bool:
        record.args = ()
        record.msg = str(record.msg).partition("%")[0].strip()
        return True

    for name in ("protocol.json_rpc", "protocol.language_server", "feature_manager"):
        logger = logging.getLogger(f"pygls.{name}")
        logger.setLevel(logging.ERROR)  # warnings are of cancellations that come too late, and the like
        logger.addFilter(without_texts)


def _behind(config: Config, *, explain: bool) -> "Callable[[Editor], tuple[Session, Edits]]":
    """What makes the parts. They are imported then: an editor waits for its first answer, and not for them."""

    def behind(editor: Editor) -> "tuple[Session, Edits]":
        from paceline.client.async_client import connect
        from paceline.lsp.completing import Engine
        from paceline.lsp.context.gather import Context, redacted
        from paceline.lsp.edits import Edits
        from paceline.lsp.figures import Figures
        from paceline.lsp.figures_store import Store, default_path
        from paceline.lsp.session import Session
        from paceline.lsp.telling import Telling

        client, context = connect(config, editor.log), Context()
        context.configure(config.editor)
        session = Session(
            config,
            Engine(client),
            context,
            Telling(editor.show),
            Figures(Store(default_path()), editor.text),
            editor.log,
            renew=client.renew,
            explain=explain,
        )
        return session, Edits(client, editor, redacted)

    return behind
