"""What the daemon loads: the configured pair for many requests, and who completes."""

import threading
from dataclasses import replace

import pytest

from paceline.config import CompleteConfig, Config, EngineConfig, ModelsConfig
from paceline.daemon import assembly, loading
from paceline.daemon.service import Overrides, gather
from paceline.engine.costs import CostCurve
from paceline.engine.sequence import Delta
from paceline.errors import ModelError
from paceline.prompts.chat import Message
from support.tiny_model import write_tiny_model

BEFORE, AFTER = "def area(r):\n    ret", "\n\nprint(area(2))\n"
PLAIN = Overrides(max_tokens=12, temperature=0.0)


@pytest.fixture
def load(tiny, tmp_path, monkeypatch):
    """Services on the tiny pair, closed at the end."""
    for name in ("STATE", "DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    services = []

    def make(target=None, draft=None, **config):
        models = ModelsConfig(target=str(target or tiny.target), draft=str(draft or tiny.draft))
        engine = config.pop("engine", EngineConfig(threads=1, context=1024))
        services.append(loading.load(Config(models=models, engine=engine, **config)))
        return services[-1]

    yield make
    for service in services:
        service.close()


def completed(service):
    infill = service.prepare_infill(BEFORE, AFTER)
    text, _ = gather(service.start_infill(infill, PLAIN))
    return infill.finish(text)


def test_the_draft_completes_where_the_configuration_says_so_and_the_target_answers(load, tiny, tmp_path):
    other = write_tiny_model(tmp_path / "other.gguf", seed=5)
    pair = load(draft=other, complete=CompleteConfig(model="draft"))
    alone = load(target=other, draft="none")
    plain = load(draft="none")
    assert pair.route.model == "draft"
    assert completed(pair) == completed(alone) != completed(plain)
    question = [Message("user", "Why?")]
    assert gather(pair.chat(question, PLAIN))[0] == gather(plain.chat(question, PLAIN))[0]


def test_both_engines_of_a_pair_work_at_the_same_time(load):
    service = load(complete=CompleteConfig(model="draft"))
    alone = completed(service)
    chat = service.chat([Message("user", "Tell me everything.")], Overrides(max_tokens=300, temperature=0.0))
    seen = 0
    for event in chat:
        seen += isinstance(event, Delta)
        if seen == 3:
            assert completed(service) == alone
    assert seen > 3


def test_several_requests_run_together(load):
    service = load(engine=EngineConfig(threads=1, context=1024, parallel=3))
    assert service.status().parallel == 3
    assert len(service.status().slots) == 3


def test_a_draft_that_does_not_fit_is_noted_and_refused_by_name(load, tmp_path):
    foreign = write_tiny_model(tmp_path / "foreign.gguf", token_changes={0xF0: "elsewhere"})
    service = load(draft=foreign)
    assert any("foreign.gguf does not fit" in note for note in service.notes)
    question = [Message("user", "Why?")]
    with pytest.raises(ModelError, match="does not fit"):
        service.chat(question, Overrides(speculation="draft"))
    assert gather(service.chat(question, PLAIN))[0]


def test_what_was_done_while_loading_is_no_note_once_it_is_over(load, tmp_path, monkeypatch):
    said = []
    curve = CostCurve((1, 2), (30.0, 31.0))
    monkeypatch.setattr(assembly, "measure", lambda *_, **__: said.append("measured") or curve)
    foreign = write_tiny_model(tmp_path / "foreign.gguf", token_changes={0xF0: "elsewhere"})
    service = load(draft=foreign)
    assert said == ["measured"]
    (note,) = service.notes
    assert "foreign.gguf does not fit" in note


def test_a_draft_with_other_tokens_drafts_through_text_and_completes_nothing(load, tiny):
    service = load(draft=tiny.other_tokens, complete=CompleteConfig(model="draft"))
    assert any("drafts go through text" in note for note in service.notes)
    assert service.route.model == "target", "its tokens would be taken for the target's"
    plain = load(draft="none")
    question = [Message("user", "Why?")]
    text, end = gather(service.chat(question, replace(PLAIN, speculation="draft")))
    assert text == gather(plain.chat(question, PLAIN))[0]
    assert end.stats.drafted > 0


def test_a_service_stores_what_it_learned_when_it_ends(load, monkeypatch, tmp_path):
    monkeypatch.setattr(assembly, "measure", lambda *_, **__: CostCurve((1, 2, 64), (30.0, 31.0, 32.0)))
    folder = tmp_path / "state" / "paceline" / "measurements"
    service = load()
    gather(service.chat([Message("user", "Why?")], replace(PLAIN, max_tokens=40, speculation="draft")))
    assert not list(folder.glob("acceptance-*"))
    service.close()
    assert len(list(folder.glob("acceptance-*"))) == 1
    assert not any(thread.name == "paceline-learned" for thread in threading.enumerate())


def test_a_service_that_was_closed_says_so(load):
    service = load()
    vocabulary = service.vocabulary
    service.close()
    with pytest.raises(ModelError, match="closed"):
        vocabulary.encode("def")
