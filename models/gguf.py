"""A bounded reader of GGUF headers: what a model file says about itself, without loading it.

The layout is the GGUF specification's (ggml/docs/gguf.md): magic, version, two counts, metadata, tensor table, and
then the weights from the next aligned offset on. Every count, length and offset comes from a file that may be cut
short or made to do harm, so each is checked against the bytes that are left and against an absolute limit before
it is used.
"""

import math
import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from paceline.errors import ModelError
from paceline.models.header import (
    PULL_AGAIN,
    TENSOR_TYPES,
    ArrayInfo,
    Header,
    LayerBytes,
    Scalar,
    TensorInfo,
    Value,
    damaged,
    show,
)

__all__ = ["ArrayInfo", "Header", "LayerBytes", "TensorInfo", "read_header"]

# The largest real headers hold a few hundred thousand tokens and merges in some 30 MB, under a few hundred keys.
_MAX_HEADER: Final = 128 << 20  # bytes
_MAX_KEYS: Final = 1 << 16
_MAX_TENSORS: Final = 1 << 16
_MAX_KEY_BYTES: Final = (1 << 16) - 1  # the specification's
_MAX_NAME_BYTES: Final = 127  # ggml's own limit is 63, builds may raise it
_MAX_STRINGS: Final = 4_000_000  # in all arrays together
_MAX_DIMENSIONS: Final = 4  # GGML_MAX_DIMS
_MAX_ELEMENTS: Final = 1 << 62
_KEEP_ELEMENTS: Final = 1024  # longer arrays are kept as ArrayInfo; per-layer arrays are far shorter
_KEEP_TEXT: Final = 1 << 20  # bytes; longer texts too
_CHUNK: Final = 1 << 20  # bytes read from the file at a time

_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")
_TEXT: Final = 8
_ARRAY: Final = 9
_SCALARS: Final[dict[int, tuple[str, struct.Struct]]] = {
    0: ("uint8", struct.Struct("<B")),
    1: ("int8", struct.Struct("<b")),
    2: ("uint16", struct.Struct("<H")),
    3: ("int16", struct.Struct("<h")),
    4: ("uint32", _U32),
    5: ("int32", struct.Struct("<i")),
    6: ("float32", struct.Struct("<f")),
    7: ("bool", struct.Struct("<?")),
    10: ("uint64", _U64),
    11: ("int64", struct.Struct("<q")),
    12: ("float64", struct.Struct("<d")),
}


def read_header(path: Path) -> Header:
    """Read and check a file's header; the weights are not touched.

    Raises ModelError, with a hint, where the file is missing, unreadable, not a GGUF, of another version or byte
    order, truncated, or contradicts itself.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{path} is not a file", "name a .gguf file")
        with path.open("rb") as file:
            return _parse(_Reader(file, os.fstat(file.fileno()).st_size, path))
    except FileNotFoundError as error:
        raise ModelError(f"there is no file {path}", "`paceline models list` shows what is here") from error
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}", "check the file and its permissions") from error


class _Reader:
    """The file from front to back, in chunks; nothing past its end or past the header's limit is ever asked for."""

    def __init__(self, file: BinaryIO, size: int, path: Path) -> None:
        self.path = path
        self.size = size
        self._file = file
        self._base = 0  # where the chunk begins in the file
        self._chunk = b""
        self._at = 0  # the next byte, in the chunk
        self._strings_left = _MAX_STRINGS

    @property
    def position(self) -> int:
        return self._base + self._at

    def require(self, count: int, what: str) -> None:
        """Raise ModelError unless the file and the limit leave `count` more bytes."""
        if count > self.size - self.position:
            missing = count - (self.size - self.position)
            raise ModelError(
                f"{self.path} is truncated: it ends in {what}, at least {missing} bytes are missing", PULL_AGAIN
            )
        if self.position + count > _MAX_HEADER:
            raise damaged(self.path, f"{what} goes beyond {_MAX_HEADER >> 20} MiB, which no header needs")

    def take(self, count: int, what: str) -> bytes:
        if self._at + count > len(self._chunk):
            self.require(count, what)
            self._refill(max(count, _CHUNK))
            if len(self._chunk) < count:
                raise ModelError(f"{self.path} became shorter while it was read", PULL_AGAIN)
        self._at += count
        return self._chunk[self._at - count : self._at]

    def skip(self, count: int, what: str) -> None:
        if self._at + count > len(self._chunk):
            self.require(count, what)
        self._at += count

    def number(self, form: struct.Struct, what: str) -> int:
        value: int = form.unpack(self.take(form.size, what))[0]
        return value

    def text(self, what: str, most: int) -> str:
        """A length and that many bytes of UTF-8, strictly: for keys and names."""
        length = self.number(_U64, what)
        if length > most:
            raise damaged(self.path, f"{what} is {length} bytes long, more than {most}")
        try:
            return self.take(length, what).decode("utf-8")
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"{what} is not valid UTF-8") from error

    def skip_strings(self, count: int, what: str) -> None:
        """Pass over `count` strings. The only loop as long as a vocabulary, so it works on local names."""
        if count > self._strings_left:
            raise damaged(self.path, f"{what} brings the strings in its arrays above {_MAX_STRINGS}")
        self._strings_left -= count
        unpack, chunk, at = _U64.unpack_from, self._chunk, self._at
        for _ in range(count):
            if at + 8 > len(chunk):
                self._at = at
                self.require(8, what)
                self._refill(_CHUNK)
                chunk, at = self._chunk, 0
                if len(chunk) < 8:
                    raise ModelError(f"{self.path} became shorter while it was read", PULL_AGAIN)
            at += 8 + unpack(chunk, at)[0]
            if at > len(chunk):
                self._at = at
                self.require(0, what)
        self._at = at

    def _refill(self, count: int) -> None:
        self._base += self._at
        self._at = 0
        self._file.seek(self._base)
        self._chunk = self._file.read(count)


