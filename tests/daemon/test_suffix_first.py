"""Filling in with real models that read the suffix first, as far as tiny ones can stand for them."""

from collections.abc import Iterator

import pytest

from paceline.commands.headers import fim_markers
from paceline.config import Config, EngineConfig
from paceline.daemon import assembly
from paceline.daemon.service import Overrides, Service, Wish, gather
from paceline.engine.llama import can_infill, read_vocabulary
from paceline.models.gguf import read_header
from support.tiny_model import CODESTRAL, SEED, renamed, special, write_tiny_model

HEAD = "import os\n\n\ndef area(r):\n" + "    r += 1\n" * 20
AFTER = "\n\n\nprint(area(2))\n"
LINE = "    value = other.method(argument)"


@pytest.fixture(scope="module", params=[SEED, CODESTRAL], ids=["seed", "codestral"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("suffix_first")
    path = folder / ("tiny.gguf" if request.param == SEED else "codestral.gguf")
    return write_tiny_model(path, token_changes=renamed(request.param)), request.param


@pytest.fixture
def service(model, tmp_path, monkeypatch) -> Iterator[Service]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    config = Config(engine=EngineConfig(threads=1, context=1024))
    made = Service(assembly.load(assembly.inspect(model[0], None, config), lambda _: None), config, "tiny")
    yield made
    made.close()


def test_the_markers_are_found_though_llama_cpp_does_not_know_them(model):
    path, names = model
    fim = read_vocabulary(path).fim()
    assert fim is not None
    usual = ("<|fim_prefix|>", "<|fim_suffix|>")
    assert (fim.prefix, fim.suffix) == tuple(map(special, usual))
    assert (fim.middle is None) == (names == CODESTRAL)
    assert fim.suffix_first
    assert can_infill(path)


@pytest.mark.parametrize(("name", "infills"), [("Mistral-7B-Instruct-v0.3", False), ("Codestral-22B-v0.1", True)])
def test_a_model_with_codestral_s_vocabulary_infills_where_its_metadata_says_that_it_is_for_code(
    tmp_path, name, infills
):
    path = write_tiny_model(tmp_path / "tiny.gguf", token_changes=renamed(CODESTRAL), called=name)
    assert can_infill(path) == infills
    found = fim_markers(read_header(path))
    assert bool(found) == infills
    assert read_header(path).names == (name,)


def test_a_model_with_the_usual_markers_reads_the_prefix_first(tiny):
    fim = read_vocabulary(tiny.target).fim()
    assert fim is not None
    assert not fim.suffix_first


def test_a_key_reads_a_few_tokens_again_on_a_line_and_on_the_next(service: Service):
    read = []
    for end in range(1, len(LINE + "\n    re") + 1):
        typed = (LINE + "\n    re")[:end]
        infill = service.prepare_infill(HEAD + typed, AFTER, Wish("line", anchor=end))
        text, done = gather(service.start_infill(infill, Overrides(max_tokens=3, temperature=0.0)))
        forced = infill.prompt.forced_text
        assert text.startswith(forced) or forced.startswith(text)
        read.append(done.stats.prompt_tokens - done.stats.cached_tokens)
    assert read[0] > 100
    assert max(read[1:]) <= 12
    assert sorted(read[1:])[len(read) // 2] <= 6


def test_what_is_inserted_does_not_repeat_what_is_typed(service: Service):
    infill = service.prepare_infill(HEAD + "    ret", AFTER, Wish())
    text, _ = gather(service.start_infill(infill, Overrides(max_tokens=12, temperature=0.0)))
    assert infill.prompt.forced_text.endswith("ret")
    assert text.startswith(infill.prompt.forced_text)
    assert infill.finish(text, unfinished=True) != text
