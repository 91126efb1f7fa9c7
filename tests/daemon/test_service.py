"""Chat and completion on one engine: what a request asks for, and how its answer is gathered."""

import pytest

from paceline.config import AskConfig, CompleteConfig, Config, EngineConfig, SamplingConfig
from paceline.daemon import assembly
from paceline.daemon.service import Overrides, Service, Wish, gather, sampler_settings
from paceline.engine.engine import Stream
from paceline.engine.sequence import Delta, Finished, Prefilled, Request
from paceline.engine.stats import Stats
from paceline.errors import ContextOverflowError, InputError, ModelError
from paceline.prompts.chat import Message
from paceline.prompts.context import Attachment

QUESTION = [Message("system", "Be brief."), Message("user", "Why?")]
CODE = "def area(r):\n    ret\n\nprint(area(2))\n"
ENGINE = EngineConfig(threads=1, context=1024)
AS_CONFIGURED = Overrides()


@pytest.fixture(scope="module")
def service(tiny, tmp_path_factory):
    """Makes services, one engine for each pair of files."""
    state = tmp_path_factory.mktemp("state")
    engines = {}

    def make(target=None, draft=None, **config) -> Service:
        settings = Config(**{"engine": ENGINE, **config})
        target = target or tiny.target
        if (target, draft) not in engines:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_STATE_HOME", str(state))
                installed = assembly.inspect(target, draft, settings)
                engines[target, draft] = assembly.load(installed, lambda _: None)
        return Service(engines[target, draft], settings, "tiny")

    yield make
    for engine in engines.values():
        engine.close()


def asked(service: Service, overrides: Overrides = AS_CONFIGURED, messages=QUESTION) -> tuple[str, Finished]:
    return gather(service.chat(messages, overrides))


# --- what a request asks for ------------------------------------------------------------------------------------------


def test_the_configuration_decides_where_nothing_else_is_asked_for(service):
    ours = service(ask=AskConfig(max_tokens=7), sampling=SamplingConfig(temperature=0.5, top_k=3))
    request = ours.chat(QUESTION).request
    assert request.max_tokens == 7
    assert (request.sampler.temperature, request.sampler.top_k) == (0.5, 3)
    assert request.speculation == "auto"
    assert not request.seeded


def test_a_request_overrides_the_configuration(service):
    ours = service(ask=AskConfig(max_tokens=7), sampling=SamplingConfig(temperature=0.5))
    request = ours.chat(QUESTION, Overrides(max_tokens=3, temperature=0.0, seed=0, speculation="off")).request
    assert (request.max_tokens, request.sampler.temperature, request.speculation) == (3, 0.0, "off")
    assert (request.sampler.seed, request.seeded) == (0, True)


def test_completions_have_a_length_of_their_own(service):
    ours = service(ask=AskConfig(max_tokens=7), complete=CompleteConfig(max_tokens=11))
    assert ours.complete(CODE, 2, 8).stats.predicted_tokens == 11
    assert ours.complete(CODE, 2, 8, overrides=Overrides(max_tokens=9)).stats.predicted_tokens == 9
    assert asked(ours)[1].stats.predicted_tokens == 7


@pytest.mark.parametrize("configured", [False, True])
@pytest.mark.parametrize("asked", [None, False, True])
def test_near_ties_are_decided_as_the_request_says_or_else_the_configuration(service, configured, asked):
    ours = service(engine=EngineConfig(threads=1, context=1024, strict=configured))
    request = ours.chat(QUESTION, Overrides(max_tokens=1, strict=asked)).request
    assert request.strict == (configured if asked is None else asked)


def test_drafts_are_told_where_that_is_asked_for(service):
    ours = service()
    asked_for = [ours.chat(QUESTION, Overrides(max_tokens=1, tell_drafts=each)).request for each in (False, True)]
    assert [each.tell_drafts for each in asked_for] == [False, True]


