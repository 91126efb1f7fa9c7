"""What was measured is kept, found again for the same thing only, and never trusted when it is broken."""

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.daemon.measurements import Measurements
from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.costs import CostCurve
from paceline.engine.pair import Fit
from paceline.plan import LoadOptions

CURVE = CostCurve((1, 2, 4), (1.0, 1.5, 2.25))
OPTIONS = LoadOptions(n_threads=2)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state" / "measurements"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


@pytest.fixture
def draft(tmp_path):
    path = tmp_path / "draft.gguf"
    path.write_bytes(b"weight")
    return path


def test_nothing_is_known_at_first_and_asking_writes_nothing(folder, model, draft):
    nothing = Measurements(folder)
    assert nothing.curve(model, OPTIONS, "build") is None
    assert nothing.fit(model, draft) is None
    assert nothing.acceptance(model, draft) is None
    assert not folder.exists()


def test_a_curve_comes_back_as_it_was(folder, model):
    Measurements(folder).store_curve(model, OPTIONS, "build", CURVE)
    assert Measurements(folder).curve(model, OPTIONS, "build") == CURVE


def test_a_later_curve_replaces_an_earlier_one(folder, model):
    kept = Measurements(folder)
    kept.store_curve(model, OPTIONS, "build", CURVE)
    kept.store_curve(model, OPTIONS, "build", CostCurve((1,), (3.0,)))
    assert kept.curve(model, OPTIONS, "build") == CostCurve((1,), (3.0,))
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"n_threads": 1},
        {"gpu_layers": 3},
        {"n_batch": 256},
        {"kv_type": "q8_0"},
        {"flash_attention": False},
        {"tensor_split": (1.0, 2.0)},
        {"main_gpu": 1},
    ],
)
def test_a_curve_is_of_the_way_the_model_was_loaded(folder, model, change):
    Measurements(folder).store_curve(model, OPTIONS, "build", CURVE)
    assert Measurements(folder).curve(model, replace(OPTIONS, **change), "build") is None


def test_the_size_of_the_context_does_not_matter(folder, model):
    Measurements(folder).store_curve(model, OPTIONS, "build", CURVE)
    assert Measurements(folder).curve(model, replace(OPTIONS, n_ctx=99), "build") == CURVE


def test_another_build_of_llama_cpp_is_measured_anew(folder, model):
    Measurements(folder).store_curve(model, OPTIONS, "build", CURVE)
    assert Measurements(folder).curve(model, OPTIONS, "other build") is None


def test_another_file_of_the_same_name_is_measured_anew(folder, model):
    Measurements(folder).store_curve(model, OPTIONS, "build", CURVE)
    model.write_bytes(model.read_bytes() + b"!")
    assert Measurements(folder).curve(model, OPTIONS, "build") is None


def test_the_same_file_fetched_again_costs_the_same(folder, model):
    Measurements(folder).store_curve(model, OPTIONS, "build", CURVE)
    os.utime(model, ns=(0, 0))
    assert Measurements(folder).curve(model, OPTIONS, "build") == CURVE


def test_a_doubt_is_kept_with_the_curve_and_goes_with_the_next(folder, model):
    kept = Measurements(folder)
    kept.store_curve(model, OPTIONS, "build", CURVE, "a storm")
    assert kept.doubt(model, OPTIONS, "build") == "a storm"
    kept.store_curve(model, OPTIONS, "build", CURVE)
    assert kept.doubt(model, OPTIONS, "build") == ""


@pytest.mark.parametrize("fit", [Fit(), Fit("token 3 is another"), Fit("token 3 is another", "and it cannot write")])
def test_a_comparison_comes_back_as_it_was(folder, model, draft, fit):
    Measurements(folder).store_fit(model, draft, fit)
    assert Measurements(folder).fit(model, draft) == fit


def test_a_comparison_is_of_these_two_files_in_these_roles(folder, model, draft):
    kept = Measurements(folder)
    kept.store_fit(model, draft, Fit())
    assert kept.fit(draft, model) is None
    draft.write_bytes(b"another weight")
    assert kept.fit(model, draft) is None


LEARNED = AcceptanceTable({("draft", 8): (9.0, 10.0), ("copy", 4): (0.5, 2.0)})


@pytest.mark.parametrize("alone", [False, True])
def test_what_was_learned_of_drafts_comes_back(folder, model, draft, alone):
    Measurements(folder).store_acceptance(model, None if alone else draft, LEARNED)
    assert Measurements(folder).acceptance(model, None if alone else draft) == LEARNED


