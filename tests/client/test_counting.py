"""Tokens of a conversation, message by message, against the whole prompt tokenized at once."""

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.client.counting import Counter, estimate
from paceline.client.events import Message
from paceline.config import Config, EngineConfig
from paceline.errors import InputError, ModelError
from support.counting_server import CountingServer
from support.templates import GEMMA, LLAMA, QWEN
from support.toy_tokenizer import CONTROLS, ToyTokenizer

PLAIN = (
    "{% for message in messages %}{{ message.role + ':\n\n' + message.content + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:\n\n' }}{% endif %}"
)
# keeps only the last part of older answers, as the templates of reasoning models do
THINKING = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' }}"
    "{% if message.role == 'assistant' and not loop.last %}{{ message.content.split('</think>')[-1]|trim }}"
    "{% else %}{{ message.content }}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SHOUTING = (
    "{% for message in messages %}{{ '<|im_start|>' + message.content|upper }}"
    "{{ '<|im_end|>' + message.content }}{% endfor %}"
)
TEMPLATES = {"qwen": QWEN, "llama": LLAMA, "gemma": GEMMA, "plain": PLAIN, "thinking": THINKING}
TOKENS = {
    "qwen": CONTROLS,
    "llama": ["<|bos|>", "<|start|>", "<|end|>", "<|eot|>"],
    "gemma": ["<|bos|>", "<start_of_turn>", "<end_of_turn>"],
    "plain": ["<|bos|>"],
    "thinking": CONTROLS,
}
REMOTE = Config(engine=EngineConfig(url="http://big.example:8000/v1"))

pieces = st.sampled_from(
    ["a", "\n", "\n\n", " ", "return", " return", "<|", "|>", "é", "<|im_end|>", "<|eot|>", "</think>"]
)
contents = st.lists(pieces, max_size=8).map("".join)


def server_of(name, *, bos=True, guards=True):
    return CountingServer(TEMPLATES[name], ToyTokenizer(wants_bos=bos, controls=TOKENS[name]), guards=guards)


def conversation(texts, system=None):
    roles = ("user", "assistant")
    turns = [Message(roles[at % 2], text) for at, text in enumerate(texts)]
    return turns if system is None else [Message("system", system), *turns]


def spoken(*texts, system="Be brief."):
    return conversation(texts, system)


@pytest.mark.parametrize("guards", [True, False])
@pytest.mark.parametrize("name", TEMPLATES)
@given(texts=st.lists(contents, min_size=1, max_size=5), system=st.none() | contents, bos=st.booleans())
@settings(max_examples=12, deadline=None)
def test_the_parts_are_the_prompt(name, guards, texts, system, bos):
    server = server_of(name, bos=bos, guards=guards)
    messages = conversation(texts, system)
    counted = server.run(Counter(Config() if guards else REMOTE).count(messages))
    assert counted.total == server.exactly(messages)
    assert len(counted.messages) == len(messages)
    assert not counted.estimated


@pytest.mark.parametrize("name", TEMPLATES)
@given(texts=st.lists(contents, min_size=3, max_size=6))
@settings(max_examples=5, deadline=None)
def test_a_conversation_that_grows_is_counted_as_one_that_is_there_at_once(name, texts):
    server = server_of(name)
    counter = Counter(Config())
    for end in range(1, len(texts) + 1, 2):
        server.run(counter.count(conversation(texts[:end])))
    messages = conversation(texts)
    again = server.run(counter.count(messages))
    assert again == server.run(Counter(Config()).count(messages))


def test_what_was_counted_is_not_sent_again():
    server = server_of("qwen")
    counter = Counter(Config())
    long = "the first question, which is long"
    server.run(counter.count(spoken(long)))
    server.calls.clear()
    server.run(counter.count(spoken(long, "an answer", "and now")))
    assert server.calls
    assert not any(long in body for _, body in server.calls)
    assert any("and now" in body for _, body in server.calls)


def test_what_has_not_changed_is_not_asked_for():
    server = server_of("qwen")
    counter = Counter(Config())
    server.run(counter.count(spoken("Why?", "Because.", "And?")))
    server.calls.clear()
    server.run(counter.count(spoken("Why?", "Because.", "And?")))
    assert not any(path == "/apply-template" for path, _ in server.calls)


def test_each_message_has_its_own_tokens():
    server = server_of("qwen")
    short, long = (server.run(Counter(Config()).count(spoken("a", "b" * length))) for length in (1, 101))
    assert long.messages[2] - short.messages[2] == 100
    assert long.messages[:2] == short.messages[:2]
    assert long.frame == short.frame > 0


def test_control_tokens_that_somebody_writes_are_texts_for_our_daemon_and_tokens_for_llama_cpps():
    question = spoken("<|im_end|>" * 50)
    ours = server_of("qwen").run(Counter(Config()).count(question))
    theirs = server_of("qwen", guards=False).run(Counter(REMOTE).count(question))
    assert ours.total - theirs.total >= 50 * 5


def test_many_texts_of_control_tokens_do_not_take_many_calls():
    server = server_of("qwen")
    server.run(Counter(Config()).count(spoken("<|im_end|> x " * 500)))
    assert len(server.calls) < 60


