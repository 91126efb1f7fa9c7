"""A GGUF header as facts for people and programs. Everything in it comes from a file that nobody has vouched for."""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from paceline.engine.vocabulary import SHARED_MARKERS, is_for_code
from paceline.errors import ModelError
from paceline.models.download import human
from paceline.models.header import Header
from paceline.text import strip_controls

LONGEST_TEXT: Final = 200  # characters of a text from the file that are shown

# Texts of the markers in vocabularies, as llama.cpp looks for them (llama-vocab.cpp, "find FIM_PRE token" and so on),
# and those that engine.vocabulary knows besides.
FIM_TEXTS: Final[Mapping[str, Sequence[str]]] = {
    "prefix": (
        "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>",  # noqa: RUF001
        "<[fim-prefix]>", "[PREFIX]",
    ),
    "suffix": (
        "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>",  # noqa: RUF001
        "<[fim-suffix]>", "[SUFFIX]",
    ),
    "middle": (
        "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>",  # noqa: RUF001
        "<[fim-middle]>", "[MIDDLE]",
    ),
}  # fmt: skip


def facts(header: Header, listed: str = "") -> dict[str, Any]:
    """What the header says; None where it is silent, and a text that begins with "damaged" where it is nonsense.

    listed: the licence that the catalogue has for this file, where the file says none.
    """
    licence = _fact(lambda: _text(header.metadata.get("general.license")))
    return {
        "path": str(header.path),
        "bytes": header.file_bytes,
        "gguf_version": header.version,
        "name": _fact(lambda: _text(header.name)),
        "architecture": _fact(lambda: _text(header.architecture)),
        "parameters": header.parameters,
        "quantisation": _fact(lambda: header.quantisation),
        "context": _fact(lambda: header.context_length or None),
        "layers": _fact(lambda: header.layers or None),
        "embedding": _fact(lambda: header.embedding or None),
        "vocabulary": _fact(lambda: header.vocab_size or None),
        "chat_template": _fact(lambda: bool(header.chat_template)),
        "fim": list(fim_markers(header)),
        "tensors": len(header.tensors),
        "kv_bytes_per_token": _fact(lambda: header.kv_bytes_per_token("f16") or None),
        "licence": licence or listed or None,
        "licence_from": "file" if licence else "catalogue" if listed else None,
        "shards": _fact(lambda: header.shards),
    }


def rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts as lines for a person."""

    def number(key: str, unit: str = "") -> str:
        value = found[key]
        return f"{value:,}{unit}" if isinstance(value, int) else str(value or "not said")

    markers = ", ".join(found["fim"])
    complete = len(found["fim"]) == len(FIM_TEXTS)
    lines = [
        ("file", found["path"]),
        ("size", f"{human(found['bytes'])} ({found['bytes']:,} bytes)"),
        ("format", f"GGUF version {found['gguf_version']}, {found['tensors']} tensors"),
        ("name", str(found["name"])),
        ("architecture", str(found["architecture"])),
        ("parameters", number("parameters")),
        ("quantisation", str(found["quantisation"])),
        ("trained context", number("context", " tokens")),
        ("layers", number("layers")),
        ("embedding", number("embedding", " wide")),
        ("vocabulary", number("vocabulary", " tokens")),
        ("KV cache", number("kv_bytes_per_token", " bytes a token (f16)")),
        ("chat template", _yes_no(found["chat_template"])),
        ("infilling", f"yes: {markers} markers" if complete else f"no: markers found: {markers or 'none'}"),
        ("licence", _licence(found)),
    ]
    if isinstance(found["shards"], int) and found["shards"] > 1:
        lines.append(("split", f"over {found['shards']} files; tensors and parameters are those of this one"))
    return lines


def fim_markers(header: Header) -> tuple[str, ...]:
    """Which markers the file has, by its metadata or by its vocabulary: of "prefix", "suffix", "middle".

    The vocabulary is searched for each text with its length in front, as the format stores it; a bounded read. Markers
    that a model without training for them may have count where its names say that it is for code.
    """
    named = header.fim
    if len(named) == len(FIM_TEXTS):
        return named
    mine = is_for_code([*header.naming, header.path.stem])
    with header.path.open("rb") as file:
        raw = file.read(header.data_offset)

    def stored(text: str) -> bytes:
        data = text.encode()
        return struct.pack("<Q", len(data)) + data

    return tuple(
        role
        for role, texts in FIM_TEXTS.items()
        if role in named or any(stored(text) in raw for text in texts if mine or text not in SHARED_MARKERS)
    )


def _licence(found: Mapping[str, Any]) -> str:
    said = str(found["licence"] or "not said")
    return f"{said}, by the catalogue" if found["licence_from"] == "catalogue" else said


def _fact(read: Callable[[], Any]) -> Any:  # noqa: ANN401 - any value that JSON has
    try:
        return read()
    except ModelError as error:
        return f"damaged: {error.message}"


def _text(value: object) -> str | None:
    """A text from the file on one line, short, without anything a terminal would act upon."""
    if not isinstance(value, str):
        return None
    line = " ".join(strip_controls(value).split())
    return line if len(line) <= LONGEST_TEXT else line[:LONGEST_TEXT] + "…"


def _yes_no(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
