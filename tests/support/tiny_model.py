"""Writes tiny real GGUF models that llama.cpp loads in milliseconds.

Architecture "llama", one layer unless more are asked for, 64 wide, F32; byte-level BPE with ChatML and, if wanted,
fill-in-the-middle markers. The weights are random, but arranged so that greedy text is printable, varied, and follows
from its context: each token has a favourite successor, and attention over the text before it changes that choice now
and then.

    VOCABULARY: ids 0-255 are the bytes, then a few merges, a spare token that no merge makes, then the specials.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf
import numpy as np

WIDTH, HEADS, KV_HEADS, FEED = 64, 4, 2, 96
MERGES = ("Ġ t", "h e", "i n", "r e", "o n", "Ġ a", "d e", "f o", "Ġt he", "fo r", "Ġ =", "Ċ Ġ", "r n", "re t", "de f")
SPARE = 256 + len(MERGES)  # an ordinary token that nothing depends on; its text may be changed
FIM = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *FIM)
SEED = ("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>")  # the same markers of models that read the suffix first
CODESTRAL = ("[PREFIX]", "[SUFFIX]", "[MIDDLE]")
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tiny_model(
    path: Path,
    *,
    seed: int = 0,
    noise: float = 0.0,
    noise_seed: int = 1,
    context: int = 2048,
    fim: bool = True,
    template: bool = True,
    extra_tokens: int = 0,
    token_changes: Mapping[int, str] = {},
    truncate: int | None = None,
    layers: int = 1,
    feed: int = FEED,
    merges: Sequence[str] = MERGES,
    specials_first: bool = False,
    endless: bool = False,
    called: str = "tiny",
) -> Path:
    """Write the model and return its path.

    `noise` changes every weight by so much of its matrix's spread: the same `seed` with 0.05 makes a draft that agrees
    on most tokens. `extra_tokens` are unused entries at the vocabulary's end, as padding is. `token_changes` gives
    entries another text. `truncate` keeps only so many bytes of the file; negative: all but so many. `layers` of a
    feed-forward part `feed` wide make a model as slow as a test needs it. `merges`, some of MERGES, and
    `specials_first` make another vocabulary, in which equal texts mean the same to the model. `endless`: no
    answer ends by itself, and each of its tokens is a printable ASCII character.
    `called` is its name in the metadata.
    """
    tokens, types = _vocabulary(fim, extra_tokens, token_changes)
    kept = _kept(len(tokens), merges, specials_first)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(called)
    _describe(writer, [tokens[i] for i in kept], [types[i] for i in kept], merges, context, template, layers, feed)
    for name, weights in _weights(len(tokens), seed, layers, feed, endless).items():
        if name in ("token_embd.weight", "output.weight"):
            weights = weights[kept]
        if noise:
            random = np.random.default_rng([noise_seed, sum(name.encode())])
            weights = weights + noise * weights.std() * random.standard_normal(weights.shape)
        writer.add_tensor(name, weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if truncate is not None:
        path.write_bytes(path.read_bytes()[:truncate])
    return path


def _kept(n_tokens: int, merges: Sequence[str], specials_first: bool) -> list[int]:
    """The tokens that a smaller vocabulary keeps of the usual one, in its order."""
    gone = {256 + i for i, merge in enumerate(MERGES) if merge not in merges}
    kept = [i for i in range(n_tokens) if i not in gone]
    return sorted(kept, key=lambda i: (not SPARE < i <= SPARE + len(SPECIALS), i)) if specials_first else kept


def renamed(markers: Sequence[str]) -> dict[int, str]:
    """`token_changes` that give the markers of filling in the middle other texts."""
    return {special(usual): text for usual, text in zip(FIM, markers, strict=True)}


def special(text: str, *, fim: bool = True) -> int:
    """The id of a special token."""
    return _vocabulary(fim, 0, {})[0].index(text)


def _byte_characters() -> list[str]:
    """GPT-2's characters for the 256 bytes: printable ones stand for themselves, the others move up from 256."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(moved)) for byte in range(256)]


def _vocabulary(fim: bool, extra: int, changes: Mapping[int, str]) -> tuple[list[str], list[int]]:
    ordinary = [*_byte_characters(), *("".join(merge.split(" ")) for merge in MERGES), "spare"]
    specials = [text if fim or text not in FIM else f"<|reserved_{i}|>" for i, text in enumerate(SPECIALS)]
    padding = [f"[PAD{i}]" for i in range(extra)]
    kinds = [gguf.TokenType.NORMAL, gguf.TokenType.CONTROL, gguf.TokenType.UNUSED]
    groups = (ordinary, specials, padding)
    types = [int(kind) for kind, group in zip(kinds, groups, strict=True) for _ in group]
    tokens = [*ordinary, *specials, *padding]
    return [changes.get(i, text) for i, text in enumerate(tokens)], types


def _describe(
    writer: gguf.GGUFWriter,
    tokens: list[str],
    types: list[int],
    merges: Sequence[str],
    context: int,
    template: bool,
    layers: int,
    feed: int,
) -> None:
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(list(merges))
    first = types.index(int(gguf.TokenType.CONTROL))
    writer.add_bos_token_id(first)
    writer.add_eos_token_id(first + 2)
    writer.add_add_bos_token(False)
    if template:
        writer.add_chat_template(CHATML)


def _weights(n_tokens: int, seed: int, layers: int, feed: int, endless: bool) -> dict[str, np.ndarray]:
    """All matrices, as (outputs, inputs).

    The first input dimension is the same for every token, so the output matrix's first column is a bias: it keeps to
    printable ASCII and makes the end of an answer rare.
    """
    random = np.random.default_rng(seed)
    embedding = random.standard_normal((n_tokens, WIDTH))
    embedding[:, 0] = 1.0
    successor = random.permutation(n_tokens)
    output = np.empty((n_tokens, WIDTH))
    output[successor] = 0.25 * embedding
    output += 0.2 * random.standard_normal(output.shape)
    output[:, 0] = -100.0 if endless else -14.0
    output[32:127, 0] = output[10, 0] = 0.0
    if not endless:
        output[256:SPARE, 0] = 0.0
        output[SPARE + 3, 0] = -3.0

    def matrix(rows: int, columns: int, scale: float) -> np.ndarray:
        return scale / np.sqrt(columns) * random.standard_normal((rows, columns))

    def layer() -> dict[str, np.ndarray]:
        head = WIDTH // HEADS
        inner = {
            "attn_q": matrix(WIDTH, WIDTH, 2.0),
            "attn_k": matrix(KV_HEADS * head, WIDTH, 2.0),
            "attn_v": matrix(KV_HEADS * head, WIDTH, 1.0),
            "attn_output": matrix(WIDTH, WIDTH, 1.5),
            "ffn_gate": matrix(feed, WIDTH, 1.0),
            "ffn_up": matrix(feed, WIDTH, 1.0),
            "ffn_down": matrix(WIDTH, feed, 1.0),
        }
        inner["attn_output"][0] = inner["ffn_down"][0] = 0.0  # the bias stays as it is
        return {**{name: np.ones(WIDTH) for name in ("attn_norm", "ffn_norm")}, **inner}

    return {
        "token_embd.weight": embedding,
        "output_norm.weight": np.ones(WIDTH),
        "output.weight": output,
        **{f"blk.{at}.{name}.weight": weights for at in range(layers) for name, weights in layer().items()},
    }
