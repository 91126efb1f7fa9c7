"""Plans for machines that exist only as data: what goes where, what is given up first, and which pair is chosen."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.config import EngineConfig
from paceline.errors import ConfigError, ModelError, ResourceError
from paceline.models.choose import kv_bytes_estimate
from paceline.models.fit import Candidate, Plan, choose, plan
from paceline.models.hardware import GPU, Hardware
from paceline.models.header import Header, TensorInfo, Value
from paceline.models.offload import costs, fill, fits, most_layers, room, spread
from paceline.plan import Device

GB = 10**9
MB = 10**6
MIB = 1 << 20


def header(
    name: str, layers: int, block: int, ends: int, width: int, trained: int = 32768, tied: bool = False
) -> Header:
    """A model of 12 heads of which 2 keep keys and values; a block, and each end, takes so many bytes of weights."""
    metadata: dict[str, Value] = {
        "general.architecture": "tiny",
        "general.name": name,
        "tiny.block_count": layers,
        "tiny.context_length": trained,
        "tiny.embedding_length": width,
        "tiny.attention.head_count": 12,
        "tiny.attention.head_count_kv": 2,
        "tiny.vocab_size": 151936,
    }
    sizes = {"token_embd.weight": ends, **{f"blk.{i}.w": block for i in range(layers)}, "output_norm.weight": 6144}
    if not tied:
        sizes["output.weight"] = ends
    tensors = tuple(TensorInfo(tensor, (1,), "F32", 0, size) for tensor, size in sizes.items())
    return Header(Path(f"{name}.gguf"), 3, metadata, tensors, 0, sum(sizes.values()))


TARGET = header("target", 28, 28 * MB, 150 * MB, 1536)  # like a 1.5B in 4 bits: 28,672 bytes of KV cache a token
DRAFT = header("draft", 24, 10 * MB, 100 * MB, 768)
LARGE = header("large", 64, 290 * MB, 500 * MB, 5120)


def machine(memory: float = 24, cores: int = 2, disk: float = 80, gpus: tuple[GPU, ...] = ()) -> Hardware:
    """`memory` and `disk` in GB, both all free."""
    return Hardware("Linux", "x86_64", "CPU", cores, cores, int(memory * GB), int(memory * GB), int(disk * GB), gpus)


def cards(*free: float) -> list[Device]:
    """Accelerators with so many GB free."""
    return [Device(i, f"CUDA{i}", "a card", int(size * GB), int(size * GB)) for i, size in enumerate(free)]


def on(made: Plan, where: str, what: str = "") -> int:
    return sum(item.bytes for item in made.memory if item.where == where and what in item.what)


def test_without_accelerators_all_stays_on_the_cpu() -> None:
    made = plan(TARGET, DRAFT, machine(), [], EngineConfig())
    assert made.draft is not None
    assert (made.target.gpu_layers, made.draft.gpu_layers) == (0, 0)
    assert (made.target.n_ctx, made.draft.n_ctx) == (8192, 8192)
    assert (made.target.n_threads, made.target.n_batch, made.target.kv_type) == (2, 512, "f16")
    assert {item.where for item in made.memory} == {"CPU"}
    assert any("29 of 29 layers of the target on the CPU: there is no accelerator" in reason for reason in made.reasons)
    assert made.warnings == ()


def test_cpu_weights_are_counted_with_their_repacked_copy() -> None:
    made = plan(TARGET, None, machine(), [], EngineConfig())
    assert made.draft is None
    assert on(made, "CPU", "weights") == pytest.approx(1.6 * TARGET.file_bytes, rel=1e-6)
    assert on(made, "CPU", "KV cache") == 28672 * 8192


def test_a_card_with_room_gets_everything_but_the_input_layers() -> None:
    made = plan(TARGET, DRAFT, machine(), cards(23.5), EngineConfig())
    assert made.draft is not None
    assert (made.target.gpu_layers, made.draft.gpu_layers) == (29, 25)
    assert on(made, "CPU", "weights") == pytest.approx(1.6 * 250 * MB)
    assert on(made, "CPU", "KV") == 0
    assert made.target.n_ctx == 16384  # 0.7 GB of KV cache; for 32768 it would be 1.4 of the allowed 1.2
    assert any(reason.startswith("29 of 29 layers of the target on CUDA0 (") for reason in made.reasons)
    assert any("of 23.5 GB free)" in reason for reason in made.reasons)


def test_a_huge_card_gets_the_longest_context() -> None:
    assert plan(LARGE, DRAFT, machine(), cards(192), EngineConfig()).target.n_ctx == 32768


def test_a_longer_context_never_drives_a_layer_off_the_card() -> None:
    tight = header("tight", 28, 130 * MB, 150 * MB, 1536)  # 4.24 GB with 4096 tokens of context, 4.36 with 8192
    made = plan(tight, None, machine(), cards(4.83), EngineConfig())  # 4.29 without the margin
    assert (made.target.gpu_layers, made.target.n_ctx) == (29, 4096)
    assert plan(tight, None, machine(), cards(4.95), EngineConfig()).target.n_ctx == 8192


def test_a_small_card_gets_the_target_before_the_draft() -> None:
    made = plan(TARGET, DRAFT, machine(), cards(2.0), EngineConfig())
    assert made.draft is not None
    assert made.target.gpu_layers == 29
    assert made.draft.gpu_layers < 25
    assert any("layers of the draft on the CPU: no more fits on CUDA0" in reason for reason in made.reasons)


def test_of_a_model_that_is_too_large_the_last_layers_go() -> None:
    made = plan(LARGE, None, machine(memory=64), cards(4), EngineConfig())
    layers = made.target.gpu_layers
    assert 0 < layers < 65
    # the output layer counts as one and goes first
    assert on(made, "CUDA0", "weights") == (layers - 1) * 290 * MB + 500 * MB + 6144
    assert on(made, "CPU", "weights") == pytest.approx(1.6 * ((65 - layers) * 290 * MB + 500 * MB), rel=1e-9)
    total = 64 * 2 * 2 * 426 * 2 * made.target.n_ctx  # heads of 5120 // 12 elements
    assert on(made, "CUDA0", "KV") + on(made, "CPU", "KV") == total


def test_tied_weights_are_copied_to_the_card() -> None:
    tied = header("tied", 28, 28 * MB, 150 * MB, 1536, tied=True)
    made = plan(tied, None, machine(), cards(23.5), EngineConfig())
    assert on(made, "CUDA0", "weights") == 28 * 28 * MB + 150 * MB + 6144
    assert on(made, "CPU", "weights") == pytest.approx(1.6 * 150 * MB)


def test_a_model_too_large_for_one_card_is_split_in_whole_layers() -> None:
    made = plan(LARGE, None, machine(), cards(8, 16), EngineConfig())
    assert made.target.gpu_layers == 65
    assert sum(made.target.tensor_split) == 65
    assert 0 < made.target.tensor_split[0] < made.target.tensor_split[1]
    for device in cards(8, 16):
        assert 0 < on(made, device.name) <= room(device)


def test_a_model_that_fits_on_one_card_goes_to_the_emptiest_alone() -> None:
    made = plan(TARGET, None, machine(), cards(4, 24), EngineConfig())
    assert made.target.tensor_split == (0.0, 29.0)
    assert made.target.main_gpu == 1
    assert on(made, "CUDA0") == 0


def test_main_gpu_is_filled_before_an_emptier_card() -> None:
    made = plan(TARGET, None, machine(), cards(24, 12), EngineConfig(main_gpu=1))
    assert made.target.tensor_split == (0.0, 29.0)


def test_configured_shares_are_kept() -> None:
    made = plan(TARGET, None, machine(), cards(24, 24), EngineConfig(tensor_split=(1.0, 3.0)))
    assert made.target.tensor_split == (1.0, 3.0)
    assert on(made, "CUDA0", "weights") == 8 * 28 * MB  # 29 layers: the first 8 are less than a quarter of the way


# --- what a person sets ---


def test_an_explicit_number_of_layers_is_honoured() -> None:
    made = plan(TARGET, DRAFT, machine(), cards(24), EngineConfig(gpu_layers=10))
    assert made.draft is not None
    assert (made.target.gpu_layers, made.draft.gpu_layers) == (10, 10)
    assert made.warnings == ()
    assert any("engine.gpu_layers is 10" in reason for reason in made.reasons)


def test_more_layers_than_there_are_mean_all() -> None:
    made = plan(TARGET, None, machine(), cards(24), EngineConfig(gpu_layers=999))
    assert made.target.gpu_layers == 29


@pytest.mark.parametrize("free", [(1.2,), (0.9, 0.9), (0.1,)])
def test_layers_that_do_not_fit_are_warned_about(free: tuple[float, ...]) -> None:
    made = plan(TARGET, None, machine(), cards(*free), EngineConfig(gpu_layers=29))
    assert made.target.gpu_layers == 29
    assert any("29 layers of the target, as configured, take about" in warning for warning in made.warnings)


def test_no_layers_mean_no_layers() -> None:
    made = plan(TARGET, DRAFT, machine(), cards(24), EngineConfig(gpu_layers=0))
    assert made.target.gpu_layers == 0
    assert made.target.n_ctx == 8192
    assert on(made, "CUDA0") == 0


def test_layers_without_a_card_are_warned_about() -> None:
    made = plan(TARGET, None, machine(), [], EngineConfig(gpu_layers=10))
    assert made.target.gpu_layers == 0
    assert any("no accelerator" in warning for warning in made.warnings)


def test_a_configured_context_is_kept_even_beyond_training_with_a_warning() -> None:
    made = plan(TARGET, DRAFT, machine(), [], EngineConfig(context=50_000))
    assert made.target.n_ctx == 50_000
    assert any("more than the 32768 that the target was trained on" in warning for warning in made.warnings)
    assert any("draft" in warning for warning in made.warnings)


@pytest.mark.parametrize("trained", [512, 2048, 4096, 6000, 131072])
def test_the_chosen_context_is_within_the_trained_one(trained: int) -> None:
    short = header("short", 28, 28 * MB, 150 * MB, 1536, trained=trained)
    made = plan(short, None, machine(), [], EngineConfig())
    assert made.target.n_ctx == max([n for n in (4096, 8192) if n <= trained], default=trained)
    assert made.target.n_batch <= made.target.n_ctx


def test_threads_are_taken_as_set_and_warned_about_beyond_the_cores() -> None:
    made = plan(TARGET, None, machine(cores=2), [], EngineConfig(threads=8))
    assert made.target.n_threads == 8
    assert any("only 2 physical cores" in warning for warning in made.warnings)


def test_engine_settings_reach_both_models() -> None:
    engine = EngineConfig(kv_type="q8_0", batch=128)
    made = plan(TARGET, DRAFT, machine(), [], engine)
    assert made.draft is not None
    for options in (made.target, made.draft):
        assert (options.kv_type, options.n_batch, options.flash_attention) == ("q8_0", 128, True)
    half = on(plan(TARGET, None, machine(), [], EngineConfig()), "CPU", "KV")
    assert on(plan(TARGET, None, machine(), [], engine), "CPU", "KV") == half * 34 // 64


def test_without_flash_attention_the_scores_take_memory() -> None:
    flash = plan(TARGET, None, machine(), [], EngineConfig(context=8192))
    plain = plan(TARGET, None, machine(), [], EngineConfig(context=8192, flash_attention=False))
    assert on(plain, "CPU", "compute") - on(flash, "CPU", "compute") == 512 * 8192 * 12 * 4


@pytest.mark.parametrize(
    ("engine", "cause"),
    [
        (EngineConfig(kv_type="q4_0", flash_attention=False), "needs flash attention"),
        (EngineConfig(tensor_split=(0.0, 0.0)), "not all 0"),
        (EngineConfig(tensor_split=(-1.0, 2.0)), "0 or more"),
        (EngineConfig(tensor_split=(float("nan"), 1.0)), "0 or more"),
        (EngineConfig(tensor_split=(1.0, 1.0, 1.0)), "3 shares for 2 devices"),
    ],
)
def test_settings_that_llama_cpp_would_refuse_are_refused(engine: EngineConfig, cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        plan(TARGET, None, machine(), cards(24, 24), engine)


def test_a_file_without_layers_is_no_model() -> None:
    with pytest.raises(ModelError, match="no layers"):
        plan(header("vision", 0, 0, 100, 64), None, machine(), [], EngineConfig())


def test_a_model_in_several_files_is_warned_about() -> None:
    shard = replace(TARGET, metadata={**TARGET.metadata, "split.count": 3})
    assert any("split over 3 files" in warning for warning in plan(shard, None, machine(), [], EngineConfig()).warnings)


# --- too little memory ---


def needed(target: Header, draft: Header | None, n_ctx: int) -> float:
    """GB that the pair takes on a CPU with this context."""
    return on(plan(target, draft, machine(memory=1000), [], EngineConfig(context=n_ctx)), "CPU") / GB


def test_first_the_context_shrinks_then_the_draft_goes_then_it_is_refused() -> None:
    seen = []
    steps = [needed(TARGET, DRAFT, 4096), needed(TARGET, DRAFT, 2048), needed(TARGET, None, 2048)]
    for memory in [steps[0], steps[1], steps[2]]:
        made = plan(TARGET, DRAFT, machine(memory=memory + 0.001), [], EngineConfig())
        seen.append((made.target.n_ctx, made.draft is not None))
    assert seen == [(4096, True), (2048, True), (2048, False)]
    with pytest.raises(ResourceError) as caught:
        plan(TARGET, DRAFT, machine(memory=steps[2] - 0.001), [], EngineConfig())
    assert f"needs {steps[2]:.1f} GB" in caught.value.message
    assert "are available" in caught.value.message
    assert "smaller pair" in caught.value.hint


@pytest.mark.parametrize("free", [size / 50 for size in range(195, 216)])
def test_a_context_made_smaller_moves_no_layers(free: float) -> None:
    plenty = plan(LARGE, None, machine(memory=1000), cards(free), EngineConfig())
    scarce = plan(LARGE, None, machine(memory=on(plenty, "CPU") / GB - 0.001), cards(free), EngineConfig())
    assert (plenty.target.n_ctx, scarce.target.n_ctx) == (4096, 2048)
    assert scarce.target.gpu_layers == plenty.target.gpu_layers


def test_every_step_down_is_explained() -> None:
    memory = needed(TARGET, None, 4096) + 0.001
    made = plan(TARGET, DRAFT, machine(memory=memory), [], EngineConfig())
    assert [reason[:48] for reason in made.reasons if reason.startswith("not ")] == [
        "not target and draft with 4096 tokens of context",
        "not target and draft with 2048 tokens of context",
    ]
    assert made.target.n_ctx == 4096  # without the draft it need not be so small


def test_a_configured_context_is_never_made_smaller() -> None:
    memory = needed(TARGET, DRAFT, 8192) - 0.001
    made = plan(TARGET, DRAFT, machine(memory=memory), [], EngineConfig(context=8192))
    assert (made.target.n_ctx, made.draft) == (8192, None)
    with pytest.raises(ResourceError, match="available") as caught:
        plan(TARGET, DRAFT, machine(memory=0.5), [], EngineConfig(context=8192))
    assert "engine.context" in caught.value.hint


def test_what_a_card_holds_needs_no_main_memory() -> None:
    memory = needed(TARGET, None, 2048) / 2
    assert plan(TARGET, None, machine(memory=memory), cards(24), EngineConfig()).target.gpu_layers == 29


def test_on_unified_memory_it_does() -> None:
    apple = machine(memory=1.0, gpus=(GPU("apple", "M4", None),))
    with pytest.raises(ResourceError):
        plan(TARGET, None, apple, cards(24), EngineConfig())


def test_unknown_memory_is_no_reason_to_refuse() -> None:
    made = plan(TARGET, DRAFT, replace(machine(), memory_available=0), [], EngineConfig())
    assert made.draft is not None
    assert any("could not be found out" in warning for warning in made.warnings)


# --- properties ---

MODELS = st.sampled_from([TARGET, DRAFT, LARGE])
FREE = st.lists(st.floats(0, 30), min_size=0, max_size=3)


@settings(max_examples=80, deadline=None)
@given(target=MODELS, draft=st.sampled_from([None, DRAFT]), free=FREE, memory=st.floats(2, 100))
def test_no_device_is_ever_filled_beyond_its_room(
    target: Header, draft: Header | None, free: list[float], memory: float
) -> None:
    devices = cards(*free)
    try:
        made = plan(target, draft, machine(memory=memory), devices, EngineConfig())
    except ResourceError:
        return
    for device in devices:
        assert on(made, device.name) <= max(0, device.memory_free - max(512 * MIB, 0.05 * device.memory_free) + 1)
    assert on(made, "CPU") <= memory * GB


@settings(max_examples=80, deadline=None)
@given(
    target=MODELS, free=st.lists(st.floats(0, 30), min_size=1, max_size=3), more=st.floats(0, 10), at=st.integers(0, 2)
)
def test_more_memory_on_a_card_never_means_fewer_layers(
    target: Header, free: list[float], more: float, at: int
) -> None:
    before = plan(target, DRAFT, machine(memory=100), cards(*free), EngineConfig())
    free[at % len(free)] += more
    after = plan(target, DRAFT, machine(memory=100), cards(*free), EngineConfig())
    assert after.target.gpu_layers >= before.target.gpu_layers


@settings(max_examples=50, deadline=None)
@given(free=st.floats(0, 20), memory=st.floats(1, 60), more=st.floats(0, 60))
def test_more_main_memory_never_means_fewer_layers_or_no_draft(free: float, memory: float, more: float) -> None:
    try:
        before = plan(LARGE, DRAFT, machine(memory=memory), cards(free), EngineConfig())
    except ResourceError:
        return
    after = plan(LARGE, DRAFT, machine(memory=memory + more), cards(free), EngineConfig())
    assert after.target.gpu_layers >= before.target.gpu_layers
    assert after.draft is not None or before.draft is None


def dealt(count: int, shares: list[float]) -> tuple[int, ...]:
    """llama.cpp's rule in its own arithmetic, 32-bit floats: cumulate, normalise, upper_bound."""
    bounds = np.cumsum(np.array(shares, dtype=np.float32), dtype=np.float32)
    bounds = bounds / bounds[-1]
    places = [np.searchsorted(bounds, np.float32(i) / np.float32(count), side="right") for i in range(count)]
    return tuple(sum(place == device for place in places) for device in range(len(shares)))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4).filter(any))
