"""From files to an engine: what is measured once, which draft is used, and what is said when it is not."""

import os
import signal
import threading
import time
from dataclasses import replace

import msgspec
import pytest

from paceline.config import Config, EngineConfig, ModelsConfig
from paceline.daemon import assembly, selection
from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.backend import DecodeAborted
from paceline.engine.costs import CostCurve
from paceline.engine.engine import Limits
from paceline.engine.pair import Fit
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Finished, Request
from paceline.errors import ConfigError, ModelError, ResourceError
from paceline.plan import LoadOptions
from support.odd_models import write_recurrent_model
from support.tiny_model import write_tiny_model

CONFIG = Config(engine=EngineConfig(threads=1, context=1024))


class Counted:
    """Calls a function and counts."""

    def __init__(self, function) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args, **more):
        self.calls += 1
        return self.function(*args, **more)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    for name in ("STATE", "DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path / "state" / "paceline" / "measurements"


@pytest.fixture
def measured(monkeypatch):
    counted = Counted(assembly.measure)
    monkeypatch.setattr(assembly, "measure", counted)
    return counted


@pytest.fixture
def compared(monkeypatch):
    counted = Counted(assembly.fit)
    monkeypatch.setattr(assembly, "fit", counted)
    return counted


@pytest.fixture
def load():
    """Loads a pair; closes it at the end of the test."""
    opened = []

    def loading(target, draft, config=CONFIG, **how):
        said = []
        opened.append(assembly.load(assembly.inspect(target, draft, config), said.append, **how))
        return opened[-1], said

    yield loading
    for engine in opened:
        engine.close()


def answer(engine, **wanted):
    prompt = engine.target.vocabulary.encode("def area(r):")
    request = Request(prompt, 30, SamplerSettings(temperature=0), **wanted)
    return next(event for event in engine.submit(request) if isinstance(event, Finished))


def test_each_model_is_measured_the_first_time_and_never_again(tiny, load, measured):
    _, said = load(tiny.target, tiny.draft)
    assert measured.calls == 2
    assert said == ["measuring what a decode costs on this machine, once"]
    engine, said = load(tiny.target, tiny.draft)
    assert (measured.calls, said) == (2, [])
    assert answer(engine).stats.predicted_tokens == 30


def test_what_was_measured_is_what_the_controller_uses(tiny, load, measured, folders):
    load(tiny.target, tiny.draft)
    kept = assembly.known_costs(assembly.inspect(tiny.target, tiny.draft, CONFIG))
    engine, _ = load(tiny.target, tiny.draft)
    assert engine.controller.costs.curve == kept.curves["target"]
    assert engine.controller.draft_costs.curve == kept.curves["draft"]


def test_other_settings_are_measured_anew(tiny, load, measured):
    load(tiny.target, None)
    other = msgspec.structs.replace(CONFIG, engine=EngineConfig(threads=1, context=1024, batch=64))
    load(tiny.target, None, other)
    assert measured.calls == 2


def test_broken_measurements_are_made_again(tiny, load, measured, folders):
    load(tiny.target, tiny.draft)
    for file in folders.iterdir():
        file.write_text("{broken")
    load(tiny.target, tiny.draft)
    assert measured.calls == 4
    load(tiny.target, tiny.draft)
    assert measured.calls == 4


def test_a_folder_that_cannot_be_written_costs_time_and_nothing_else(tiny, load, measured, folders):
    folders.parent.parent.mkdir(parents=True)
    folders.parent.write_text("in the way")
    for _ in range(2):
        engine, _ = load(tiny.target, None)
    assert measured.calls == 2
    assert answer(engine).stats.predicted_tokens == 30


def test_setting_up_measures_more_sizes_and_loading_is_content_with_them(tiny, load, measured):
    progress = []
    installed = assembly.inspect(tiny.target, tiny.draft, CONFIG)
    assert assembly.known_costs(installed) == assembly.Measured({})
    measured_now = assembly.measure_costs(installed, progress.append)
    curves = measured_now.curves
    assert set(curves) == {"target", "draft"}
    assert assembly.known_costs(installed) == measured_now
    assert len(curves["target"].sizes) > len(assembly.QUICK)
    assert progress == sorted(progress)
    assert progress[-1] == 1
    load(tiny.target, tiny.draft)
    assert measured.calls == 0


def test_what_was_measured_on_a_busy_machine_is_measured_again_on_an_idle_one(tiny, load, measured, monkeypatch):
    monkeypatch.setattr(assembly, "busy", lambda: True)
    monkeypatch.setattr(measured, "function", lambda *_, **__: CostCurve((1, 2), (30.0, 50.0)))
    load(tiny.target, None)
    assert "busy" in assembly.known_costs(assembly.inspect(tiny.target, None, CONFIG)).doubt
    load(tiny.target, None)
    assert measured.calls == 1, "not while it is busy"
    monkeypatch.setattr(assembly, "busy", lambda: False)
    _, said = load(tiny.target, None)
    assert said == ["measuring what a decode costs on this machine again, now it is idle"]
    assert assembly.known_costs(assembly.inspect(tiny.target, None, CONFIG)).doubt == ""
    load(tiny.target, None)
    assert measured.calls == 2


def test_an_interrupted_measurement_leaves_nothing_behind(tiny, monkeypatch):
    installed = assembly.inspect(tiny.target, tiny.draft, CONFIG)

    def interrupt(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assembly.measure_costs(installed, interrupt)
    assert assembly.known_costs(installed) == assembly.Measured({})


def test_the_vocabularies_of_a_pair_are_compared_once(tiny, load, compared):
    load(tiny.target, tiny.draft)
    load(tiny.target, tiny.draft)
    assert assembly.pair_fit(tiny.target, tiny.draft) == Fit()
    assert compared.calls == 1


def test_a_replaced_draft_is_compared_again(tiny, load, compared, tmp_path):
    draft = write_tiny_model(tmp_path / "draft.gguf", noise=0.05)
    load(tiny.target, draft)
    draft.write_bytes(tiny.foreign.read_bytes())
    _, said = load(tiny.target, draft)
    assert compared.calls == 2
    assert any("does not fit" in line for line in said)


def test_a_draft_that_fits_drafts(tiny, load):
    engine, _ = load(tiny.target, tiny.draft)
    assert engine.draft is not None
    assert answer(engine, speculation="draft").stats.drafter("draft").accepted > 0


@pytest.mark.parametrize("speculation", ["off", "ngram", "lookahead"])
def test_a_draft_that_is_not_wanted_is_neither_compared_nor_loaded(tiny, load, compared, measured, speculation):
    engine, _ = load(tiny.target, tiny.foreign, speculation=speculation)
    assert (engine.draft, compared.calls, measured.calls) == (None, 0, 1)


def test_a_draft_that_does_not_fit_is_left_out_and_the_reason_said_each_time(tiny, load, compared):
    for _ in range(2):
        engine, said = load(tiny.target, tiny.foreign)
        assert engine.draft is None
        (line,) = [line for line in said if "no draft model" in line]
        assert "foreign.gguf does not fit target.gguf: token" in line
        assert "'other' in the draft" in line
        assert answer(engine).stats.predicted_tokens == 30
    assert compared.calls == 1
    assert "'other' in the draft" in assembly.vocabulary_fault(tiny.target, tiny.foreign)


def test_a_draft_with_other_tokens_drafts_through_text_and_says_so(tiny, load, compared):
    plain, _ = load(tiny.target, None)
    for _ in range(2):
        engine, said = load(tiny.target, tiny.other_tokens)
        (line,) = [line for line in said if "through text" in line]
        assert "other-tokens.gguf has other tokens than target.gguf" in line
        assert "'other' in the draft" in line
        assert engine.draft.universal
        got = answer(engine, speculation="draft")
        assert got.tokens == answer(plain).tokens
        assert got.stats.drafter("draft").accepted > 0
    assert compared.calls == 1
    assert assembly.vocabulary_fault(tiny.target, tiny.other_tokens) == ""


def test_the_target_has_spare_sequences_for_drafts_that_branch(tiny, load):
    engine, _ = load(tiny.target, None)
    assert engine.target.capabilities.n_seq_max == 1 + Limits().branches


def test_a_draft_that_does_not_fit_is_an_error_when_asked_for(tiny, load):
    with pytest.raises(ModelError, match=r"foreign\.gguf does not fit target\.gguf: .*'other'") as failed:
        load(tiny.target, tiny.foreign, speculation="draft")
    assert failed.value.hint


def test_a_model_that_fails_to_load_frees_what_was_loaded_before(tiny, monkeypatch):
    closed = Counted(assembly.llama.LlamaBackend.close)
    monkeypatch.setattr(assembly.llama.LlamaBackend, "close", lambda self: closed(self))
    with pytest.raises(ModelError):
        assembly.load(assembly.inspect(tiny.target, tiny.foreign, CONFIG), print, speculation="draft")
    assert closed.calls == 1


def test_a_request_for_drafts_without_a_draft_model_is_answered_and_noted(tiny, load):
    engine, said = load(tiny.target, None)
    assert answer(engine, speculation="draft").stats.notes == ["no draft model is set"]
    assert answer(engine, speculation="auto").stats.notes == []
    assert not any("draft" in line for line in said)


def test_drafts_that_nobody_can_make_are_no_secret(tiny, load):
    _, said = load(tiny.target, None, speculation="draft")
    assert "no draft model: none is set (models.draft)" in said
    installed = replace(assembly.inspect(tiny.target, tiny.draft, CONFIG), draft=None)  # as the plan may decide
    said.clear()
    assembly.load(installed, said.append, speculation="draft").close()
    assert said == ["no draft model: there is no memory for one"]


@pytest.mark.parametrize("model", ["text", "truncated", "empty"])
def test_what_is_no_model_is_refused_before_llama_cpp_sees_it(tiny, monkeypatch, model):
    monkeypatch.setattr(assembly.llama, "LlamaBackend", None)
    with pytest.raises(ModelError, match=rf"{model}\.gguf"):
        assembly.inspect(getattr(tiny, model), None, CONFIG)
    with pytest.raises(ModelError, match=rf"{model}\.gguf"):
        assembly.inspect(tiny.target, getattr(tiny, model), CONFIG)


# --- which files ------------------------------------------------------------------------------------------------------


def files(**models):
    found = selection.pair_files(Config(models=ModelsConfig(**models)))
    return found and tuple(file.id for file in found.files)


def test_no_names_mean_no_files():
    assert files() is None
    assert files(draft="none") is None


def test_a_pair_names_both_and_each_can_be_replaced(tiny):
    target, draft = files(pair="qwen2.5-coder-1.5b")
    assert target.startswith("qwen2.5-coder-1.5b")
    assert draft.startswith("qwen2.5-coder-0.5b")
    assert files(pair="qwen2.5-coder-1.5b", draft="none") == (target,)
    assert files(pair="qwen2.5-coder-1.5b", draft=str(tiny.draft)) == (target, "draft")
    assert files(pair="qwen2.5-coder-1.5b", target=str(tiny.target)) == ("target",)  # its draft is for another target


def test_files_are_named_by_path_or_catalogue(tiny):
    assert files(target=str(tiny.target), draft=str(tiny.draft)) == ("target", "draft")
    assert files(target="qwen2.5-coder-0.5b-instruct-q4_k_m") == ("qwen2.5-coder-0.5b-instruct-q4_k_m",)
    for wrong in ({"target": "gpt-9"}, {"pair": "gpt-9"}, {"target": str(tiny.target), "draft": "gpt-9"}):
        with pytest.raises(ModelError, match="gpt-9"):
            files(**wrong)


def test_the_store_is_where_the_configuration_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert selection.store_of(Config()).root == tmp_path / "data" / "paceline" / "models"
    assert selection.store_of(Config(models=ModelsConfig(directory="~/big"))).root == tmp_path / "big"
    with pytest.raises(ConfigError, match="~nobody-of-this-name/big"):
        selection.store_of(Config(models=ModelsConfig(directory="~nobody-of-this-name/big")))


def test_ctrl_c_while_a_model_loads_ends_the_loading_and_arrives(monkeypatch, tmp_path):
    loading, ended = threading.Event(), threading.Event()

    def load(path, options, *, keep_going, **how):
        loading.set()
        while keep_going():
            time.sleep(0.001)
        ended.set()
        raise DecodeAborted

    def press():
        assert loading.wait(20)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(assembly.llama, "LlamaBackend", load)
    person = threading.Thread(target=press)
    person.start()
    with pytest.raises(KeyboardInterrupt):
        assembly._open(tmp_path / "model.gguf", LoadOptions())
    person.join()
    assert ended.is_set()


def test_a_draft_that_cannot_be_used_is_left_out_and_the_reason_said(tiny, tmp_path, load):
    recurrent = write_recurrent_model(tmp_path / "mamba.gguf")
    engine, said = load(tiny.target, recurrent)
    assert engine.draft is None
    assert any("recurrent" in line or "no draft model" in line for line in said)
    assert answer(engine).stats.predicted_tokens == 30


def test_a_curve_that_decoding_contradicts_is_doubted(tiny, load, measured):
    measured.function = lambda *_, **__: CostCurve((1, 2), (30.0, 50.0))
    engine, _ = load(tiny.target, None)
    installed = assembly.inspect(tiny.target, None, CONFIG)
    assembly.review(engine, installed)
    assert assembly.known_costs(installed).doubt == "", "nothing was seen yet"
    for _ in range(60):
        engine.controller.costs.observe(1, engine.controller.costs.curve.at(1) * 5)
    assembly.review(engine, installed)
    assert "times as long" in assembly.known_costs(installed).doubt
    _, said = load(tiny.target, None)
    assert measured.calls == 2
    assert said == ["measuring what a decode costs on this machine again, now it is idle"]


SLOW = CostCurve((1, 2, 64), (30.0, 31.0, 32.0))


def learned(engine):
    """What the table has beyond its beginnings."""
    return {key: seen for key, (_, seen) in engine.controller.acceptance.counts.items()}


def test_what_is_learned_of_drafts_is_there_in_the_next_run(tiny, load, measured):
    measured.function = lambda *_, **__: SLOW
    installed = assembly.inspect(tiny.target, tiny.draft, CONFIG)
    first, _ = load(tiny.target, tiny.draft)
    assert learned(first) == {}
    answer(first, speculation="draft")
    assembly.review(first, installed)
    second, _ = load(tiny.target, tiny.draft)
    assert learned(second).keys() == learned(first).keys() != set()
    alone, _ = load(tiny.target, None)
    assert learned(alone) == {}, "of another pair"


def test_what_was_learned_wrongly_written_is_learned_anew(tiny, load, measured, folders):
    measured.function = lambda *_, **__: SLOW
    installed = assembly.inspect(tiny.target, tiny.draft, CONFIG)
    first, _ = load(tiny.target, tiny.draft)
    answer(first, speculation="draft")
    assembly.review(first, installed)
    (file,) = folders.glob("acceptance-*")
    file.write_text('{"accepted": {"draft": {"8": [5, "many"]}}}')
    second, _ = load(tiny.target, tiny.draft)
    assert second.controller.acceptance == AcceptanceTable()
    assert answer(second, speculation="draft").stats.predicted_tokens == 30


def test_of_toys_nothing_is_kept(tiny, load, folders):
    engine, _ = load(tiny.target, tiny.draft)
    answer(engine, speculation="draft")
    assert learned(engine)
    assembly.review(engine, assembly.inspect(tiny.target, tiny.draft, CONFIG))
    assert not list(folders.glob("acceptance-*"))


def test_parked_conversations_get_no_more_than_half_of_what_loading_leaves(tiny):
    installed = assembly.inspect(tiny.target, tiny.draft, CONFIG)
    planned = sum(item.bytes for item in installed.plan.memory)
    tight = replace(installed, hardware=replace(installed.hardware, memory_available=planned + 1000))
    assert assembly.parking_bytes(10**6, tight) == 500
    assert assembly.parking_bytes(300, tight) == 300
    nothing = replace(installed, hardware=replace(installed.hardware, memory_available=planned - 1))
    assert assembly.parking_bytes(10**6, nothing) == 0


def test_where_memory_is_short_the_target_is_loaded_with_less_context_and_says_so(tiny, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    config = Config(engine=EngineConfig(threads=1, context=8192))
    real, tried = assembly.llama.LlamaBackend, []

    def short(path, options, **how):
        tried.append(options.n_ctx)
        if options.n_ctx > 2048:
            raise ResourceError("cannot create a context", "less")
        return real(path, options, **how)

    monkeypatch.setattr(assembly.llama, "LlamaBackend", short)
    said = []
    engine = assembly.load(assembly.inspect(tiny.target, None, config), said.append)
    assert tried == [8192, 4096, 2048]
    assert engine.target.capabilities.n_ctx == 2048
    assert any("memory is short" in line and "2048" in line for line in said)
    engine.close()


def test_where_even_the_least_does_not_fit_the_error_arrives(tiny, monkeypatch):
    def never(path, options, **how):
        raise ResourceError("no memory at all", "less")

    monkeypatch.setattr(assembly.llama, "LlamaBackend", never)
    with pytest.raises(ResourceError, match="no memory at all"):
        assembly.load(assembly.inspect(tiny.target, None, CONFIG), lambda _: None)


def test_relative_paths_in_the_configuration_begin_at_its_file(tiny, monkeypatch, tmp_path):
    (tmp_path / "settings").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "settings" / "mine.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("PACELINE_CONFIG", str(tmp_path / "settings" / "config.toml"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    files = selection.pair_files(Config(models=ModelsConfig(target="./mine.gguf", draft="mine.gguf")))
    assert {str(file.path) for file in files.files} == {str(tmp_path / "settings" / "mine.gguf")}
    assert selection.store_of(Config(models=ModelsConfig(directory="kept"))).root == tmp_path / "settings" / "kept"
