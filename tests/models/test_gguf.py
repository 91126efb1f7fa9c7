"""Reading GGUF headers: what good files say, and that bad ones are refused in words, at once."""

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paceline.errors import ModelError
from paceline.models.gguf import ArrayInfo, Header, read_header
from paceline.models.header import FILE_TYPES, TENSOR_TYPES
from support import gguf_bytes as w


def read(tmp_path: Path, content: bytes | w.File) -> Header:
    path = tmp_path / "model.gguf"
    path.write_bytes(content.build() if isinstance(content, w.File) else content)
    return read_header(path)


def refusal(tmp_path: Path, content: bytes | w.File) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(tmp_path, content)
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value


def everything(header: Header) -> list[object]:
    """All answers of a header; each may raise ModelError."""
    return [
        *(header.architecture, header.name, header.context_length, header.layers, header.embedding),
        *(header.vocab_size, header.chat_template, header.quantisation, header.parameters, header.fim, header.shards),
        *(header.kv_bytes_per_token("f16"), header.kv_bytes_per_token("q4_0"), header.layer_bytes()),
    ]


# --- good files ---


def test_a_header_answers_what_the_file_says(tmp_path: Path) -> None:
    header = read(tmp_path, w.model())
    assert (header.version, header.architecture, header.name) == (3, "tiny", "A tiny model")
    assert (header.layers, header.context_length, header.embedding, header.vocab_size) == (2, 2048, 32, 3)
    assert header.quantisation == "Q4_K_M"
    assert header.chat_template == "{{ messages }}"
    assert header.fim == ("prefix", "middle")
    assert header.parameters == 32 * 3 + 2 * 32 * 32 + 32 + 32 * 3
    assert header.file_bytes == header.path.stat().st_size
    assert header.data_offset % 32 == 0
    assert header.shards == 1


def test_version_2_reads_like_version_3(tmp_path: Path) -> None:
    file = w.model()
    three = read(tmp_path, file)
    file.version = 2
    assert read(tmp_path, file).tensors == three.tensors


def test_weights_are_counted_by_layer(tmp_path: Path) -> None:
    weights = read(tmp_path, w.model()).layer_bytes()
    assert weights.embedding == 32 * 3 * 4
    assert weights.blocks == (32 * 34, 32 * 34)
    assert weights.output == 32 * 4 + 3 * 18
    assert not weights.tied


def test_a_model_without_an_output_matrix_is_tied(tmp_path: Path) -> None:
    file = w.model()
    file.tensors.pop()
    assert read(tmp_path, file).layer_bytes().tied


@pytest.mark.parametrize(("kv_type", "row"), [("f16", 32), ("q8_0", 34), ("q4_0", 18)])
def test_the_kv_cache_of_a_token(tmp_path: Path, kv_type: str, row: int) -> None:
    # 2 KV heads of width 32 / 4 = 8: a row of 16 elements, one block of 32 where the type has blocks
    assert read(tmp_path, w.model()).kv_bytes_per_token(kv_type) == 2 * 2 * row


def test_kv_heads_may_differ_from_layer_to_layer(tmp_path: Path) -> None:
    header = read(tmp_path, w.model(layers=3, head_count_kv=[4, 0, 1], key_length=16, value_length=8))
    assert header.kv_layer_bytes("f16") == (4 * (16 + 8) * 2, 0, (16 + 8) * 2)


def test_without_kv_heads_every_head_has_its_own(tmp_path: Path) -> None:
    file = w.model(layers=1)
    file.metadata = [line for line in file.metadata if b"head_count_kv" not in line]
    assert read(tmp_path, file).kv_bytes_per_token("f16") == 2 * 32 * 2


def test_kv_heads_for_other_than_all_layers_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="each of 3 layers"):
        read(tmp_path, w.model(layers=3, head_count_kv=[4, 4])).kv_bytes_per_token("f16")


def test_long_arrays_are_kept_as_their_length(tmp_path: Path) -> None:
    header = read(tmp_path, w.model(tokens=[f"t{i}" for i in range(3000)]))
    assert header.metadata["tokenizer.ggml.tokens"] == ArrayInfo("string", 3000)
    assert header.vocab_size == 3000


