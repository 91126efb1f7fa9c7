"""`paceline lsp`: the language server."""

import sys

import click

from paceline.errors import InputError


@click.command()
@click.option(
    "--tcp",
    metavar="HOST:PORT",
    default="",
    help="Listen there instead of talking over stdin and stdout; for debugging.",
)
@click.option("--explain", is_flag=True, help="Say in the editor's log why there is no completion, each time.")
def command(tcp: str, explain: bool) -> None:
    """Complete code as one types: a language server, which editors start by themselves.

    It holds no model: it asks the daemon, and starts that when it is needed. `paceline editor` says how to set up an
    editor.
    """
    from paceline import paths
    from paceline.lsp import options
    from paceline.lsp.running import serve_stdio, serve_tcp

    own = options.of_person(paths.config_file())
    if not tcp:
        serve_stdio(own, explain=explain)
    host, _, port = tcp.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 2**16):
        raise InputError(f"{tcp!r} is not HOST:PORT", "for example 127.0.0.1:9257")
    click.echo(f"listening on {host}:{port}", err=True)
    sys.stderr.flush()
    serve_tcp(own, host, int(port), explain=explain)
