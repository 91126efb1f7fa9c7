"""Which settings take another daemon, and that one which runs goes by all others as the file has them now."""

import os

import msgspec
import pytest
from msgspec.structs import replace

from paceline.config import CompleteConfig, Config, DaemonConfig, EngineConfig, ModelsConfig, SamplingConfig
from paceline.daemon.settings import Settings, config_digest, fixed, joined

DAEMON = ("models", "engine", "daemon", "sampling", "ask", "complete")  # tables that it reads
FREE = {  # settings that a running daemon takes over, or has no use for
    *("models.offline", "engine.speculation", "engine.strict", "engine.url", "engine.model"),
    *("daemon.idle_minutes", "daemon.unload_minutes", "ask.system", "ask.max_tokens"),
    *("complete.max_tokens", "complete.prefix_tokens", "complete.suffix_tokens"),
    *(f"sampling.{field.name}" for field in msgspec.structs.fields(SamplingConfig)),
}
OTHER = {
    "engine.speculation": "ngram",
    "engine.gpu_layers": 3,
    "engine.kv_type": "q8_0",
    "complete.model": "draft",
    "engine.tensor_split": (0.5,),
}


def changed(table, key):
    """The default configuration with another value for one key."""
    usual = getattr(Config(), table)
    value = getattr(usual, key)
    name = f"{table}.{key}"
    other = OTHER[name] if name in OTHER else not value if isinstance(value, bool) else value * 2 + type(value)(1)
    return replace(Config(), **{table: replace(usual, **{key: other})})


KEYS = [(table, field.name) for table in DAEMON for field in msgspec.structs.fields(type(getattr(Config(), table)))]


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_what_is_fixed_at_the_start_takes_another_daemon_and_a_running_one_takes_over_the_rest(table, key):
    usual, other = Config(), changed(table, key)
    if f"{table}.{key}" == "engine.speculation":
        usual = Config(engine=EngineConfig(speculation="off"))
    after = joined(usual, other)
    if f"{table}.{key}" in FREE:
        assert config_digest(other) == config_digest(usual)
        if f"{table}.{key}" not in ("models.offline", "engine.url", "engine.model"):
            assert after == other
    else:
        assert config_digest(other) != config_digest(usual)
        assert after == usual
    assert fixed(after) == fixed(usual)


@pytest.mark.parametrize("before", ["off", "ngram", "lookahead", "auto", "draft"])
@pytest.mark.parametrize("after", ["off", "ngram", "lookahead", "auto", "draft"])
def test_another_way_to_draft_takes_another_daemon_where_that_loads_something_else(before, after):
    one, other = (Config(engine=EngineConfig(speculation=each)) for each in (before, after))
    models = {"auto", "draft"} & {before, after}
    assert (config_digest(one) == config_digest(other)) == (before == after or not models)
    taken = joined(one, other).engine.speculation
    assert taken == (after if after == before or after not in ("auto", "draft") else before)


def test_how_quick_completions_have_to_be_matters_where_that_decides_who_completes():
    for model, same in (("auto", False), ("target", True), ("draft", True)):
        quick, slow = (CompleteConfig(model=model, latency_ms=each) for each in (1.0, 2.0))
        assert (config_digest(Config(complete=quick)) == config_digest(Config(complete=slow))) is same


# --- the file ---------------------------------------------------------------------------------------------------------


def write(path, text):
    """Another version of the file, as a clock with any grain would show it."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_what_the_file_says_is_followed(tmp_path):
    path = tmp_path / "config.toml"
    settings = Settings(Config(), path)
    assert settings.now() == Config()
    write(path, "[engine]\nstrict = true\ncontext = 512\n[chat]\nnonsense = 1\n")
    assert settings.now() == Config(engine=EngineConfig(strict=True))
    write(path, "[daemon]\nidle_minutes = 5\n")
    assert settings.now() == Config(daemon=DaemonConfig(idle_minutes=5))
    path.unlink()
    assert settings.now() == Config()


def test_a_file_that_does_not_change_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "config.toml"
    write(path, "[engine]\nstrict = true\n")
    settings = Settings(Config(), path)
    found = settings.now()
    monkeypatch.setattr("paceline.daemon.settings.configuration.load", None)
    assert settings.now() is found


def test_a_file_with_mistakes_changes_nothing_until_it_is_mended(tmp_path, caplog):
    path, started = tmp_path / "config.toml", Config(models=ModelsConfig(pair="one"))
    settings = Settings(started, path)
    for broken in ("[engine]\nstrict = tr", "[engine]\nstrikt = true\n"):
        write(path, broken)
        assert settings.now() == started
    assert "stays as it was" in caplog.text
    write(path, "[sampling]\ntemperature = 1\n")
    assert settings.now() == replace(started, sampling=SamplingConfig(temperature=1.0))
