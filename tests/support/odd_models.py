"""Tiny GGUFs of other kinds than the usual: a recurrent model (Mamba) and an embedding model (BERT)."""

from pathlib import Path

import gguf
import numpy as np

from support import tiny_model as tiny

WIDTH, INNER, STATE, KERNEL, STEP = 64, 128, 16, 4, 4


def write_recurrent_model(path: Path) -> Path:
    """One Mamba block with the tiny model's vocabulary. Its memory cannot drop a sequence's tail."""
    writer, tokens, random = _begin(path, "mamba")
    writer.add_context_length(2048)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(KERNEL)
    writer.add_ssm_inner_size(INNER)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(STEP)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_merges(list(tiny.MERGES))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_chat_template(tiny.CHATML)
    tensors = {
        "token_embd.weight": random(len(tokens), WIDTH),
        "output_norm.weight": np.ones(WIDTH, np.float32),
        "output.weight": random(len(tokens), WIDTH),
        "blk.0.attn_norm.weight": np.ones(WIDTH, np.float32),
        "blk.0.ssm_in.weight": random(2 * INNER, WIDTH),
        "blk.0.ssm_conv1d.weight": random(INNER, KERNEL),
        "blk.0.ssm_conv1d.bias": random(INNER),
        "blk.0.ssm_x.weight": random(STEP + 2 * STATE, INNER),
        "blk.0.ssm_dt.weight": random(INNER, STEP),
        "blk.0.ssm_dt.bias": random(INNER),
        "blk.0.ssm_a": -np.abs(random(INNER, STATE)),
        "blk.0.ssm_d": random(INNER),
        "blk.0.ssm_out.weight": random(WIDTH, INNER),
    }
    return _end(writer, path, tensors)


def write_embedding_model(path: Path) -> Path:
    """One BERT block: it reads, and cannot write."""
    writer, tokens, random = _begin(path, "bert")
    writer.add_context_length(512)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(4)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(2)
    writer.add_chat_template(tiny.CHATML)
    tensors = {
        "token_embd.weight": random(len(tokens), WIDTH),
        "token_types.weight": random(2, WIDTH),
        "position_embd.weight": random(512, WIDTH),
        "blk.0.ffn_up.weight": random(INNER, WIDTH),
        "blk.0.ffn_up.bias": random(INNER),
        "blk.0.ffn_down.weight": random(WIDTH, INNER),
        "blk.0.ffn_down.bias": random(WIDTH),
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensors[f"blk.0.{name}.weight"] = random(WIDTH, WIDTH)
        tensors[f"blk.0.{name}.bias"] = random(WIDTH)
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        tensors[f"{name}.weight"] = np.ones(WIDTH, np.float32)
        tensors[f"{name}.bias"] = np.zeros(WIDTH, np.float32)
    return _end(writer, path, tensors)


def _begin(path, architecture):
    tokens, types = tiny._vocabulary(True, 0, {})
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    generator = np.random.default_rng(0)
    return writer, tokens, lambda *shape: (generator.standard_normal(shape) * 0.2).astype(np.float32)


def _end(writer, path, tensors):
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