def test_what_was_learned_is_of_this_pair(folder, model, draft):
    kept = Measurements(folder)
    kept.store_acceptance(model, draft, LEARNED)
    assert kept.acceptance(model, None) is None
    assert kept.acceptance(draft, model) is None
    os.utime(model, ns=(0, 0))
    assert kept.acceptance(model, draft) == LEARNED, "the same file fetched again"
    draft.write_bytes(b"another weight")
    assert kept.acceptance(model, draft) is None


def test_only_its_owner_may_read_what_was_learned(folder, model, draft):
    Measurements(folder).store_acceptance(model, draft, LEARNED)
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_nothing_is_learned_of_files_that_are_gone(folder, model, draft):
    kept = Measurements(folder)
    draft.unlink()
    kept.store_acceptance(model, draft, LEARNED)
    assert kept.acceptance(model, draft) is None


BROKEN = [
    b"",
    b"\xff\xfe",
    b"{",
    b"null",
    b"[]",
    b"3",
    b"[" * 100_000,
    b'{"tokens": [1, 2]}',
    b'{"ms": [1, 2]}',
    b'{"tokens": [], "ms": []}',
    b'{"tokens": [1, 2], "ms": [1.0]}',
    b'{"tokens": [2, 1], "ms": [1.0, 2.0]}',
    b'{"tokens": [1, 1], "ms": [1.0, 2.0]}',
    b'{"tokens": [1], "ms": [0]}',
    b'{"tokens": [1], "ms": [-1]}',
    b'{"tokens": [1], "ms": [NaN]}',
    b'{"tokens": [1, 2], "ms": [1.0, Infinity]}',
    b'{"tokens": [NaN], "ms": [1.0]}',
    b'{"tokens": [Infinity], "ms": [1.0]}',
    b'{"tokens": [1], "ms": [1' + b"0" * 400 + b"]}",
    b'{"tokens": [null], "ms": [1.0]}',
    b'{"tokens": null, "ms": null}',
    b'{"tokens": {"a": 1}, "ms": {"b": 1}}',
    b'{"tokens": [[1]], "ms": [[1.0]]}',
    b'{"tokens": ["one"], "ms": ["two"]}',
    b'{"verdict": ""}',
    b'{"difference": "", "fault": null}',
    b'{"difference": 3, "fault": ""}',
    b'{"fault": ""}',
    b'{"accepted": null}',
    b'{"accepted": {"draft": {"8": [2, 1]}}}',
]


@pytest.mark.parametrize("content", BROKEN, ids=[content[:40].decode("latin-1") for content in BROKEN])
def test_a_broken_file_means_not_measured_and_is_replaced(folder, model, draft, content):
    kept = Measurements(folder)
    kept.store_curve(model, OPTIONS, "build", CURVE)
    kept.store_fit(model, draft, Fit())
    kept.store_acceptance(model, draft, LEARNED)
    for file in folder.iterdir():
        file.write_bytes(content)
    assert kept.curve(model, OPTIONS, "build") is None
    assert kept.fit(model, draft) is None
    assert kept.acceptance(model, draft) is None
    kept.store_curve(model, OPTIONS, "build", CURVE)
    kept.store_fit(model, draft, Fit())
    kept.store_acceptance(model, draft, LEARNED)
    assert kept.curve(model, OPTIONS, "build") == CURVE
    assert kept.fit(model, draft) == Fit()
    assert kept.acceptance(model, draft) == LEARNED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["tokens", "ms", "verdict"]), inner),
)


@given(JSON)
def test_whatever_json_a_file_holds_it_is_a_usable_curve_or_none(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("measurements")
    model = folder / "model.gguf"
    model.write_bytes(b"weights")
    kept = Measurements(folder / "kept")
    kept.store_curve(model, OPTIONS, "build", CURVE)
    (file,) = (folder / "kept").iterdir()
    file.write_text(json.dumps(value))
    curve = kept.curve(model, OPTIONS, "build")
    if curve is not None:
        assert all(0 < curve.at(size) < float("inf") for size in curve.sizes)


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path, model, draft):
    (tmp_path / "file").write_text("in the way")
    nowhere = Measurements(tmp_path / "file" / "measurements")
    nowhere.store_curve(model, OPTIONS, "build", CURVE)
    nowhere.store_fit(model, draft, Fit())
    nowhere.store_acceptance(model, draft, LEARNED)
    assert nowhere.curve(model, OPTIONS, "build") is None
    assert nowhere.fit(model, draft) is None
    assert nowhere.acceptance(model, draft) is None


def test_nothing_half_written_is_left_behind(folder, model):
    for _ in range(3):
        Measurements(folder).store_curve(model, OPTIONS, "build", CURVE)
    assert [file.suffix for file in folder.iterdir()] == [".json"]
