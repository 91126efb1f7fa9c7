"""`paceline serve`: the daemon, in the foreground."""

import click


@click.command()
@click.option(
    "--http",
    default="",
    metavar="HOST:PORT",
    help="Also listen on loopback for other programs, which need the token that `paceline status` shows.",
)
def command(http: str) -> None:
    """Hold the models for everything on this machine that wants answers.

    Other commands and editors start this by themselves when they need it. It loads the models when it is first asked
    something, drops them after a while without requests, and ends after a longer one (the table [daemon] of the
    configuration). Ctrl-C, or `paceline stop`, ends it.
    """
    from functools import partial

    from paceline import config as configuration
    from paceline import paths
    from paceline.daemon.http.app import Apps
    from paceline.daemon.loading import load
    from paceline.daemon.server import serve

    config = configuration.load(paths.config_file(), without=configuration.FRONT_ENDS)
    serve(config, partial(load, config), Apps(), http=http)