def test_a_split_in_layers_is_dealt_out_exactly(layers: list[int]) -> None:
    assert spread(sum(layers), layers) == tuple(layers) == dealt(sum(layers), [float(n) for n in layers])


@given(st.integers(1, 65), st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0]), min_size=1, max_size=4).filter(any))
def test_shares_are_dealt_out_as_llama_cpp_does(count: int, shares: list[float]) -> None:
    assert sum(spread(count, shares)) == count
    for ours, theirs in zip(spread(count, shares), dealt(count, shares), strict=True):
        assert abs(ours - theirs) <= 1  # rounding of thirds may fall either way


LAYERS = st.lists(st.integers(1, 9), min_size=1, max_size=6)
ROOMS = st.lists(st.integers(0, 25), min_size=1, max_size=3)


def splits(count: int, devices: int) -> list[tuple[int, ...]]:
    return [s for s in itertools.product(range(count + 1), repeat=devices) if sum(s) == count]


@given(LAYERS, ROOMS, st.integers(0, 4))
def test_laying_layers_greedily_finds_a_way_wherever_there_is_one(
    layers: list[int], rooms: list[int], fixed: int
) -> None:
    possible = any(fits(layers, split, rooms, fixed) for split in splits(len(layers), len(rooms)))
    found = fill(layers, rooms, fixed)
    assert (found is not None) == possible
    assert found is None or fits(layers, found, rooms, fixed)


