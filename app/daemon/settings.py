"""Which settings are fixed when a daemon starts, and the others as the configuration file has them now."""

import hashlib
import logging
from pathlib import Path

import msgspec
from msgspec.structs import replace

from paceline import config as configuration
from paceline.config import CompleteConfig, Config, DaemonConfig, EngineConfig, Speculation
from paceline.errors import ConfigError

logger = logging.getLogger("paceline.daemon")

USUAL = EngineConfig()


def config_digest(config: Config) -> str:
    """16 hexadecimal digits that change with what only another daemon can have: see `fixed`."""
    return hashlib.sha256(msgspec.json.encode(fixed(config))).hexdigest()[:16]


def fixed(config: Config) -> Config:
    """What the models are loaded by and the process is set up with; everything else is as by default.

    That is: the models; the table [engine], but for how a request is answered and for servers elsewhere; who
    completes; the address for other programs.
    """
    engine = replace(config.engine, strict=USUAL.strict, url=USUAL.url, model=USUAL.model)
    engine = replace(engine, speculation=_loads(config.engine.speculation))
    model = config.complete.model
    chosen = CompleteConfig(model=model, latency_ms=config.complete.latency_ms) if model == "auto" else None
    return Config(
        models=replace(config.models, offline=False),  # a daemon never downloads
        engine=engine,
        daemon=DaemonConfig(http=config.daemon.http),
        complete=chosen or CompleteConfig(model=model),
    )


def joined(started: Config, now: Config) -> Config:
    """The configuration `now`, but for what was fixed when a daemon started."""
    engine = replace(started.engine, strict=now.engine.strict)
    if _loads(now.engine.speculation) in ("off", _loads(started.engine.speculation)):
        engine = replace(engine, speculation=now.engine.speculation)
    complete = replace(now.complete, model=started.complete.model, latency_ms=started.complete.latency_ms)
    return replace(
        now,
        models=started.models,
        engine=engine,
        daemon=replace(now.daemon, http=started.daemon.http),
        complete=complete,
    )


def _loads(speculation: Speculation) -> Speculation:
    """Whether it takes a draft model: all that do not are "off"."""
    return speculation if speculation in ("auto", "draft") else "off"


class Settings:
    """The configuration of a daemon while it runs: looks at the file whenever it is asked, and reads what is new."""

    def __init__(self, started: Config, path: Path) -> None:
        """`started`: what the file said when the daemon started."""
        self._started = started
        self._path = path
        self._config = started
        self._seen: configuration.Version = None

    def now(self) -> Config:
        """As it is now. A file that cannot be read, or has mistakes, changes nothing."""
        version = configuration.version(self._path)
        if version != self._seen:
            self._seen = version
            try:
                found = configuration.load(self._path, without=configuration.FRONT_ENDS)
            except ConfigError as error:
                logger.warning("the configuration stays as it was: %s", error.message)
            else:
                self._config = joined(self._started, found)
        return self._config
