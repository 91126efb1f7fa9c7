"""What the engine is told about the machine: plain data, shared by those who plan and those who load."""

from dataclasses import dataclass
from typing import Literal

KVType = Literal["f16", "q8_0", "q4_0"]


@dataclass(frozen=True)
class Device:
    """An accelerator that this build of llama.cpp can use. Sizes in bytes."""

    index: int
    name: str  # llama.cpp's name, e.g. "CUDA0"
    description: str  # the maker's name, e.g. "NVIDIA H200"
    memory_total: int
    memory_free: int


@dataclass(frozen=True)
class LoadOptions:
    """How one model is to be loaded. Nothing in here is a wish: every number has been decided."""

    n_ctx: int = 8192  # tokens of context
    n_batch: int = 512  # tokens in one llama_decode; prefill goes in chunks of this size
    n_threads: int = 1
    gpu_layers: int = 0  # layers kept on the accelerators, output layer counted as one
    main_gpu: int = 0
    tensor_split: tuple[float, ...] = ()  # share of each device; empty: llama.cpp decides
    flash_attention: bool = True
    kv_type: KVType = "f16"
    use_mmap: bool = True
