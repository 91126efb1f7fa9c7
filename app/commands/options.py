"""The options that every command which generates text has."""

import functools
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from paceline.config import Speculation


@dataclass(frozen=True)
class GenerationOptions:
    """What the command line says about a generation; None: as configured."""

    max_tokens: int | None
    temperature: float | None
    seed: int | None
    speculation: Speculation | None
    strict: bool | None
    offline: bool
    daemon: bool
    as_object: bool
    stats: bool


class Temperature(click.FloatRange):
    """0 to 10. click's own range lets "nan" through, which is neither below nor above anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """The number. Fails as click's types do."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


OPTIONS = (
    click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens to generate, at most."),
    click.option("--temperature", type=Temperature(0, 10), help="0 takes the likeliest token, always."),
    click.option("--seed", type=click.IntRange(min=0, max=2**63 - 1), help="The same seed gives the same text."),
    click.option(
        "--speculation",
        type=click.Choice(typing.get_args(Speculation)),
        help="Who drafts: auto decides by what pays on this machine.",
    ),
    click.option(
        "--strict/--no-strict",
        default=None,
        help="Decide near-ties as plain decoding would, so that the text does not depend on drafting; "
        "costs a little speed.",
    ),
    click.option("--offline", is_flag=True, help="Never use the network."),
    click.option(
        "--daemon/--no-daemon",
        default=True,
        help="Ask the engine that all programs share, or load the models into this process.",
    ),
    click.option("--json", "as_object", is_flag=True, help="Print one JSON object instead of the text."),
    click.option("--stats", is_flag=True, help="Print figures to stderr."),
)


def generation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command's function, which gets them together as its keyword argument `options`."""

    @functools.wraps(command)
    def gathered(**given: Any) -> None:  # noqa: ANN401 - click passes what its options yield
        names = GenerationOptions.__dataclass_fields__
        options = GenerationOptions(**{name: given.pop(name) for name in names})
        command(options=options, **given)

    for option in reversed(OPTIONS):
        gathered = option(gathered)
    return gathered
