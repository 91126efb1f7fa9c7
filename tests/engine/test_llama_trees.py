"""Drafts that branch, in one decode of real llama.cpp: each path gets the logits it would get alone."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paceline.engine.backend import DecodeAborted, Span
from paceline.engine.llama import LlamaBackend
from paceline.engine.tree import ROOT, leaves
from paceline.errors import EngineError
from paceline.plan import LoadOptions
from support.fake_backend import FakeBackend
from support.tree_paths import path_to

SPARE = [1, 2, 3, 4, 5, 6, 7]
PREFIX = [100, 101, 110, 111]


@pytest.fixture
def model(tiny):
    backend = LlamaBackend(tiny, LoadOptions(n_ctx=256, n_batch=64, n_threads=1), n_seq_max=9)
    yield backend
    backend.close()


@st.composite
def trees(draw, most=10, ends=8):
    n = draw(st.integers(1, most))
    parents = [draw(st.integers(ROOT, i - 1)) for i in range(n)]
    while len(leaves(parents)) > ends:
        parents = parents[:-1]
    return parents


def alone(backend, tokens, seq=8):
    """The last token's logits, decoded in a sequence of its own in one batch."""
    backend.truncate(seq, 0)
    row = backend.decode([Span(seq, 0, tokens, 1)])[-1].copy()
    backend.truncate(seq, 0)
    return row


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parents=trees(), random=st.randoms(use_true_random=False))
def test_every_token_of_a_tree_has_the_logits_of_its_path(model, parents, random):
    model.truncate(0, 0)
    tokens = [random.randrange(97, 123) for _ in parents]
    rows = model.decode([Span(0, 0, [*PREFIX, *tokens], 1 + len(tokens), parents, SPARE)]).copy()
    model.keep(Span(0, 0, [*PREFIX, *tokens], 1 + len(tokens), parents, SPARE), ())
    np.testing.assert_allclose(rows[0], alone(model, PREFIX), atol=2e-2)
    for node in range(len(tokens)):
        path = [tokens[i] for i in path_to(parents, node)]
        np.testing.assert_allclose(rows[1 + node], alone(model, [*PREFIX, *path]), atol=2e-2)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parents=trees(), data=st.data())
def test_the_path_that_is_kept_goes_on_as_if_it_had_been_alone(model, parents, data):
    model.truncate(0, 0)
    tokens = [97 + (7 * i) % 26 for i in range(len(parents))]
    node = data.draw(st.integers(ROOT, len(parents) - 1))
    path = path_to(parents, node)
    path = path[: data.draw(st.integers(0, len(path)))]
    model.decode([Span(0, 0, PREFIX)])
    span = Span(0, len(PREFIX), [50, *tokens], 1 + len(tokens), parents, SPARE)
    model.decode([span])
    model.keep(span, path)
    kept = [*PREFIX, 50, *(tokens[i] for i in path)]
    row = model.decode([Span(0, len(kept), [60], 1)])[0].copy()
    np.testing.assert_allclose(row, alone(model, [*kept, 60]), atol=2e-2)
    for seq in SPARE:
        assert model.decode([Span(seq, 0, [97], 1)]).shape[0] == 1, "a branch's sequence is empty again"
        model.truncate(seq, 0)


def test_two_requests_may_have_trees_in_one_decode_beside_one_that_reads(model):
    tree = [ROOT, ROOT, 0, 1]
    for seq in (0, 1):
        model.decode([Span(seq, 0, PREFIX[: 3 + seq])])
    spans = [
        Span(0, 3, [50, 97, 98, 99, 100], 5, tree, [3]),
        Span(1, 4, [51, 97, 98, 99, 100], 5, tree, [4]),
        Span(2, 0, PREFIX, 1),
    ]
    rows = model.decode(spans).copy()
    model.keep(spans[0], [1, 3])
    model.keep(spans[1], [0])
    np.testing.assert_allclose(rows[4], alone(model, [*PREFIX[:3], 50, 98, 100]), atol=2e-2)
    np.testing.assert_allclose(rows[6], alone(model, [*PREFIX, 51, 97]), atol=2e-2)
    np.testing.assert_allclose(rows[10], alone(model, PREFIX), atol=2e-2)
    row = model.decode([Span(0, 6, [60], 1)])[0].copy()
    np.testing.assert_allclose(row, alone(model, [*PREFIX[:3], 50, 98, 100, 60]), atol=2e-2)


