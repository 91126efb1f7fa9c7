"""What a GGUF file says about itself, as data; gguf.py reads it."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline.errors import ModelError
from paceline.plan import KVType

PULL_AGAIN: Final = "get the file again: `paceline models pull`, or take it from where it came from"
_MAX_LAYERS: Final = 4096

TENSOR_TYPES: Final[dict[int, tuple[str, int, int]]] = {
    # number: (name, elements in a block, bytes of a block); ggml.h's ggml_type and ggml.c's type_traits
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}

FILE_TYPES: Final[dict[int, str]] = {
    # general.file_type: llama.h's llama_ftype without its prefix
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
}

KV_BLOCKS: Final[dict[KVType, tuple[int, int]]] = {"f16": (1, 2), "q8_0": (32, 34), "q4_0": (32, 18)}
"""Elements and bytes of a block of the KV cache's types."""

_FIM_KEYS: Final = {
    "prefix": ("fim_pre_token_id", "prefix_token_id"),
    "suffix": ("fim_suf_token_id", "suffix_token_id"),
    "middle": ("fim_mid_token_id", "middle_token_id"),
}
_INPUT_TENSORS: Final = ("token_embd", "token_types", "position_embd")
_BLOCK: Final = re.compile(r"blk\.([0-9]{1,4})\.")


@dataclass(frozen=True)
class ArrayInfo:
    """Stands for a value too long to keep: an array's element type and length, or ("text", bytes)."""

    type: str
    length: int


Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...] | ArrayInfo


@dataclass(frozen=True)
class TensorInfo:
    """One line of the tensor table."""

    name: str
    shape: tuple[int, ...]  # elements, the fastest-running dimension first
    type: str  # "Q4_K"; "type 77" where the number is unknown
    offset: int  # bytes from Header.data_offset
    bytes: int  # of its data; of an unknown type: up to the next tensor


@dataclass(frozen=True)
class LayerBytes:
    """Bytes of weights by where llama.cpp puts them: the input layer, each block, the output layer."""

    embedding: int
    blocks: tuple[int, ...]
    output: int
    tied: bool  # there is no output matrix: the embedding's is used, and copied where the two live apart


