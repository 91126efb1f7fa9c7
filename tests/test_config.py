"""The configuration: defaults that work, and faults that are named."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline import config
from paceline.config import Config
from paceline.errors import ConfigError

DEFAULTS = {
    "models": {"pair": "", "target": "", "draft": "", "directory": "", "offline": False},
    "engine": {
        "context": 0,
        "threads": 0,
        "gpu_layers": "auto",
        "main_gpu": 0,
        "tensor_split": (),
        "flash_attention": True,
        "kv_type": "f16",
        "batch": 512,
        "speculation": "auto",
        "strict": False,
        "parallel": 8,
        "queue": 64,
        "step_ms": 100.0,
        "parking_mb": 1024,
        "url": "",
        "model": "",
    },
    "daemon": {"idle_minutes": 60.0, "unload_minutes": 20.0, "http": ""},
    "sampling": {
        "temperature": 0.0,
        "top_k": 40,
        "top_p": 0.95,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "repetition_window": 64,
    },
    "ask": {
        "system": "You are a careful programmer. Answer briefly and show code where it helps.",
        "max_tokens": 2048,
    },
    "complete": {
        "max_tokens": 128,
        "prefix_tokens": 1024,
        "suffix_tokens": 256,
        "model": "auto",
        "latency_ms": 1500.0,
    },
    "editor": {
        "enabled": True,
        "popup": "auto",
        "disabled_languages": (),
        "ignore": (),
        "comments": False,
        "multiline": True,
        "max_lines": 12,
        "max_tokens": 160,
        "candidates": 3,
        "latency_ms": 400.0,
        "threshold": -2.0,
        "max_file_kb": 2048,
        "other_files": True,
        "git_diff": True,
        "prefetch": True,
    },
    "chat": {
        "theme": "auto",
        "mouse": True,
        "motion": True,
        "drafts": False,
        "diff": "auto",
        "reserve_tokens": 1024,
        "paste_lines": 30,
        "command_seconds": 120.0,
        "keys": {},
    },
}
KEYS = [f"{table}.{key}" for table, keys in DEFAULTS.items() for key in keys]


@pytest.fixture
def read(tmp_path):
    """Reads a configuration out of a text."""

    def reading(text: str | bytes) -> Config:
        path = tmp_path / "config.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return config.load(path)

    return reading


def test_every_key_has_its_default():
    assert msgspec.to_builtins(Config()) == DEFAULTS


def test_no_file_an_empty_file_and_empty_tables_mean_the_defaults(tmp_path, read):
    assert config.load(tmp_path / "missing.toml") == Config()
    assert config.load(tmp_path / "no" / "such" / "folder.toml") == Config()
    assert read("") == read("# nothing\n") == read("".join(f"[{table}]\n" for table in DEFAULTS)) == Config()


def test_a_file_where_a_folder_should_be_means_there_is_no_configuration(tmp_path):
    (tmp_path / "file").write_text("")
    assert config.load(tmp_path / "file" / "config.toml") == Config()


def test_what_is_set_is_taken_and_the_rest_keeps_its_default(read):
    changed = read('[engine]\ngpu_layers = 12\ntensor_split = [3, 1.5]\nkv_type = "q8_0"\n[ask]\nsystem = "é"\n')
    assert changed.engine.gpu_layers == 12
    assert changed.engine.tensor_split == (3.0, 1.5)
    assert changed.engine.kv_type == "q8_0"
    assert changed.ask.system == "é"
    assert changed.engine.batch == 512
    assert changed.sampling == Config().sampling


def test_all_defaults_written_out_are_the_defaults(read):
    def shown(value: object) -> str:
        return "[]" if value == () else str(value).lower() if isinstance(value, bool) else repr(value)

    lines = [
        line
        for table, keys in DEFAULTS.items()
        for line in [f"[{table}]", *(f"{key} = {shown(value)}" for key, value in keys.items())]
    ]
    assert read("\n".join(lines)) == Config()


@pytest.mark.parametrize("struct", [Config(), *(getattr(Config(), table) for table in DEFAULTS)])
def test_a_configuration_cannot_be_changed(struct):
    field = struct.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(struct, field, getattr(struct, field))


def test_all_unknown_keys_are_named_with_what_may_have_been_meant(read):
    with pytest.raises(ConfigError) as failed:
        read("[engine]\nthreds = 1\nzzz = 2\n[modles]\n[complete]\nmax_token = 3\n")
    assert failed.value.message.endswith("has unknown keys: engine.threds, engine.zzz, modles, complete.max_token")
    assert failed.value.hint == (
        "engine.threds: did you mean engine.threads?; modles: did you mean models?; "
        "complete.max_token: did you mean complete.max_tokens?"
    )


@pytest.mark.parametrize("word", ["auto", "off", "ngram", "draft", "lookahead"])
def test_every_drafter_can_be_configured(read, word):
    assert read(f'[engine]\nspeculation = "{word}"\nstrict = true\n').engine == config.EngineConfig(
        speculation=word, strict=True
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('engine.speculation = "wild"', ('"auto"', '"off"', '"ngram"', '"draft"', '"lookahead"')),
        ('engine.gpu_layers = "all"', ('"auto"', "a number")),
        ('complete.model = "both"', ('"auto"', '"target"', '"draft"')),
    ],
)
def test_an_unknown_word_is_answered_with_those_that_are_known(read, line, words):
    with pytest.raises(ConfigError) as failed:
        read(line)
    assert line.split()[0] in failed.value.message
    assert all(word in failed.value.hint for word in words)


def test_a_wrong_number_is_answered_with_where_it_stands(read):
    with pytest.raises(ConfigError, match=r"\$\.engine\.parallel") as failed:
        read("engine.parallel = 0")
    assert failed.value.hint == "the path after $ names the key"


def test_an_unknown_key_like_no_other_gets_a_hint_too(read):
    with pytest.raises(ConfigError, match="unknown keys: zzz") as failed:
        read("zzz = 1\n")
    assert failed.value.hint


@given(st.sampled_from(KEYS), st.integers(0, 30))
def test_a_key_with_a_letter_missing_is_recognised(key, at):
    table, name = key.split(".")
    typo = name[: at % len(name)] + name[at % len(name) + 1 :]
    if typo in DEFAULTS[table]:
        return
    ((found, guess),) = config.unknown_keys({table: {typo: 1}}, Config)
    assert found == f"{table}.{typo}"
    assert guess in KEYS


@pytest.mark.parametrize("key", KEYS)
def test_a_value_of_another_kind_is_refused_and_its_key_named(read, key):
    table, name = key.split(".")
    with pytest.raises(ConfigError) as failed:
        read(f"[{table}]\n{name} = {{ a = 1 }}\n")
    assert f"$.{key}" in failed.value.message
    assert failed.value.hint


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("engine.threads", "-1"),
        ("engine.threads", "513"),  # llama.cpp's own limit; more only stalls the machine
        ("engine.context", "1.5"),
        ("engine.gpu_layers", '"all"'),
        ("engine.gpu_layers", "-1"),
        ("engine.kv_type", '"f32"'),
        ("engine.batch", "31"),
        ("engine.batch", "4097"),
        ("engine.speculation", '"never"'),
        ("engine.flash_attention", "1"),
        ("engine.tensor_split", '["a"]'),
        ("sampling.temperature", "-0.1"),
        ("sampling.temperature", "nan"),
        ("sampling.temperature", "inf"),
        ("sampling.top_p", "1.1"),
        ("sampling.min_p", "nan"),
        ("sampling.repetition_penalty", "0"),
        ("ask.max_tokens", "0"),
        ("complete.prefix_tokens", "0"),
        ("complete.suffix_tokens", "-1"),
    ],
)
def test_a_value_out_of_range_is_refused_and_its_key_named(read, key, value):
    table, name = key.split(".")
    with pytest.raises(ConfigError) as failed:
        read(f"[{table}]\n{name} = {value}\n")
    assert f"$.{key}" in failed.value.message


@pytest.mark.parametrize("table", list(DEFAULTS))
def test_a_value_where_a_table_belongs_is_refused(read, table):
    with pytest.raises(ConfigError, match=rf"\$\.{table}"):
        read(f"{table} = 3\n")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[engine\n", "line 1"),
        ("[engine]\nthreads = 1\nthreads = 2\n", "line 3"),
        (b"\xff", "utf-8"),
        ("a = " + "[" * 10_000, "not valid TOML"),
    ],
)
def test_what_is_not_toml_is_refused_with_the_place(read, text, word):
    with pytest.raises(ConfigError, match=word) as failed:
        read(text)
    assert "config.toml" in failed.value.message


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path):
    with pytest.raises(ConfigError, match="Is a directory"):
        config.load(tmp_path)
    with pytest.raises(ConfigError, match="File name too long"):
        config.load(tmp_path / ("a" * 300))


def test_a_table_that_somebody_has_no_use_for_may_be_wrong(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[editor]\nnone = 1\n[engine]\nthreads = 3\n")
    assert config.load(path, without=config.FRONT_ENDS).engine.threads == 3
    with pytest.raises(ConfigError, match=r"editor\.none"):
        config.load(path)


@pytest.mark.parametrize("text", [f"a = {'9' * 5000}", "a = " + "{a=" * 5000, "a = 99999-99-99"])
def test_what_no_one_can_read_is_an_error_of_the_configuration(read, text):
    with pytest.raises(ConfigError, match="not valid TOML"):
        read(text)