def test_a_tree_with_more_branches_than_sequences_is_refused(model):
    with pytest.raises(EngineError, match="3 branches where there are 2"):
        model.decode([Span(0, 0, [50, 97, 98, 99], 4, [ROOT, ROOT, ROOT], [1])])
    with pytest.raises(EngineError, match="token before it"):
        model.decode([Span(0, 0, [97, 98], 2, [ROOT, ROOT], [1])])
    assert model.decode([Span(0, 0, PREFIX, 1)]).shape[0] == 1, "nothing stayed in the cache"


def test_an_aborted_tree_leaves_nothing_behind(model):
    model.decode([Span(0, 0, PREFIX)])
    span = Span(0, len(PREFIX), [50, 97, 98], 3, [ROOT, ROOT], SPARE)
    model.abort(True)
    with pytest.raises(DecodeAborted):
        model.decode([span])
    model.abort(False)
    for seq in SPARE:
        model.decode([Span(seq, 0, [97])])
        model.truncate(seq, 0)
    model.decode([span])
    model.keep(span, [1])
    row = model.decode([Span(0, 6, [60], 1)])[0].copy()
    np.testing.assert_allclose(row, alone(model, [*PREFIX, 50, 98, 60]), atol=2e-2)


@settings(max_examples=60, deadline=None)
@given(parents=trees(), data=st.data())
def test_the_fake_treats_trees_as_llama_cpp_does(parents, data):
    fake = FakeBackend(26, n_seq_max=9)
    tokens = [(7 * i) % 26 for i in range(len(parents))]
    span = Span(0, 0, [1, 2, *tokens], 1 + len(tokens), parents, SPARE)
    rows = fake.decode([span]).copy()
    for node in range(len(tokens)):
        assert (rows[1 + node] == fake.row([1, 2, *(tokens[i] for i in path_to(parents, node))])).all()
    path = path_to(parents, data.draw(st.integers(ROOT, len(parents) - 1)))
    fake.keep(span, path)
    assert fake.cache[0] == [1, 2, *(tokens[i] for i in path)]
    assert not any(fake.cache[seq] for seq in SPARE)


# Hidden states.


def test_the_output_matrix_turns_hidden_states_into_the_logits_of_the_same_rows(model, tiny):
    import gguf

    tensors = {tensor.name: tensor.data for tensor in gguf.GGUFReader(tiny).tensors}
    tree = [ROOT, ROOT, 0]
    spans = [Span(1, 0, [120, 121, 122], 1), Span(0, 0, [*PREFIX, 97, 98, 99], 4, tree, [3])]
    rows = model.decode(spans, hidden=True)
    states = model.hidden_states()
    assert states.shape == (5, model.capabilities.n_embd)
    np.testing.assert_allclose(states @ tensors["output.weight"].T, rows, atol=2e-2)


def test_hidden_states_are_there_only_where_they_were_asked_for_and_change_no_logits(model):
    plain = model.decode([Span(0, 0, PREFIX, 2)]).copy()
    with pytest.raises(EngineError, match="hidden states"):
        model.hidden_states()
    model.truncate(0, 0)
    rows = model.decode([Span(0, 0, PREFIX, 2)], hidden=True).copy()
    np.testing.assert_allclose(rows, plain, atol=2e-2)
    model.decode([Span(0, len(PREFIX), [50], 1)])
    with pytest.raises(EngineError, match="hidden states"):
        model.hidden_states()
