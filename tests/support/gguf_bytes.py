"""Writes GGUF files byte by byte, good ones and broken ones; it shares no code with the reader."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64 = range(13)
_FORMS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q", I64: "q", F64: "d"}


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


def u64(number: int) -> bytes:
    return struct.pack("<Q", number)


def string(raw: str | bytes) -> bytes:
    data = raw.encode() if isinstance(raw, str) else raw
    return u64(len(data)) + data


def payload(kind: int, value: object) -> bytes:
    return string(value) if kind == TEXT else struct.pack("<" + _FORMS[kind], value)


def pair(key: str | bytes, kind: int, value: object) -> bytes:
    """One line of the metadata."""
    return string(key) + u32(kind) + payload(kind, value)


def array(key: str | bytes, kind: int, values: Sequence[object], length: int | None = None) -> bytes:
    """An array; `length` lies about how many elements follow."""
    body = b"".join(payload(kind, value) for value in values)
    return string(key) + u32(ARRAY) + u32(kind) + u64(len(values) if length is None else length) + body


def tensor(name: str | bytes, shape: Sequence[int], kind: int, offset: int) -> bytes:
    """One line of the tensor table."""
    return string(name) + u32(len(shape)) + b"".join(u64(n) for n in shape) + u32(kind) + u64(offset)


@dataclass
class File:
    """A whole file. The counts may lie; `data` are the bytes after the padding."""

    metadata: list[bytes] = field(default_factory=list)
    tensors: list[bytes] = field(default_factory=list)
    data: bytes = b""
    version: int = 3
    alignment: int = 32
    magic: bytes = b"GGUF"
    key_count: int | None = None
    tensor_count: int | None = None

    def header(self) -> bytes:
        counts = [
            len(lines) if count is None else count
            for lines, count in ((self.tensors, self.tensor_count), (self.metadata, self.key_count))
        ]
        return b"".join([self.magic, u32(self.version), *map(u64, counts), *self.metadata, *self.tensors])

    def build(self) -> bytes:
        header = self.header()
        return header + b"\0" * (-len(header) % self.alignment) + self.data


def padded(size: int, alignment: int = 32) -> int:
    return size + -size % alignment


def model(layers: int = 2, width: int = 32, tokens: Sequence[str] = ("a", "b", "c"), **attention: object) -> File:
    """A good little model: F32 embedding, one Q8_0 matrix a block, F32 norm and Q4_0 output matrix."""
    metadata = [
        pair("general.architecture", TEXT, "tiny"),
        pair("general.name", TEXT, "A tiny model"),
        pair("general.file_type", U32, 15),
        pair("tiny.block_count", U32, layers),
        pair("tiny.context_length", U32, 2048),
        pair("tiny.embedding_length", U32, width),
        array("tokenizer.ggml.tokens", TEXT, tokens),
        pair("tokenizer.chat_template", TEXT, "{{ messages }}"),
        pair("tokenizer.ggml.fim_pre_token_id", U32, 0),
        pair("tokenizer.ggml.middle_token_id", U32, 1),
    ]
    for key, value in {"head_count": 4, "head_count_kv": 2, **attention}.items():
        name = f"tiny.attention.{key}"
        metadata.append(array(name, U32, value) if isinstance(value, list) else pair(name, U32, value))
    parts = [("token_embd.weight", (width, len(tokens)), 0, width * len(tokens) * 4)]
    parts += [(f"blk.{i}.attn_q.weight", (width, width), 8, width * width // 32 * 34) for i in range(layers)]
    parts += [("output_norm.weight", (width,), 0, width * 4)]
    parts += [("output.weight", (width, len(tokens)), 2, width * len(tokens) // 32 * 18)]
    offset, lines = 0, []
    for name, shape, kind, size in parts:
        lines.append(tensor(name, shape, kind, offset))
        offset += padded(size)
    return File(metadata, lines, b"\1" * offset)
