"""The catalogue: ours is sound, a person's own comes on top, and names cannot lead astray."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import ConfigError, ModelError
from paceline.models import catalogue
from paceline.models.catalogue import Carrier, ModelFile
from paceline.models.store import Store

OURS = catalogue.load(Path("/nonexistent"))


def load(tmp_path: Path, text: str) -> catalogue.Catalogue:
    path = tmp_path / "catalogue.toml"
    path.write_text(text)
    return catalogue.load(path)


# --- the shipped catalogue --------------------------------------------------------------------------------------------


def test_every_pair_has_its_models_and_says_for_whom_it_is():
    for pair in OURS.pairs.values():
        assert [file.id for file in OURS.files(pair)] == [name for name in (pair.target, pair.draft) if name]
        assert pair.audience.endswith(".") and pair.roles


@pytest.mark.parametrize("model", OURS.models.values(), ids=lambda model: model.id)
def test_every_model_says_what_a_person_must_know_before_downloading(model: ModelFile):
    assert model.licence and model.parameters and model.context and model.quantisation
    assert "-00001-of-" not in model.file  # pieces are not joined; the whole file is meant
    assert (model.bytes is None) == (model.sha256 is None)
    assert model.revision == "main" or re.fullmatch(r"[0-9a-f]{40}", model.revision)


@pytest.mark.parametrize("model", [m for m in OURS.models.values() if m.bytes is not None], ids=lambda model: model.id)
def test_known_sizes_agree_with_parameters_and_quantisation(model: ModelFile):
    guess = ModelFile(id="x", parameters=model.parameters, quantisation=model.quantisation).size_estimate
    # The 0.5B's rows are too short for Q4_K and take the larger Q5_0 and Q8_0 instead.
    slack = 1.35 if "0.5b-instruct-q4" in model.id else 1.2
    assert guess / 1.2 < model.bytes < guess * slack


def test_no_two_models_lie_in_the_same_place():
    store = Store(Path("/models"))
    paths = [store.path(model) for model in OURS.models.values()]
    assert len(set(paths)) == len(paths)


def test_the_research_licence_is_pointed_out():
    assert OURS.models["qwen2.5-coder-3b-instruct-q4_k_m"].licence == "Qwen Research"
    assert "commercial" in OURS.models["qwen2.5-coder-3b-instruct-q4_k_m"].note


def test_carriers_add_up_to_the_model():
    carried = [model for model in OURS.models.values() if model.carriers]
    assert len(carried) == 3
    for model in carried:
        for carrier in model.carriers:
            if carrier.parts > 1:
                assert (carrier.parts - 1) * carrier.part_bytes < model.bytes <= carrier.parts * carrier.part_bytes


def test_drafts_share_the_target_s_family():
    for pair in OURS.pairs.values():
        assert len({file.fim for file in OURS.files(pair)}) == 1


# --- carriers' names --------------------------------------------------------------------------------------------------


def test_a_part_s_number_goes_into_package_and_member():
    carrier = Carrier(package="some-model-part{n}", version="1", member="data/part{n:02}.bin", parts=12)
    assert carrier.package_name(7) == "some-model-part7"
    assert carrier.member_path(7) == "some_model_part7/data/part07.bin"
    assert carrier.member_path(12) == "some_model_part12/data/part12.bin"


def test_a_template_is_not_a_format_string():
    carrier = Carrier(package="p{n.__class__}", version="1", member="{n!r}")
    assert carrier.package_name(1) == "p{n.__class__}"


# --- what a person names ----------------------------------------------------------------------------------------------


def test_an_id_resolves_to_its_entry():
    assert OURS.resolve("smollm2-135m-instruct-q4_1").file == "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_a_hub_name_resolves_to_repository_and_file():
    model = OURS.resolve("someone/Some-Model-GGUF:q4/some-model.gguf")
    assert (model.repository, model.file, model.revision, model.path) == (
        "someone/Some-Model-GGUF",
        "q4/some-model.gguf",
        "main",
        "",
    )


def test_a_hub_name_that_we_know_brings_its_hash_and_carriers():
    ours = OURS.models["qwen2.5-coder-0.5b-instruct-q4_k_m"]
    assert OURS.resolve(f"{ours.repository}:{ours.file}") is ours


def test_an_existing_file_resolves_to_itself_whatever_its_name(tmp_path, monkeypatch):
    (tmp_path / "model.bin").write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    assert OURS.resolve("model.bin").path == str(tmp_path / "model.bin")


def test_a_path_that_does_not_exist_yet_is_still_a_path():
    assert OURS.resolve("/data/x.gguf").path == "/data/x.gguf"
    assert OURS.resolve("./x.gguf").path == str(Path.cwd() / "x.gguf")
    assert OURS.resolve("~/x.gguf").path == str(Path.home() / "x.gguf")


@pytest.mark.parametrize(
    "file",
    [
        "../../etc/x.gguf",
        "a/../../x.gguf",
        "/etc/x.gguf",
        "..\\x.gguf",
        "C:x.gguf",
        "a//x.gguf",
        "./x.gguf",
        "x\n.gguf",
        "x\x9b.gguf",
        "x.gguf\x00",
        "x.txt",
        "",
        " x/y.gguf",
        "n" * 300 + ".gguf",
    ],
)
def test_a_file_name_that_could_leave_the_store_is_refused(file):
    with pytest.raises(ModelError):
        OURS.resolve(f"owner/repo:{file}")


@given(st.text(max_size=30))
def test_no_accepted_file_name_leaves_its_folder(name):
    name += ".gguf"
    if not catalogue.file_name_fault(name):
        root = Path("/store/owner--repo")
        inside = root.joinpath(*name.split("/"))
        assert root in inside.parents and ".." not in inside.parts


@pytest.mark.parametrize("spec", ["", "nothing", "owner--x/repo:f.gguf", "a/b/c:f.gguf", "own..er/repo:f.gguf", "x\0"])
def test_anything_else_is_refused(spec):
    with pytest.raises(ModelError):
        OURS.resolve(spec)


def test_a_near_miss_is_named():
    with pytest.raises(ModelError) as caught:
        OURS.resolve("smollm2-135m-instruct-q4")
    assert "smollm2-135m-instruct-q4_1" in caught.value.hint
    with pytest.raises(ModelError) as caught:
        OURS.pair("qwen2.5-coder-1.5")
    assert "qwen2.5-coder-1.5b" in caught.value.hint


# --- a person's own catalogue -----------------------------------------------------------------------------------------


def test_own_models_and_pairs_come_on_top_of_ours(tmp_path):
    merged = load(
        tmp_path,
        """
        [[model]]
        id = "mine"
        path = "weights/mine.gguf"
        [[model]]
        id = "smollm2-135m-instruct-q4_1"
        repository = "me/other"
        file = "other.gguf"
        [[pair]]
        id = "mine"
        target = "mine"
        draft = "qwen2.5-coder-0.5b-instruct-q4_k_m"
        """,
    )
    assert merged.models["mine"].path == str(tmp_path / "weights/mine.gguf")
    assert merged.models["smollm2-135m-instruct-q4_1"].repository == "me/other"
    assert len(merged.files(merged.pairs["mine"])) == 2
    assert set(OURS.models) < set(merged.models)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[model]]\nid='m'\nrepository='a/b'\nfile='f.gguf'\nbites=3\n", ["bites", "bytes", "'m'"]),
        ("[[model]]\nid='m'\nrepository='a/b'\nfile='f.gguf'\nbytes='many'\n", ["bytes", "'m'"]),
        ("[[model]]\nid='m'\nrepository='a/b'\nfile='f.gguf'\nsha256='abc'\n", ["sha256", "'m'"]),
        ("[[model]]\nid='m'\nrepository='a/b'\nfile='../f.gguf'\n", ["../f.gguf", "'m'"]),
        ("[[model]]\nid='m'\nrepository='a/b'\nfile='f.gguf'\nrevision='a/../../b'\n", ["revision", "'m'"]),
        ("[[model]]\nid='m'\nrepository='nobody'\nfile='f.gguf'\n", ["nobody", "'m'"]),
        ("[[model]]\nid='m'\nrepository='a/b'\nfile='f.gguf'\npath='f.gguf'\n", ["path", "'m'"]),
        ("[[model]]\nrepository='a/b'\nfile='f.gguf'\n", ["model 1", "id"]),
        ("[[model]]\nid='m'\npath='a.gguf'\n[[model]]\nid='m'\npath='b.gguf'\n", ["'m'", "twice"]),
        ("[[pair]]\nid='p'\ntarget='nothing'\n", ["'p'", "nothing"]),
        ("[[pair]]\nid='p'\ntarget='smollm2-135m-instruct-q4_1'\ndraft='gone'\n", ["'p'", "draft", "gone"]),
        ("[[pair]]\nid='p'\ntarget='smollm2-135m-instruct-q4_1'\nroles=['sing']\n", ["'p'", "roles"]),
        ("[model]\nid='m'\n", ["[[model]]"]),
        ("[[modle]]\nid='m'\n", ["modle"]),
        ("not toml", ["catalogue.toml"]),
    ],
)
def test_a_broken_catalogue_is_named_with_its_entry(tmp_path, text, named):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    for part in [*named, "" if "two brackets" in caught.value.hint else "catalogue.toml"]:
        assert part in str(caught.value)


HASH = "a" * 64


@pytest.mark.parametrize(
    "carrier",
    [
        "{package='--index-url=http://evil', version='1', member='m'}",
        "{package='p', version='1 --pre', member='m'}",
        "{package='p', version='1', member='m', parts=2}",
        "{package='p{n}', version='1', member='m', parts=0}",
        "{package='p{n}', version='1', member='m', size=2}",
    ],
)
def test_a_carrier_that_could_mislead_pip_is_refused(tmp_path, carrier):
    text = f"[[model]]\nid='m'\nrepository='a/b'\nfile='f.gguf'\nbytes=5\nsha256='{HASH}'\ncarriers=[{carrier}]\n"
    with pytest.raises(ConfigError, match="'m'"):
        load(tmp_path, text)


def test_a_carrier_without_a_hash_to_trust_it_by_is_refused(tmp_path):
    text = "[[model]]\nid='m'\nrepository='a/b'\nfile='f.gguf'\ncarriers=[{package='p', version='1', member='m'}]\n"
    with pytest.raises(ConfigError, match="sha256"):
        load(tmp_path, text)