def test_the_original_is_plain_text_that_no_control_token_gets_into(service):
    ours = service()
    tokens = ours.chat(QUESTION, Overrides(max_tokens=1, original="x<|im_end|>\n")).request.original
    assert b"".join(map(ours.vocabulary.piece, tokens)) == b"x<|im_end|>\n"
    assert not set(tokens) & ours.vocabulary.control
    assert ours.chat(QUESTION, Overrides(max_tokens=1)).request.original == ()


def test_an_original_longer_than_the_context_is_cut_instead_of_refused(service):
    ours = service()
    request = ours.chat(QUESTION, Overrides(max_tokens=1, original="x = 1\n" * 5000)).request
    assert len(request.original) == ours.n_ctx
    text = b"".join(map(ours.vocabulary.piece, request.original)).decode()
    assert ("x = 1\n" * 5000).startswith(text)


def test_references_come_under_their_names_and_fit_into_the_context_together(service):
    ours = service()
    wish = Overrides(max_tokens=1, references=(("a.py", "a = 1\n"), ("b.py", "b = 2\n" * 5000), ("c.py", "c")))
    (first, a), (second, b) = ours.chat(QUESTION, wish).request.references
    assert (first, b"".join(map(ours.vocabulary.piece, a))) == ("a.py", b"a = 1\n")
    assert (second, len(a) + len(b)) == ("b.py", ours.n_ctx)


@pytest.mark.parametrize("speculation", ["off", "draft", "lookahead"])
def test_texts_are_not_even_tokenized_for_who_does_not_guess_from_texts(service, speculation):
    wish = Overrides(max_tokens=1, speculation=speculation, original="x", references=(("a", "x"),))
    ours = service()
    prompt = ours.encode_chat(QUESTION)
    request = ours._helped(Request(prompt, 1, speculation=speculation), wish, wish.references, ours.vocabulary)
    assert (request.original, request.references) == ((), ())


def test_pieces_of_other_files_are_tokenized_once_for_all_keystrokes(service, monkeypatch):
    ours, few = service(), Overrides(max_tokens=1)
    extra = [Attachment("a.py", "import os\n"), Attachment("b.py", "import sys\n")]

    def typed(text):
        return ours.start_infill(ours.prepare_infill("", "\n", Wish(extra=extra), typed=text), few).request

    first, second = typed("imp"), typed("impo")
    assert [name for name, _ in first.references] == ["a.py", "b.py"]
    for (_, before), (_, after) in zip(first.references, second.references, strict=True):
        assert after is before


def test_every_sampling_key_reaches_the_sampler():
    config = SamplingConfig(0.5, 3, 0.25, 0.125, 1.5, 17)
    settings = sampler_settings(config, AS_CONFIGURED, 99)
    for name in config.__struct_fields__:
        assert getattr(settings, name) == getattr(config, name), name
    assert settings.seed == 99
    assert sampler_settings(config, Overrides(temperature=0.0), 1).temperature == 0.0  # 0 is a wish too


def test_a_seed_nobody_chose_is_another_one_each_time(service):
    seeds = {service().chat(QUESTION, Overrides(max_tokens=1)).request.sampler.seed for _ in range(4)}
    assert len(seeds) == 4


# --- chat -------------------------------------------------------------------------------------------------------------


def test_the_prompt_is_the_conversation_in_the_model_s_own_template(service):
    ours = service()
    stream = ours.chat(QUESTION, Overrides(max_tokens=1))
    written = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    assert stream.request.prompt == ours._engine.target.vocabulary.encode(written, special=True)


def test_a_model_that_lost_its_template_is_asked_in_chatml_if_it_has_the_tokens(service, tiny):
    with_template, without = service(), service(tiny.without_template)
    few = Overrides(max_tokens=12)
    assert asked(without, few)[0] == asked(with_template, few)[0]


def test_a_model_without_template_and_tokens_cannot_be_asked(service, tiny):
    with pytest.raises(ModelError, match="no chat template"):
        service(tiny.base).chat(QUESTION)


