"""Which layers go onto which accelerator: the arithmetic alone, in bytes.

llama.cpp keeps the *last* `gpu_layers` layers on accelerators, the output layer being the last of all
(llama_model::load_tensors: `i_gpu_start = n_layer + 1 - n_gpu_layers`), and deals them out in order, so that the
first device gets the first of them. The input layer always stays with the CPU. A layer's KV cache lives where the
layer does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from paceline.config import EngineConfig
from paceline.errors import ModelError
from paceline.models.header import Header
from paceline.plan import Device

_MARGIN_LEAST: Final = 512 << 20
_MARGIN_SHARE: Final = 0.05
REPACKED: Final = 1.6  # llama.cpp keeps many CPU weights a second time, in the order its kernels read them


@dataclass(frozen=True)
class Costs:
    """What a model's parts take, in bytes, under one configuration."""

    role: str  # "target" or "draft"
    name: str
    trained: int  # tokens of context the model was trained on; 0: unknown
    blocks: tuple[int, ...]  # weights of each block
    kv: tuple[int, ...]  # KV cache of one token, of each block
    embedding: int  # weights of the input layer
    output: int  # weights of the output layer, where it lives with the input layer
    output_alone: int  # and where it does not: tied weights are copied
    batch: int  # tokens in one decode
    vocabulary: int  # tokens
    width: int  # of the residual stream, elements
    attention: int  # bytes of attention scores in a batch, for each token of context; 0 with flash attention

    @property
    def layers(self) -> int:
        """Blocks and the output layer: as many as gpu_layers can count."""
        return len(self.blocks) + 1

    def device_layers(self, n_ctx: int) -> list[int]:
        """Bytes of each layer with its KV cache on an accelerator, first block first, the output layer last."""
        weights = zip(self.blocks, self.kv, strict=True)
        return [*(block + kv * n_ctx for block, kv in weights), self.output_alone]

    def host_weights(self, gpu_layers: int) -> int:
        """Bytes of weights that stay in main memory, with their repacked copies."""
        blocks = self.blocks[: self.layers - gpu_layers] if gpu_layers else self.blocks
        return int(REPACKED * (self.embedding + sum(blocks) + (0 if gpu_layers else self.output)))

    def host_kv(self, gpu_layers: int, n_ctx: int) -> int:
        """Bytes of KV cache in main memory."""
        return n_ctx * sum(self.kv[: self.layers - gpu_layers] if gpu_layers else self.kv)

    def compute(self, n_ctx: int, with_output: bool = True) -> int:
        """Bytes of compute buffers on one device: batch x (vocabulary + 8 x width) x 4, plus attention scores.

        The logits of a whole batch are by far the largest tensor of the graph; eight activations as wide as the
        residual stream cover the rest, since ggml's allocator reuses their space. Without flash attention the
        scores (batch x context x heads, F32) exist at once.
        """
        return self.batch * 4 * ((self.vocabulary if with_output else 0) + 8 * self.width) + self.attention * n_ctx


def costs(role: str, header: Header, engine: EngineConfig, n_batch: int) -> Costs:
    """A model's costs from its header. Raises ModelError where the file holds no language model."""
    weights = header.layer_bytes()
    if not weights.blocks or not sum(weights.blocks):
        raise ModelError(f"{header.path} has no layers", "it is not a language model; take another file")
    heads = header.metadata.get(f"{header.architecture}.attention.head_count", 0)
    most = max(heads, default=0) if isinstance(heads, tuple) else heads
    scores = most * n_batch * 4 if isinstance(most, int) and not engine.flash_attention else 0
    return Costs(
        role=role,
        name=header.name,
        trained=header.context_length,
        blocks=weights.blocks,
        kv=header.kv_layer_bytes(engine.kv_type),
        embedding=weights.embedding,
        output=weights.output,
        output_alone=weights.output + (weights.embedding if weights.tied else 0),
        batch=n_batch,
        vocabulary=header.vocab_size,
        width=header.embedding,
        attention=scores,
    )


def room(device: Device) -> int:
    """Bytes of a device that may be planned for: what is free less max(512 MiB, 5 %) for others and the unforeseen."""
    return max(0, device.memory_free - max(_MARGIN_LEAST, int(_MARGIN_SHARE * device.memory_free)))


def spread(count: int, shares: Sequence[float]) -> tuple[int, ...]:
    """How many of `count` layers llama.cpp gives to each device for these shares.

    Layer i of count goes to the first device whose cumulated, normalised share exceeds i / count
    (std::upper_bound in llama_model::load_tensors). Whole numbers that add up to `count` come back unchanged.
    """
    total = sum(shares)
    bounds = [sum_so_far / total for sum_so_far in accumulate(shares)]
    given = [0] * len(shares)
    for layer in range(count):
        given[next((i for i, bound in enumerate(bounds) if bound > layer / count), len(shares) - 1)] += 1
    return tuple(given)


def fill(layers: Sequence[int], rooms: Sequence[int], fixed: int) -> tuple[int, ...] | None:
    """Lay layers into rooms, in order, as many as each holds; None where some are left over.

    A room that receives any layer pays `fixed` bytes as well. Being greedy is optimal here: after each room, no
    other way has more layers placed. So more room never means fewer layers.
    """
    given, at = [], 0
    for space in rooms:
        start, left = at, space - fixed
        while at < len(layers) and layers[at] <= left:
            left -= layers[at]
            at += 1
        given.append(at - start)
    return tuple(given) if at == len(layers) else None


def arrange(layers: Sequence[int], rooms: Sequence[int], fixed: int, order: Sequence[int]) -> tuple[int, ...] | None:
    """Lay all layers into as few rooms as will do, taking rooms in the given order; None where all are too few."""
    for used in range(1, len(order) + 1):
        chosen = set(order[:used])
        given = fill(layers, [space if i in chosen else -1 for i, space in enumerate(rooms)], fixed)
        if given is not None:
            return given
    return None


def fits(layers: Sequence[int], given: Sequence[int], rooms: Sequence[int], fixed: int) -> bool:
    """Whether these numbers of layers, dealt out in order, fit into the rooms."""
    return all(use <= space for use, space in zip(usage(layers, given, fixed), rooms, strict=True))


def usage(layers: Sequence[int], given: Sequence[int], fixed: int) -> list[int]:
    """Bytes that each device takes when the last sum(given) layers are dealt out in order."""
    at, taken = len(layers) - sum(given), []
    for count in given:
        taken.append(sum(layers[at : at + count]) + (fixed if count else 0))
        at += count
    return taken


def most_layers(
    layers: Sequence[int], rooms: Sequence[int], fixed: int, order: Sequence[int], shares: Sequence[float]
) -> tuple[int, ...]:
    """The largest number of last layers that fits, dealt out over the devices; by `shares` where there are any."""
    for count in range(len(layers), 0, -1):
        given: tuple[int, ...] | None
        if shares:
            given = spread(count, shares)
            given = given if fits(layers, given, rooms, fixed) else None
        else:
            given = arrange(layers[-count:], rooms, fixed, order)
        if given is not None:
            return given
    return (0,) * len(rooms)