def test_a_template_that_says_everything_twice_is_still_counted_exactly():
    server = CountingServer(SHOUTING, ToyTokenizer(), guards=False)
    messages = spoken("Why?", "Because.", "a\n\nb")
    counted = server.run(Counter(REMOTE).count(messages))
    assert counted.total == server.exactly(messages)
    assert not counted.estimated


def test_a_template_that_refuses_says_so():
    refusing = CountingServer("{{ raise_exception('no') }}", ToyTokenizer())
    with pytest.raises(ModelError, match="refuses"):
        refusing.run(Counter(Config()).count(spoken("Why?")))


def test_an_error_of_the_server_is_an_error():
    server = server_of("qwen")
    server.answer = lambda call: type("A", (), {"status": 400, "body": b'{"error": {"message": "bad"}}'})()
    with pytest.raises(InputError, match="bad"):
        server.run(Counter(Config()).count(spoken("Why?")))


def test_an_empty_conversation_is_nothing():
    assert server_of("qwen").run(Counter(Config()).count([])).total == 0


@pytest.mark.parametrize("missing", [{"/props"}, {"/apply-template"}, {"/tokenize"}])
def test_a_server_without_the_routes_is_guessed_at_and_the_guess_is_marked(missing):
    server = server_of("qwen", guards=False)
    server.missing = missing
    counter = Counter(REMOTE)
    messages = spoken("Why is the sky blue?", "Because.")
    counted = server.run(counter.count(messages))
    assert counted == estimate(messages)
    assert counted.estimated
    server.calls.clear()
    server.run(counter.count(messages))
    assert not server.calls  # it is not asked again and again


def test_the_guess_grows_with_the_text():
    assert estimate(spoken("a" * 3500)).messages[1] == pytest.approx(1000, abs=10)
    assert estimate(spoken("é" * 3500)).messages[1] == pytest.approx(2000, abs=10)


def test_lone_surrogates_are_sent_as_what_stands_for_them():
    server = server_of("qwen")
    counted = server.run(Counter(Config()).count(spoken("a\ud800b")))
    assert counted.total == server.exactly(spoken("a\ufffdb"))


def test_the_daemon_is_asked_for_its_context():
    server = server_of("qwen")
    assert server.run(Counter(Config()).context()) == 4096
    assert [path for path, _ in server.calls] == ["/paceline/status"]


def test_llama_cpps_server_is_asked_for_its_context():
    assert server_of("qwen", guards=False).run(Counter(REMOTE).context()) == 4096


def test_the_context_of_another_server_is_what_its_model_says():
    server = server_of("qwen", guards=False)
    server.missing = {"/props"}
    said = server.said
    server.said = lambda path, body: (
        {"data": [{"id": "m", "max_model_len": 8192}]} if "models" in path else said(path, body)
    )
    assert server.run(Counter(REMOTE).context()) == 8192


@pytest.mark.parametrize(
    "answer", [{}, {"models": []}, {"models": [{"id": "x"}]}, {"models": [{"n_ctx": "many"}]}, [1]]
)
def test_a_context_that_nobody_tells_is_not_known(answer):
    server = server_of("qwen")
    server.said = lambda path, body: answer
    assert server.run(Counter(Config()).context()) == 0


def test_an_address_with_a_path_is_kept():
    server = server_of("qwen", guards=False)
    server.said = lambda path, body: {}
    counter = Counter(Config(engine=EngineConfig(url="http://big.example/llm/v1")))
    server.run(counter.count(spoken("Why?")))
    assert {path for path, _ in server.calls} == {"/llm/props"}


@pytest.mark.parametrize("said", [b"[]", b'{"tokens": 5}', b'{"tokens": [{"id": 1}]}', b"nonsense"])
def test_an_answer_that_is_none_is_not_taken_for_one(said):
    server = server_of("qwen")
    answer = server.answer

    def odd(call):
        return type("A", (), {"status": 200, "body": said})() if call.path == "/tokenize" else answer(call)

    server.answer = odd
    with pytest.raises(Exception, match="not understood"):
        server.run(Counter(Config()).count(spoken("Why?")))


def test_the_bodies_are_those_of_the_api():
    server = server_of("qwen")
    server.run(Counter(Config()).count(spoken("Why?")))
    for path, body in server.calls:
        fields = set(json.loads(body))
        known = {
            "/apply-template": {"messages"},
            "/tokenize": {"content", "add_special", "parse_special", "with_pieces"},
        }
        assert fields <= known[path]


def kept_by(counted):
    """About how many bytes a counter remembers of these conversations."""
    server, counter = server_of("qwen"), Counter(Config())
    for messages in counted:
        server.run(counter.count(messages))
    return len(pickle.dumps(vars(counter)))


def test_a_text_that_is_measured_with_every_key_is_not_kept_each_time():
    attached = "word " * 1_000
    assert kept_by(spoken(f"{attached}{'?' * keys}") for keys in range(8)) < len(attached)


def test_a_long_conversation_is_not_kept_at_each_of_its_lengths():
    turns = [f"{at}" for at in range(81)]
    short = kept_by(spoken(*turns[:length]) for length in range(1, 41, 2))
    assert kept_by(spoken(*turns[:length]) for length in range(1, 81, 2)) < 3 * short
