"""`paceline stop`: end the daemon."""

import click


@click.command()
@click.option("--now", is_flag=True, help="Cancel running requests; without it they are finished first.")
def command(now: bool) -> None:
    """End the daemon that holds the models, and wait until it has ended.

    Without a running daemon there is nothing to do, and the exit code is 0 too.
    """
    from paceline.console import say
    from paceline.daemon import ending
    from paceline.daemon.runtime import Runtime
    from paceline.errors import PacelineError

    runtime = Runtime.open()
    if not runtime.occupied():
        say("no daemon is running")
        return
    try:
        pid = ending.ask_to_stop(runtime, "now" if now else "idle")
    except PacelineError:  # it hangs, or is none of ours
        if not now:
            raise
        pid = None
    if now:
        if pid is None or not ending.wait(runtime, ending.PROMISED):
            ending.force(runtime)
    elif not ending.wait(runtime, 1.0):
        say("waiting for running requests to end; `paceline stop --now` cancels them")
        ending.wait(runtime)
    say("the daemon has ended")
