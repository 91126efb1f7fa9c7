"""Machines to replay on: what a decode of m tokens costs on them, for the target and for the draft model.

Figures of others are what they published, as milliseconds = m / (tokens per second) * 1000. None of them measured this
pair, and only ratios to t(1) decide anything here, so each curve stands for its kind of machine: nearly flat, flat with
a first step, stairs. Where nobody published a draft's costs they follow from the memory roofline: decoding reads every
weight once, so a token of the draft costs what its weights are of the target's (491 MB of 1117 MB), and its curve has
the target's shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from paceline.engine.costs import SIZES, CostCurve

WEIGHTS = 491 / 1117  # bytes of the draft over bytes of the target: Qwen2.5-Coder 0.5B and 1.5B, Q4_K_M


@dataclass(frozen=True)
class Machine:
    """`target`, `draft`: what decodes cost. `source`: where the figures come from."""

    name: str
    source: str
    target: CostCurve
    draft: CostCurve

    def measured(self, curve: CostCurve) -> CostCurve:
        """What the measurement at set-up would find: the sizes it looks at, and lines between them."""
        return CostCurve(SIZES, tuple(curve.at(m) for m in SIZES))


def roofline(name: str, source: str, costs: Mapping[int, float]) -> Machine:
    """A machine of which the target's costs are known."""
    target = CostCurve(tuple(costs), tuple(costs.values()))
    draft = CostCurve(target.sizes, tuple(cost * WEIGHTS for cost in target.milliseconds))
    return Machine(name, source, target, draft)


def at_rates(rates: Mapping[int, float]) -> dict[int, float]:
    """Milliseconds by size, from tokens per second."""
    return {m: round(m / rate * 1000, 3) for m, rate in rates.items()}


HERE = Machine(
    "here",
    "measured by paceline: 2 cores of an AMD EPYC with AVX-512, Qwen2.5-Coder 1.5B and 0.5B Q4_K_M, 2 threads",
    CostCurve(
        (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64),
        (27.4, 44.5, 57.0, 70.5, 88.4, 103.4, 121.5, 143.4, 149.4, 145.1, 190.4, 218.7, 253.3, 360.5, 438.5),
    ),
    CostCurve(
        (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64),
        (16.7, 34.4, 43.6, 46.9, 64.2, 69.8, 63.8, 83.7, 75.0, 80.5, 106.5, 122.7, 152.1, 215.2, 261.4),
    ),
)

AVX2 = Machine(
    "avx2",
    "measured by llama-cpp-python: 2 cores with AVX2, the same pair; the middle of the ranges seen",
    CostCurve(
        (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64),
        tuple(58 * x for x in (1, 1.8, 2.55, 3.2, 3.8, 4.7, 7.0, 8.7, 9.8, 15, 18, 35)),
    ),
    CostCurve(
        (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64),
        tuple(37 * x for x in (1, 1.8, 2.5, 2.6, 3.5, 3.65, 5.0, 6.5, 7.9, 11.5, 15.5, 30)),
    ),
)

# Three points, straight lines between them: what vLLM takes for a step with 1, 10 and 60 sequences.
A100 = roofline(
    "a100",
    "vLLM, Mistral 7B FP16 on an NVIDIA A100, tokens per second at batch sizes 1, 10, 60: github.com/ggml-org/llama.cpp"
    "/issues/3479, after Mystic AI's guide to fast inference",
    at_rates({1: 46, 10: 400, 60: 1800}),
)

RTX3090 = roofline(
    "rtx3090",
    "llama.cpp, Gemma 2B F16 on an RTX 3090, pp16384 by size of the micro-batch: "
    "github.com/ggml-org/llama.cpp/pull/12014 (to 24) and /pull/11583 (32 and 64)",
    at_rates(
        {
            1: 161.85,
            2: 259.87,
            3: 383.88,
            4: 521.12,
            6: 736.19,
            8: 972.83,
            12: 1399.32,
            16: 1859.05,
            24: 2700.83,
            32: 3371.60,
            64: 5460.72,
        }
    ),
)

MI50 = roofline(
    "mi50",
    "llama.cpp, Qwen3.8 27B Q8_0 on one AMD MI50, a forward pass by number of tokens: "
    "github.com/mxxm-t/mx-llama.cpp/issues/10",
    {1: 47.6, 2: 57.0, 4: 63.7, 8: 94.5, 9: 152.9, 13: 156.2, 16: 158.6, 32: 168.5, 33: 270.8, 64: 290.1},
)

MACHINES = {machine.name: machine for machine in (HERE, AVX2, A100, RTX3090, MI50)}