@given(LAYERS, ROOMS, st.integers(0, 4), st.randoms())
def test_as_many_last_layers_are_placed_as_any_way_could(layers, rooms, fixed, random) -> None:
    best = max(
        count
        for count in range(len(layers) + 1)
        if any(fits(layers, split, rooms, fixed) for split in splits(count, len(rooms)))
    )
    order = random.sample(range(len(rooms)), len(rooms))
    assert sum(most_layers(layers, rooms, fixed, order, ())) == best


def test_compute_buffers_are_the_logits_and_eight_activations() -> None:
    cost = costs("target", TARGET, EngineConfig(), 512)
    assert cost.compute(8192) == 512 * (151936 + 8 * 1536) * 4
    assert cost.compute(8192, with_output=False) == 512 * 8 * 1536 * 4


# --- which pair ---

PAIRS = [
    Candidate("0.5B", 491_400_064, 0, 0.49e9),
    Candidate("1.5B", 1_117_320_768, 491_400_064, 1.5e9),
    Candidate("1.5B-q8", 1_894_531_584, 491_400_064, 1.5e9),
    Candidate("3B", 2_104_931_456, 491_400_064, 3.1e9),
    Candidate("7B", 4_683_073_248, 491_400_064, 7.6e9),
    Candidate("14B", 8_988_110_240, 491_400_064, 14.8e9),
    Candidate("32B", 19_851_335_840, 491_400_064, 32.8e9),
    Candidate("70B", 42_520_395_584, 491_400_064, 70.6e9),
]