def _parse(reader: _Reader) -> Header:
    version = _version(reader)
    tensor_count = reader.number(_U64, "its counts")
    key_count = reader.number(_U64, "its counts")
    for count, most, least, what in (
        (key_count, _MAX_KEYS, 13, "metadata keys"),  # a key's length, a type, one byte of value
        (tensor_count, _MAX_TENSORS, 24, "tensors"),  # a name's length, dimensions, type, offset
    ):
        if count > most:
            raise damaged(reader.path, f"it declares {count} {what}, more than {most}")
        reader.require(count * least, f"its {count} {what}")
    metadata = _metadata(reader, key_count)
    entries: dict[str, _Entry] = {}
    for _ in range(tensor_count):
        entry = _tensor(reader)
        if entry.name in entries:
            raise damaged(reader.path, f"the tensor {show(entry.name)} occurs twice")
        entries[entry.name] = entry
    return _layout(reader, version, metadata, list(entries.values()))


def _version(reader: _Reader) -> int:
    path = reader.path
    if reader.size == 0:
        raise ModelError(f"{path} is empty", PULL_AGAIN)
    magic = reader.take(min(4, reader.size), "its first bytes")
    if magic == b"FUGG":
        raise ModelError(f"{path} is a big-endian GGUF", "get the little-endian file of the same model")
    if magic != b"GGUF":
        raise ModelError(f"{path} is not a GGUF file", "name a .gguf file, or get it again if it should be one")
    version = reader.number(_U32, "its version")
    if version & 0xFFFF == 0 and version:
        raise ModelError(f"{path} is a big-endian GGUF", "get the little-endian file of the same model")
    if version not in (2, 3):
        raise ModelError(
            f"{path} is GGUF version {version}; versions 2 and 3 can be read", "get a current file of the same model"
        )
    return version


def _metadata(reader: _Reader, count: int) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for _ in range(count):
        key = reader.text("a metadata key", _MAX_KEY_BYTES)
        if key in found:
            raise damaged(reader.path, f"the metadata key {show(key)} occurs twice")
        kind = reader.number(_U32, "a metadata type")
        found[key] = _array(reader, key) if kind == _ARRAY else _value(reader, kind, key)
    return found


def _value(reader: _Reader, kind: int, key: str) -> Scalar | ArrayInfo:
    if kind == _TEXT:
        length = reader.number(_U64, "a text")
        if length > _KEEP_TEXT:
            reader.skip(length, "a text")
            return ArrayInfo("text", length)
        return reader.take(length, "a text").decode("utf-8", errors="replace")
    if kind not in _SCALARS:
        raise damaged(reader.path, f"the metadata key {show(key)} has the unknown type {kind}")
    form = _SCALARS[kind][1]
    value: Scalar = form.unpack(reader.take(form.size, "a metadata value"))[0]
    return value