@dataclass(frozen=True)
class Header:
    """What a GGUF file says about itself. Properties answer 0 or "" where the file is silent.

    A property raises ModelError where the file says something of the wrong kind.
    """

    path: Path
    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    data_offset: int  # bytes from the file's start to the first tensor
    file_bytes: int

    @property
    def architecture(self) -> str:
        """llama.cpp's name for the kind of network, e.g. "qwen2". Raises ModelError where there is none."""
        value = self._text("general.architecture")
        if not value:
            raise ModelError(f"{self.path} does not say which architecture it is", "it is not a language model")
        return value

    @property
    def name(self) -> str:
        """The model's own name, or the file's."""
        return self._text("general.name") or self.path.stem

    @property
    def names(self) -> tuple[str, ...]:
        """What the file says of the model's family and size, then its whole name; as far as it says so."""
        family, size = self._text("general.basename"), self._text("general.size_label")
        return tuple(filter(None, (f"{family}-{size}" if family and size else "", self._text("general.name"))))

    @property
    def naming(self) -> tuple[str, ...]:
        """All that the file calls the model, what it was trained for included. Never raises."""
        said = (self.metadata.get(f"general.{key}") for key in ("name", "basename", "finetune"))
        return tuple(each for each in said if isinstance(each, str))

    @property
    def context_length(self) -> int:
        """Tokens of context the model was trained on."""
        return self._count(f"{self.architecture}.context_length")

    @property
    def layers(self) -> int:
        """Number of blocks."""
        return self._count(f"{self.architecture}.block_count", most=_MAX_LAYERS)

    @property
    def embedding(self) -> int:
        """Width of the residual stream."""
        return self._count(f"{self.architecture}.embedding_length")

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        tokens = self.metadata.get("tokenizer.ggml.tokens")
        if isinstance(tokens, ArrayInfo):
            return tokens.length
        if isinstance(tokens, tuple):
            return len(tokens)
        return self._count(f"{self.architecture}.vocab_size")

    @property
    def chat_template(self) -> str:
        """The Jinja template in the file. It comes from a stranger: render it in a sandbox only."""
        return self._text("tokenizer.chat_template")

    @property
    def quantisation(self) -> str:
        """The recipe, e.g. "Q4_K_M"; where the file does not name it, the type that holds most of its bytes."""
        recipe = FILE_TYPES.get(self._count("general.file_type", absent=-1))
        if recipe:
            return recipe
        weight: Counter[str] = Counter()
        for tensor in self.tensors:
            weight[tensor.type] += tensor.bytes
        return weight.most_common(1)[0][0] if weight else ""

    @property
    def parameters(self) -> int:
        """Elements of all tensors."""
        return sum(math.prod(tensor.shape) for tensor in self.tensors)

    @property
    def fim(self) -> tuple[str, ...]:
        """Which fill-in-the-middle tokens the metadata names: of "prefix", "suffix", "middle".

        An empty answer proves nothing: many files leave it to the vocabulary.
        """
        return tuple(
            role for role, keys in _FIM_KEYS.items() if any(f"tokenizer.ggml.{key}" in self.metadata for key in keys)
        )

    @property
    def shards(self) -> int:
        """Number of files the model is split over; the tensor table covers this one only."""
        return self._count("split.count", absent=1)

    def kv_layer_bytes(self, kv_type: KVType) -> tuple[int, ...]:
        """Bytes of KV cache for one token in each block.

        Blocks of sliding-window or recurrent kind that the file does not mark are counted in full: an upper bound.
        """
        prefix = f"{self.architecture}.attention"
        heads = self._per_layer(f"{prefix}.head_count") or (0,) * self.layers
        kv_heads = self._per_layer(f"{prefix}.head_count_kv") or heads
        width = self.embedding // max(max(heads, default=0), 1)
        key = self._count(f"{prefix}.key_length", absent=width)
        value = self._count(f"{prefix}.value_length", absent=width)
        elements, size = KV_BLOCKS[kv_type]
        return tuple(sum(-(-count * length // elements) * size for length in (key, value)) for count in kv_heads)

    def kv_bytes_per_token(self, kv_type: KVType) -> int:
        """Bytes of KV cache for one token in all blocks."""
        return sum(self.kv_layer_bytes(kv_type))

    def layer_bytes(self) -> LayerBytes:
        """Bytes of weights of the input layer, of each block (by the names `blk.N.`), and of the output layer."""
        blocks = [0] * self.layers
        embedding = output = 0
        for tensor in self.tensors:
            block = _BLOCK.match(tensor.name)
            if block and int(block[1]) < len(blocks):
                blocks[int(block[1])] += tensor.bytes
            elif tensor.name.startswith(_INPUT_TENSORS):
                embedding += tensor.bytes
            else:
                output += tensor.bytes
        tied = all(tensor.name != "output.weight" for tensor in self.tensors)
        return LayerBytes(embedding, tuple(blocks), output, tied)

    def _text(self, key: str) -> str:
        value = self.metadata.get(key, "")
        if not isinstance(value, str):
            raise damaged(self.path, f"{key} is not a text of usable length")
        return value

    def _count(self, key: str, absent: int = 0, most: int = (1 << 31) - 1) -> int:
        value = self.metadata.get(key)
        if value is None:
            return absent
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise damaged(self.path, f"{show(key)} is {show(value)}, not a number from 0 to {most}")
        return value

    def _per_layer(self, key: str) -> tuple[int, ...]:
        """A number for every block, given as one number or as an array; empty where the key is absent."""
        value = self.metadata.get(key)
        if not isinstance(value, tuple | ArrayInfo):
            return (self._count(key, most=1 << 20),) * self.layers if value is not None else ()
        good = isinstance(value, tuple) and len(value) == self.layers
        numbers = tuple(n for n in value if type(n) is int and 0 <= n <= 1 << 20) if isinstance(value, tuple) else ()
        if not good or len(numbers) != self.layers:
            raise damaged(self.path, f"{show(key)} does not give one number for each of {self.layers} layers")
        return numbers


def damaged(path: Path, what: str) -> ModelError:
    """The error for a file that contradicts itself or the format."""
    return ModelError(f"{path} is damaged: {what}", PULL_AGAIN)


def show(value: object) -> str:
    """A value from the file in a message: short, on one line, with nothing a terminal would act upon."""
    text = value if isinstance(value, str) else repr(value)
    return ascii(text[:60] + ("…" if len(text) > 60 else ""))[1:-1]