@pytest.mark.parametrize(
    ("hardware", "devices", "pair"),
    [
        (machine(memory=25, cores=2), [], "1.5B"),
        (machine(memory=25, cores=1), [], "0.5B"),
        (machine(memory=25, cores=4), [], "3B"),
        (machine(memory=250, cores=64), [], "3B"),  # bandwidth, not cores
        (machine(memory=8, cores=8), [], "0.5B"),  # a quarter of 8 GB
        (machine(cores=2), cards(0.5), "1.5B"),  # a card too small for anything: as if there were none
        (machine(cores=1), cards(4), "1.5B"),
        (machine(), cards(8), "3B"),
        (machine(), cards(12), "7B"),
        (machine(), cards(24), "14B"),
        (machine(), cards(12, 24), "32B"),
        (machine(), cards(140), "32B"),
    ],
)
def test_the_pair_for_a_machine(hardware: Hardware, devices: list[Device], pair: str) -> None:
    for candidates in (PAIRS, PAIRS[::-1]):
        choice = choose(candidates, hardware, devices)
        assert choice.pair_id == pair
        assert f"{pair} is the largest pair that" in choice.reason


def test_where_nothing_suits_the_smallest_is_taken_and_says_so() -> None:
    choice = choose(PAIRS[1:], machine(memory=1, cores=1), [])
    assert choice.pair_id == "1.5B"
    assert "no pair will be comfortable" in choice.reason


