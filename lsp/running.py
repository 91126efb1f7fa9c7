"""Puts the parts of the language server together, and runs it."""

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from paceline import paths
from paceline.lsp import options
from paceline.lsp.editor import Editor
from paceline.lsp.options import Own
from paceline.lsp.server import Server

if TYPE_CHECKING:
    from paceline.lsp.edits import Edits
    from paceline.lsp.session import Session


def serve_stdio(own: Own, *, explain: bool = False) -> NoReturn:
    """Until the editor goes; the process ends then, with a status that says whether it went as the protocol wants."""
    from paceline.lsp.stdio import serve

    output, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever is printed by mistake must not come between messages
    _keep_quiet()
    serve(Server(own.config.editor, _behind(own, explain=explain)), output)


def serve_tcp(own: Own, host: str, port: int, *, explain: bool = False) -> None:
    """One editor, through a socket, until it goes; for debugging. Raises InputError."""
    from paceline.lsp.tcp import serve

    _keep_quiet()
    serve(Server(own.config.editor, _behind(own, explain=explain)), host, port)


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


def _behind(own: Own, *, explain: bool) -> "Callable[[Editor], tuple[Session, Edits]]":
    """What makes the parts. They are imported then: an editor waits for its first answer, and not for them."""

    def behind(editor: Editor) -> "tuple[Session, Edits]":
        from paceline.lsp.context.gather import Context, redacted
        from paceline.lsp.edits import Edits
        from paceline.lsp.engine import Engine
        from paceline.lsp.figures import Figures
        from paceline.lsp.figures_store import Store, default_path
        from paceline.lsp.reaching import Reaching
        from paceline.lsp.session import Session
        from paceline.lsp.telling import Telling

        config, context = own.config, Context()
        context.configure(config.editor)
        client = Reaching(paths.config_file(), own, editor.log)
        session = Session(
            config,
            Engine(client),
            context,
            Telling(editor.show),
            Figures(Store(default_path()), editor.text),
            editor.log,
            renew=client.renew,
            news=client.news,
            explain=explain,
        )
        for sentence in options.told(own.problems):
            session.telling.once("warning", sentence)
        return session, Edits(client, editor, redacted)

    return behind