def _array(reader: _Reader, key: str) -> Value:
    kind = reader.number(_U32, "an array's type")
    length = reader.number(_U64, "an array's length")
    what = f"the array {show(key)} of {length} elements"
    if kind == _ARRAY:
        raise damaged(reader.path, f"the metadata key {show(key)} is an array of arrays, which llama.cpp cannot read")
    if kind != _TEXT and kind not in _SCALARS:
        raise damaged(reader.path, f"the array {show(key)} has the unknown element type {kind}")
    size = 8 if kind == _TEXT else _SCALARS[kind][1].size  # a string is at least its length
    reader.require(length * size, what)
    if length <= _KEEP_ELEMENTS:
        values = tuple(_value(reader, kind, key) for _ in range(length))
        kept = tuple(value for value in values if not isinstance(value, ArrayInfo))
        return kept if len(kept) == length else ArrayInfo("string", length)
    if kind == _TEXT:
        reader.skip_strings(length, what)
        return ArrayInfo("string", length)
    reader.skip(length * size, what)
    return ArrayInfo(_SCALARS[kind][0], length)


@dataclass(frozen=True)
class _Entry:
    """A tensor as the table gives it; bytes are None where the type is unknown."""

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    bytes: int | None


def _tensor(reader: _Reader) -> _Entry:
    name = reader.text("a tensor's name", _MAX_NAME_BYTES)
    dimensions = reader.number(_U32, "the tensor table")
    if dimensions > _MAX_DIMENSIONS:
        raise damaged(reader.path, f"the tensor {show(name)} has {dimensions} dimensions, more than 4")
    shape = tuple(reader.number(_U64, "the tensor table") for _ in range(dimensions))
    kind = reader.number(_U32, "the tensor table")
    offset = reader.number(_U64, "the tensor table")
    elements = math.prod(shape)
    if not 0 < elements < _MAX_ELEMENTS:
        raise damaged(reader.path, f"the tensor {show(name)} has the impossible shape {shape}")
    if kind not in TENSOR_TYPES:
        return _Entry(name, shape, f"type {kind}", offset, None)
    type_name, block, size = TENSOR_TYPES[kind]
    if (shape[0] if shape else 1) % block:
        raise damaged(reader.path, f"the rows of {show(name)} are not whole blocks of {block} ({type_name})")
    return _Entry(name, shape, type_name, offset, elements // block * size)


def _layout(reader: _Reader, version: int, metadata: dict[str, Value], entries: list[_Entry]) -> Header:
    """Where the weights lie: aligned, inside the file, none in another's place."""
    path, size = reader.path, reader.size
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or not 0 < alignment <= 1 << 30 or alignment & (alignment - 1):
        raise damaged(path, f"its alignment is {show(alignment)}, not a power of two")
    data_offset = -(-reader.position // alignment) * alignment
    end = 0
    whole = sum(-(-(entry.bytes or 0) // alignment) * alignment for entry in entries)  # laid out without gaps
    tensors: dict[str, TensorInfo] = {}
    ordered = sorted(entries, key=lambda entry: entry.offset)
    for entry, after in zip(ordered, [*ordered, None][1:], strict=True):
        if entry.offset % alignment:
            raise damaged(path, f"the tensor {show(entry.name)} starts at {entry.offset}, not on {alignment} bytes")
        if entry.offset < end:
            raise damaged(path, f"the tensor {show(entry.name)} lies over the one before it")
        if entry.offset > max(whole, size - data_offset):
            raise damaged(path, f"the tensor {show(entry.name)} starts at {entry.offset}, past the end of the file")
        limit = after.offset if after else max(size - data_offset, entry.offset)
        length = entry.bytes if entry.bytes is not None else limit - entry.offset
        end = entry.offset + length
        tensors[entry.name] = TensorInfo(entry.name, entry.shape, entry.type, entry.offset, length)
    if entries and data_offset + end > size:
        missing = data_offset + end - size
        raise ModelError(f"{path} is truncated: {missing} bytes of {data_offset + end} are missing", PULL_AGAIN)
    return Header(path, version, metadata, tuple(tensors[entry.name] for entry in entries), data_offset, size)