def test_long_numeric_arrays_and_texts_are_kept_as_their_length(tmp_path: Path) -> None:
    file = w.model()
    file.metadata += [w.array("scores", w.F32, [0.5] * 5000), w.pair("large", w.TEXT, "x" * (3 << 20))]
    file.metadata += [w.pair("after", w.I64, -7)]
    metadata = read(tmp_path, file).metadata
    assert metadata["scores"] == ArrayInfo("float32", 5000)
    assert metadata["large"] == ArrayInfo("text", 3 << 20)
    assert metadata["after"] == -7


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *[(w.U8, 255), (w.I8, -1), (w.U16, 65535), (w.I16, -2), (w.I32, -3), (w.F32, 0.5), (w.BOOL, True)],
        *[(w.U64, 1 << 63), (w.I64, -(1 << 63)), (w.F64, 1e300), (w.TEXT, "ein Wörtchen")],
    ],
)
def test_every_type_of_value_is_read(tmp_path: Path, kind: int, value: object) -> None:
    file = w.File([w.pair("one", kind, value), w.array("three", kind, [value] * 3)])
    assert read(tmp_path, file).metadata == {"one": value, "three": (value,) * 3}


def test_a_text_that_is_not_utf8_is_shown_with_replacements(tmp_path: Path) -> None:
    file = w.File([w.pair("general.architecture", w.TEXT, "tiny"), w.pair("general.name", w.TEXT, b"A\xff")])
    assert read(tmp_path, file).name == "A�"


def test_strings_that_cross_the_reader_s_chunks_are_passed_over_rightly(tmp_path: Path) -> None:
    tokens = ["x" * (997 * (i % 7)) for i in range(2000)]  # some 6 MB, borders in lengths as well as in texts
    file = w.File([w.array("tokens", w.TEXT, tokens), w.pair("after", w.TEXT, "here")])
    assert read(tmp_path, file).metadata["after"] == "here"


