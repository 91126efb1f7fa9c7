"""What the daemon loads: the configured pair for many requests, and who completes."""

import pytest

from paceline.config import CompleteConfig, Config, EngineConfig, ModelsConfig
from paceline.daemon import loading
from paceline.daemon.service import Overrides, gather
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
    foreign = write_tiny_model(tmp_path / "foreign.gguf", token_changes={271: "elsewhere"})
    service = load(draft=foreign)
    assert any("foreign.gguf does not fit" in note for note in service.notes)
    question = [Message("user", "Why?")]
    with pytest.raises(ModelError, match="does not fit"):
        service.chat(question, Overrides(speculation="draft"))
    assert gather(service.chat(question, PLAIN))[0]


def test_a_service_that_was_closed_says_so(load):
    service = load()
    vocabulary = service.vocabulary
    service.close()
    with pytest.raises(ModelError, match="closed"):
        vocabulary.encode("def")