def test_a_download_larger_than_the_disk_is_passed_over() -> None:
    choice = choose(PAIRS, machine(memory=25, disk=1.2), [])
    assert choice.pair_id == "0.5B"
    assert "1.5B is passed over: its 1.6 GB exceed the 1.2 GB free" in choice.reason


def test_where_no_download_fits_on_the_disk_it_says_so() -> None:
    choice = choose(PAIRS, machine(disk=0.3), [])
    assert choice.pair_id == "0.5B"
    assert "no pair fits on the disk" in choice.reason


def test_disk_and_memory_that_nobody_knows_do_not_count() -> None:
    unknown = replace(machine(cores=2), disk_free=0, memory_available=0)
    assert choose(PAIRS, unknown, []).pair_id == "1.5B"


def test_nothing_to_choose_from_is_an_error() -> None:
    with pytest.raises(ModelError, match="no pair"):
        choose([], machine(), [])


@pytest.mark.parametrize(
    ("billions", "layers", "kv_width"),
    [(0.49, 24, 128), (1.5, 28, 256), (3.1, 36, 256), (7.6, 28, 512), (14.8, 48, 1024), (32.8, 64, 1024)],
)
def test_the_guess_of_the_kv_cache_is_never_below_the_qwen_family(billions: float, layers: int, kv_width: int) -> None:
    draft = 24 * 128 * 2 * 2
    assert kv_bytes_estimate(billions * 1e9) >= layers * kv_width * 2 * 2 + draft


@pytest.mark.parametrize("context", [1, 70, 255])
def test_a_context_below_llama_cpp_s_own_step_is_refused(context):
    with pytest.raises(ConfigError, match=f"engine.context is {context}"):
        plan(TARGET, None, machine(), (), EngineConfig(context=context))