def test_the_same_beginning_is_not_read_again(service):
    ours, few = service(), Overrides(max_tokens=4)
    text, _ = asked(ours, few)
    longer = [*QUESTION, Message("assistant", text), Message("user", "And now?")]
    stats = asked(ours, few, longer)[1].stats
    assert stats.cached_tokens > 20
    again = asked(ours, few, longer)[1].stats
    assert again.cached_tokens == again.prompt_tokens - 1  # the last one gives the first logits


def test_a_conversation_that_does_not_fit_is_refused_at_once(service):
    with pytest.raises(ContextOverflowError) as failed:
        service().chat([Message("user", "x" * 3000)])
    assert failed.value.needed > 3000
    assert failed.value.available < 1024 + 1


def test_the_service_answers_after_a_refusal_and_after_a_cancelled_answer(service):
    ours, few = service(), Overrides(max_tokens=8)
    expected = asked(ours, few)[0]
    with pytest.raises(ContextOverflowError):
        ours.chat([Message("user", "x" * 3000)])
    for event in ours.chat([Message("user", "Go on and on.")], Overrides(max_tokens=900)):
        if isinstance(event, Delta):
            break
    assert asked(ours, few)[0] == expected


# --- completion -------------------------------------------------------------------------------------------------------


def test_a_completion_continues_the_word_that_was_begun(service):
    """Healing: what is inserted, put behind what is typed, is what the model says without the typed end."""
    done = service().complete(CODE, 2, 8, overrides=Overrides(max_tokens=20))
    assert done.prompt.forced_text.endswith("ret")
    assert done.text
    assert not done.text.startswith("ret")


def test_a_completion_reports_its_prompt_and_its_end(service):
    done = service().complete(CODE, 2, 8, overrides=Overrides(max_tokens=5))
    assert done.finish_reason == "length"
    assert done.stats.prompt_tokens == len(done.prompt.tokens)
    assert done.prompt.typed == "    ret"


def test_the_next_keystroke_reads_next_to_nothing_again(service):
    ours, few = service(), Overrides(max_tokens=6)
    before = CODE.replace("ret", "x = ret")
    ours.complete(before, 2, 9, overrides=few)
    typed = ours.complete(before.replace("x = ret", "x = 1ret"), 2, 10, overrides=few).stats
    assert typed.prompt_tokens - typed.cached_tokens <= 4


def test_a_position_outside_and_a_model_that_cannot_infill_are_errors(service, tiny):
    with pytest.raises(InputError, match="line 9"):
        service().complete(CODE, 9, 1)
    with pytest.raises(ModelError, match="cannot infill"):
        service(tiny.without_fim).complete(CODE, 2, 8)


def test_completions_do_not_depend_on_who_drafts(service, tiny):
    ours = service(draft=tiny.draft)
    texts = {
        ours.complete(CODE, 2, 8, overrides=Overrides(60, 1.0, 3, how)).text
        for how in ("off", "ngram", "draft", "lookahead", "auto")
    }
    assert len(texts) == 1


def test_a_single_line_stops_the_model_at_its_end(service):
    for seed in range(20):
        wish = Overrides(60, 1.0, seed)
        free, single = (service().complete(CODE, 2, 8, single_line=each, overrides=wish) for each in (False, True))
        if "\n" in free.text:
            break
    else:
        pytest.fail("no seed gives several lines")
    assert single.text == free.text.split("\n")[0].rstrip()
    assert single.stats.predicted_tokens < free.stats.predicted_tokens


# --- gathering --------------------------------------------------------------------------------------------------------


def stream(*events) -> Stream:
    cancelled = []
    made = Stream(Request([1], 1), cancelled.append)
    made.was_cancelled = cancelled
    for event in events:
        made.events.put(event)
    return made


def test_gathering_gives_the_whole_text_and_the_end():
    end = Finished("stop", Stats())
    given = stream(Prefilled(1, 2), Delta("a"), Prefilled(2, 2), Delta(""), Delta("bc"), end)
    assert gather(given) == ("abc", end)
    assert given.was_cancelled == []


def test_gathering_raises_what_went_wrong():
    given = stream(Delta("a"), ContextOverflowError(2, 1))
    with pytest.raises(ContextOverflowError):
        gather(given)
    assert given.was_cancelled == []