def test_a_file_of_the_gguf_package_is_read_alike(tmp_path: Path) -> None:
    import gguf
    import numpy as np

    path = tmp_path / "theirs.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_token_list([f"t{i}" for i in range(2000)])
    writer.add_custom_alignment(64)
    writer.add_tensor("blk.0.ffn_up.weight", np.zeros((3, 64), dtype=np.float16))
    writer.add_tensor("output_norm.weight", np.ones(5, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    header, theirs = read_header(path), gguf.GGUFReader(path)
    assert header.vocab_size == 2000
    assert header.data_offset == theirs.data_offset
    assert [(t.name, t.shape, t.type, t.offset + header.data_offset, t.bytes) for t in header.tensors] == [
        (t.name, tuple(t.shape.tolist()), t.tensor_type.name, t.data_offset, t.n_bytes) for t in theirs.tensors
    ]


def test_block_sizes_and_recipes_agree_with_the_gguf_package() -> None:
    import gguf

    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in gguf.GGML_QUANT_SIZES.items()}
    common = theirs.keys() & TENSOR_TYPES.keys()
    assert {kind: TENSOR_TYPES[kind] for kind in common} == {kind: theirs[kind] for kind in common}
    assert len(common) > 30
    names = {int(kind): kind.name.removeprefix("ALL_").removeprefix("MOSTLY_") for kind in gguf.LlamaFileType}
    for kind in names.keys() & FILE_TYPES.keys():
        assert FILE_TYPES[kind] == names[kind]


def test_an_unknown_tensor_type_takes_the_space_up_to_the_next_tensor(tmp_path: Path) -> None:
    lines = [w.tensor("a", (5,), 99, 0), w.tensor("b", (8,), 0, 96), w.tensor("c", (7, 3), 98, 128)]
    tensors = read(tmp_path, w.File([], lines, b"\0" * 200)).tensors
    assert [(t.type, t.bytes) for t in tensors] == [("type 99", 96), ("F32", 32), ("type 98", 72)]


def test_without_a_recipe_the_type_with_most_bytes_is_named(tmp_path: Path) -> None:
    file = w.model(layers=4)
    file.metadata = [line for line in file.metadata if b"file_type" not in line]
    assert read(tmp_path, file).quantisation == "Q8_0"


def test_a_vocabulary_without_weights_is_a_good_file(tmp_path: Path) -> None:
    assert read(tmp_path, w.File([w.pair("general.architecture", w.TEXT, "x")]).header()).tensors == ()


# --- files that are not what they should be ---


@pytest.mark.parametrize("content", [b"<!DOCTYPE html><html>", b"GG", b"ggml" + b"\0" * 50, b"PK\3\4"])
def test_other_files_are_not_gguf(tmp_path: Path, content: bytes) -> None:
    assert "not a GGUF" in refusal(tmp_path, content).message


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    assert "empty" in refusal(tmp_path, b"").message


@pytest.mark.parametrize("version", [0, 1, 4, 77])
def test_other_versions_are_named(tmp_path: Path, version: int) -> None:
    assert f"version {version}" in refusal(tmp_path, w.File(version=version)).message


@pytest.mark.parametrize("head", [b"GGUF\0\0\0\3", b"FUGG\0\0\0\3"])
def test_big_endian_files_are_refused_as_such(tmp_path: Path, head: bytes) -> None:
    assert "big-endian" in refusal(tmp_path, head + b"\0" * 100).message


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(ModelError, match="not a file"):
        read_header(tmp_path)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(ModelError, match="not a file"):
        read_header(tmp_path / "pipe.gguf")


def test_cut_weights_say_how_many_bytes_are_missing(tmp_path: Path) -> None:
    file = w.File([], [w.tensor("a", (64,), 0, 0), w.tensor("b", (64,), 0, 256)], b"\0" * 512)
    error = refusal(tmp_path, file.build()[:-100])
    assert "truncated: 100 bytes" in error.message
    assert "pull" in error.hint


def test_a_header_cut_anywhere_is_truncated(tmp_path: Path) -> None:
    whole = w.model().build()
    header = len(w.model().header())
    for length in range(5, header):
        assert "truncated" in refusal(tmp_path, whole[:length]).message, length


BROKEN = {
    "too many keys": (w.File(key_count=1 << 63), f"declares {1 << 63} metadata keys"),
    "too many tensors": (w.File(tensor_count=1 << 40), f"declares {1 << 40} tensors"),
    "more keys than bytes": (w.File(key_count=50), "truncated"),
    "more tensors than bytes": (w.File(tensor_count=50), "truncated"),
    "endless key": (w.File([w.u64(1 << 62) + b"abcdefgh"]), "a metadata key is"),
    "endless text": (w.File([w.string("k") + w.u32(w.TEXT) + w.u64((1 << 64) - 1) + b"x"]), "truncated"),
    "endless array": (w.File([w.array("k", w.U8, [1], length=(1 << 64) - 1)]), "truncated"),
    "endless array of texts": (w.File([w.array("k", w.TEXT, ["x"], length=1 << 61)]), "truncated"),
    "text in an array past the end": (
        w.File([w.array("k", w.U8, [0] * 99) + w.array("l", w.TEXT, []) + w.u64(1 << 63)], key_count=3),
        "a metadata key is",
    ),
    "array of arrays": (
        w.File([w.string("k") + w.u32(w.ARRAY) + w.u32(w.ARRAY) + w.u64(1) + b"\0" * 20]),
        "array of arrays",
    ),
    "unknown value type": (w.File([w.string("k") + w.u32(13) + b"\0" * 20]), "unknown type 13"),
    "unknown element type": (w.File([w.string("k") + w.u32(w.ARRAY) + w.u32(14) + b"\0" * 20]), "element type 14"),
    "key twice": (w.File([w.pair("key.a", w.U8, 1)] * 2), "key.a occurs twice"),
    "key not text": (w.File([w.pair(b"\xff\xfe", w.U8, 1)]), "not valid UTF-8"),
    "alignment zero": (w.File([w.pair("general.alignment", w.U32, 0)]), "alignment is 0"),
    "alignment odd": (w.File([w.pair("general.alignment", w.U32, 48)]), "alignment is 48"),
    "alignment a text": (w.File([w.pair("general.alignment", w.TEXT, "32")]), "alignment is 32"),
    "five dimensions": (w.File([], [w.tensor("a", [1] * 5, 0, 0)], b"\0" * 64), "5 dimensions"),
    "endless dimensions": (
        w.File([], [w.string("a") + w.u32(0xFFFFFFFF) + b"\0" * 40], b"\0" * 64),
        "4294967295 dimensions",
    ),
    "overflowing shape": (w.File([], [w.tensor("a", [1 << 33, 1 << 33], 0, 0)], b"\0" * 64), "impossible shape"),
    "empty shape": (w.File([], [w.tensor("a", [0, 4], 0, 0)], b"\0" * 64), "impossible shape"),
    "half a block": (w.File([], [w.tensor("a", [33], 2, 0)], b"\0" * 64), "whole blocks of 32"),
    "long name": (w.File([], [w.tensor("a" * 200, [1], 0, 0)], b"\0" * 64), "name is 200 bytes"),
    "name not text": (w.File([], [w.tensor(b"\xc3", [1], 0, 0)], b"\0" * 64), "not valid UTF-8"),
    "tensor twice": (w.File([], [w.tensor("a", [1], 0, 0), w.tensor("a", [1], 0, 32)], b"\0" * 64), "a occurs twice"),
    "offset not aligned": (w.File([], [w.tensor("a", [1], 0, 7)], b"\0" * 64), "starts at 7"),
    "offset past the end": (w.File([], [w.tensor("a", [1], 0, 1 << 62)], b"\0" * 64), "past the end of the file"),
    "unknown type past the end": (w.File([], [w.tensor("a", [1], 99, 1 << 20)], b"\0" * 64), "past the end"),
    "overlap at the last byte": (
        w.File([], [w.tensor("a", [57], 0, 0), w.tensor("b", [8], 0, 224)], b"\0" * 512),
        "b lies over the one before",
    ),
    "overlap": (
        w.File([], [w.tensor("a", [64], 0, 0), w.tensor("b", [8], 0, 128)], b"\0" * 512),
        "b lies over the one before",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_with_the_cause(tmp_path: Path, case: str) -> None:
    content, cause = BROKEN[case]
    assert cause in refusal(tmp_path, content).message


def test_texts_of_the_file_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    error = refusal(tmp_path, w.File([w.pair("\x1b[2J\x07\nkey\u202e", w.U8, 1)] * 2))
    assert error.message.replace(str(tmp_path), "").isprintable()
    assert "\\x1b[2J" in error.message


@pytest.mark.parametrize(
    ("key", "kind", "value"),
    [
        *[("block_count", w.U32, 1 << 31), ("block_count", w.TEXT, "2"), ("context_length", w.I32, -1)],
        *[("embedding_length", w.F32, 1.5), ("attention.head_count", w.BOOL, True)],
    ],
)
def test_a_number_that_cannot_be_is_an_error_when_asked_for(tmp_path: Path, key: str, kind: int, value: object) -> None:
    file = w.model()
    name = f"tiny.{key}"
    file.metadata = [line for line in file.metadata if not line.startswith(w.string(name))]
    file.metadata.append(w.pair(name, kind, value))
    header = read(tmp_path, file)
    with pytest.raises(ModelError, match="damaged"):
        everything(header)


def test_a_file_without_architecture_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="architecture"):
        _ = read(tmp_path, w.File()).layers


# --- bounds ---


def hole(path: Path, head: bytes, size: int) -> Path:
    """A sparse file: claims are covered by its size, though nothing is there."""
    path.write_bytes(head)
    os.truncate(path, size)
    return path


CRAFTED = {
    "more strings than a header holds": w.File([w.array("k", w.TEXT, [], length=1 << 36)]),
    "more strings than are counted": w.File([w.array("k", w.TEXT, [], length=5_000_000)]),
    "strings": w.File([w.array("k", w.TEXT, [], length=300_000)], key_count=3),
    "bytes": w.File([w.array("k", w.U8, [], length=1 << 38)]),
    "text": w.File([w.string("k") + w.u32(w.TEXT) + w.u64(1 << 38)]),
    "keys": w.File(key_count=1 << 16),
    "tensors": w.File(tensor_count=1 << 16),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_a_small_crafted_file_costs_no_memory(tmp_path: Path, case: str) -> None:
    path = hole(tmp_path / "crafted.gguf", CRAFTED[case].header(), 1 << 39)
    tracemalloc.start()
    with pytest.raises(ModelError):
        read_header(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


def test_the_most_strings_that_are_allowed_are_passed_over_in_one_go(tmp_path: Path) -> None:
    head = w.File([w.array("k", w.TEXT, [], length=3_900_000)]).header()
    header = read_header(hole(tmp_path / "crafted.gguf", head, 1 << 39))
    assert header.metadata == {"k": ArrayInfo("string", 3_900_000)}


GOOD = w.model().build()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=6),
    numbers=st.lists(st.tuples(st.integers(0, len(GOOD) - 8), st.sampled_from([0, 1, 255, 2**31, 2**63, 2**64 - 1]))),
    length=st.integers(0, len(GOOD)),
    cut=st.booleans(),
)
def test_a_mutilated_file_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[int, int]], numbers: list[tuple[int, int]], length: int, cut: bool
) -> None:
    content = bytearray(GOOD)
    for at, byte in changes:
        content[at] = byte
    for at, number in numbers[:3]:
        content[at : at + 8] = w.u64(number)
    try:
        header = read(tmp_path, bytes(content[:length] if cut else content))
        everything(header)
    except ModelError as error:
        assert error.hint
    else:
        assert all(header.data_offset + t.offset + t.bytes <= header.file_bytes for t in header.tensors)
