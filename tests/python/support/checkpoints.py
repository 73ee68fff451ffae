"""Checkpoints without weights: tensors of published models in header-only files.

Names and shapes are as in the classes of transformers, written here from their code and not from the reader.
"""

import json
import math
import re
from pathlib import Path

import numpy as np

from support.lazy import Lazy

gguf = Lazy("gguf")

DTYPES = {"BF16": 2, "F32": 4, "F8_E4M3": 1, "U8": 1, "I32": 4, "F16": 2}


def layout(config):
    """Tensors of a model in Hugging Face names: shapes by name."""
    c = {"attention_bias": False, "tie_word_embeddings": False, **config}
    kind, d, layers = c["model_type"], c["hidden_size"], c["num_hidden_layers"]
    tensors = {"model.embed_tokens.weight": (c["vocab_size"], d), "model.norm.weight": (d,)}
    tied = config.get("tie_word_embeddings", kind.startswith("gemma"))
    if not tied:
        tensors["lm_head.weight"] = (c["vocab_size"], d)
    for i in range(layers + c.get("num_nextn_predict_layers", 0) * (kind == "deepseek_v3")):
        block = {**_norms(kind, d), **_attention(c, kind, d), **_feed_forward(c, kind, d, i)}
        if i >= layers:
            block |= {"enorm.weight": (d,), "hnorm.weight": (d,), "eh_proj.weight": (d, 2 * d)}
            block |= {"embed_tokens.weight": (c["vocab_size"], d), "shared_head.head.weight": (c["vocab_size"], d)}
            block |= {"shared_head.norm.weight": (d,)}
        tensors |= {f"model.layers.{i}.{name}": shape for name, shape in block.items()}
    return tensors


def _norms(kind, d):
    names = ["input_layernorm", "post_attention_layernorm"]
    names += ["pre_feedforward_layernorm", "post_feedforward_layernorm"] * kind.startswith(("gemma2", "gemma3"))
    return {f"{name}.weight": (d,) for name in names}


def _attention(c, kind, d):
    heads = c["num_attention_heads"]
    if "kv_lora_rank" in c:
        q, kv, rope = c["q_lora_rank"], c["kv_lora_rank"], c["qk_rope_head_dim"]
        nope, v = c["qk_nope_head_dim"], c["v_head_dim"]
        result = {
            "q_a_proj.weight": (q, d),
            "q_a_layernorm.weight": (q,),
            "q_b_proj.weight": (heads * (nope + rope), q),
            "kv_a_proj_with_mqa.weight": (kv + rope, d),
            "kv_a_layernorm.weight": (kv,),
            "kv_b_proj.weight": (heads * (nope + v), kv),
            "o_proj.weight": (d, heads * v),
        }
        return {f"self_attn.{name}": shape for name, shape in result.items()}
    size, keys = c.get("head_dim") or d // heads, c.get("num_key_value_heads", heads)
    widths = {"q_proj": heads * size, "k_proj": keys * size, "v_proj": keys * size}
    result = {f"{name}.weight": (width, d) for name, width in widths.items()} | {"o_proj.weight": (d, heads * size)}
    if kind == "qwen2" or c["attention_bias"] or kind == "gpt_oss":
        result |= {f"{name}.bias": (width,) for name, width in widths.items()}
    if kind == "gpt_oss":
        result |= {"o_proj.bias": (d,), "sinks": (heads,)}
    if kind.startswith(("qwen3", "gemma3")):
        result |= {"q_norm.weight": (size,), "k_norm.weight": (size,)}
    return {f"self_attn.{name}": shape for name, shape in result.items()}


def _feed_forward(c, kind, d, i):
    experts = c.get("n_routed_experts") or c.get("num_experts") or c.get("num_local_experts") or 0
    if not experts or i < c.get("first_k_dense_replace", 0):
        return {f"mlp.{name}": shape for name, shape in _gated(d, c["intermediate_size"]).items()}
    width = c.get("moe_intermediate_size") or c["intermediate_size"]
    if kind == "gpt_oss":
        return {
            "mlp.router.weight": (experts, d),
            "mlp.router.bias": (experts,),
            "mlp.experts.gate_up_proj": (experts, d, 2 * width),
            "mlp.experts.gate_up_proj_bias": (experts, 2 * width),
            "mlp.experts.down_proj": (experts, width, d),
            "mlp.experts.down_proj_bias": (experts, d),
        }
    if kind == "mixtral":
        result = {f"w{k}.weight": (d, width) if k == 2 else (width, d) for k in (1, 2, 3)}
        each = {f"block_sparse_moe.experts.{e}.{name}": shape for e in range(experts) for name, shape in result.items()}
        return {"block_sparse_moe.gate.weight": (experts, d), **each}
    each = {f"mlp.experts.{e}.{name}": shape for e in range(experts) for name, shape in _gated(d, width).items()}
    result = {"mlp.gate.weight": (experts, d), **each}
    if shared := c.get("n_shared_experts", 0):
        result |= {f"mlp.shared_experts.{name}": shape for name, shape in _gated(d, shared * width).items()}
    if kind == "deepseek_v3":
        result["mlp.gate.e_score_correction_bias"] = (experts,)
    return result


def _gated(d, width):
    return {"gate_proj.weight": (width, d), "up_proj.weight": (width, d), "down_proj.weight": (d, width)}


# ------------------------------------------------------------------------------------------------------- safetensors


def stored(tensors, form="bf16"):
    """Tensors of a checkpoint in a format: dtype and shape by name."""
    result = {}
    for name, shape in tensors.items():
        inner = re.search(r"(self_attn|mlp)\.", name) and name.endswith("_proj.weight")
        if "e_score" in name:
            result[name] = ("F32", shape)
        elif form == "fp8" and inner:
            result[name] = ("F8_E4M3", shape)
            result[f"{name}_scale_inv"] = ("F32", tuple(math.ceil(side / 128) for side in shape))
        elif form == "mxfp4" and re.search(r"experts\.(gate_up|down)_proj$", name):
            experts, into, out = shape
            result[f"{name}_blocks"] = ("U8", (experts, out, into // 32, 16))
            result[f"{name}_scales"] = ("U8", (experts, out, into // 32))
        elif form == "nvfp4" and inner and "experts." in name:
            result[name] = ("U8", (shape[0], shape[1] // 2))
            result[f"{name}_scale"] = ("F8_E4M3", (shape[0], shape[1] // 16))
            result[f"{name}_scale_2"] = ("F32", ())
            result[name.replace("weight", "input_scale")] = ("F32", ())
        elif form == "gptq" and inner:
            stem, (out, into) = name.removesuffix("weight"), shape
            result[f"{stem}qweight"] = ("I32", (into // 8, out))
            result[f"{stem}qzeros"] = ("I32", (into // 128, out // 8))
            result[f"{stem}scales"] = ("F16", (into // 128, out))
            result[f"{stem}g_idx"] = ("I32", (into,))
        else:
            result[name] = ("BF16", shape)
    return result


def bytes_of(dtype, shape):
    return DTYPES[dtype] * math.prod(shape)


def header_of(tensors):
    """The header of a safetensors file, and the bytes behind it."""
    entries, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape) in tensors.items():
        size = bytes_of(dtype, shape)
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8), at


def write_safetensors(path, tensors):
    """A file with its header, and a hole in the place of the weights."""
    text, size = header_of(tensors)
    with Path(path).open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + size)


def write_shards(folder, tensors, count):
    """A model in several files with their index."""
    names = sorted(tensors)
    where = {name: f"model-{k % count + 1:05}-of-{count:05}.safetensors" for k, name in enumerate(names)}
    for file in sorted(set(where.values())):
        write_safetensors(folder / file, {name: tensors[name] for name in names if where[name] == file})
    index = {"metadata": {"total_size": sum(bytes_of(*t) for t in tensors.values())}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


# -------------------------------------------------------------------------------------------------------------- GGUF


ARCH = {
    "mixtral": "llama",
    "mistral": "llama",
    "qwen3_moe": "qwen3moe",
    "deepseek_v3": "deepseek2",
    "gpt_oss": "gpt-oss",
}


def ggml_tensors(config):
    """Tensors of a model in the names of llama.cpp: shapes by name."""
    kind = config["model_type"]
    arch = next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == ARCH.get(kind, kind))
    total = config["num_hidden_layers"] + config.get("num_nextn_predict_layers", 0) * (kind == "deepseek_v3")
    names = gguf.get_tensor_name_map(arch, total)
    result = {}
    for name, shape in layout(config).items():
        block = re.match(r"model\.layers\.(\d+)\.", name)
        if block and int(block[1]) >= config["num_hidden_layers"]:
            continue  # the converter of this architecture leaves them out
        for part, sides in _converted(name, shape, config):
            stem, ending = re.fullmatch(r"(.*?)(\.weight|\.bias|)", part).groups()
            mapped = names.get_name(re.sub(r"experts\.\d+\.", "experts.", stem))
            assert mapped, part
            mapped += ending or ".weight"
            if mapped in result:  # experts are stacked
                result[mapped] = (result[mapped][0] + 1, *sides)
            else:
                result[mapped] = (1, *sides) if re.search(r"experts\.\d+\.", part) else sides
    if kind in ("llama", "gpt_oss"):
        result["rope_freqs.weight"] = (config.get("head_dim") or 128,)
    return result


def _converted(name, shape, config):
    """Converted tensors: names up to the numbers of experts, and shapes."""
    if "mlp.gate.e_score_correction_bias" in name:
        return [(name.replace("e_score_correction_bias", "e_score_correction.bias"), shape)]
    if "kv_b_proj" in name:
        heads, nope, v = config["num_attention_heads"], config["qk_nope_head_dim"], config["v_head_dim"]
        rank = config["kv_lora_rank"]
        return [
            (name.replace("kv_b_proj", "k_b_proj"), (heads, rank, nope)),
            (name.replace("kv_b_proj", "v_b_proj"), (heads, v, rank)),
        ]
    if "gate_up_proj" in name:
        out = [config["num_local_experts"], config["intermediate_size"], config["hidden_size"]]
        out = out[:2] if name.endswith("_bias") else out
        ending = ".bias" if name.endswith("_bias") else ".weight"
        stem = name.partition("gate_up_proj")[0]
        return [(f"{stem}{half}_proj{ending}", tuple(out)) for half in ("gate", "up")]
    if re.search(r"experts\.down_proj(_bias)?$", name):
        ending = ".bias" if name.endswith("_bias") else ".weight"
        return [(name.removesuffix("_bias") + ending, shape if ending == ".bias" else (shape[0], shape[2], shape[1]))]
    if "self_attn.sinks" in name:
        return [(f"{name}.weight", shape)]
    return [(name, shape)]


def quantized(tensors, kind):
    """Kind of each tensor of a mixture: small ones in 32 bits, tables in Q6_K."""
    types = gguf.GGMLQuantizationType
    small = {name for name, shape in tensors.items() if len(shape) < 2 or "ffn_gate_inp" in name or "bias" in name}
    return {
        name: types.F32
        if name in small
        else types.BF16
        if kind == "BF16" or shape[-1] % gguf.GGML_QUANT_SIZES[types[kind]][0]
        else types.Q6_K
        if kind == "Q4_K" and name in ("token_embd.weight", "output.weight")
        else types.Q8_0
        if kind == "MXFP4" and "_exps" not in name
        else types[kind]
        for name, shape in tensors.items()
    }


def write_gguf(path, config, kind="BF16", *, tokens=0, name="test", split=0, **extra):
    """A file by the writer of the `gguf` package, with a hole in the place of the weights.

    Returns the kind of each tensor.
    """
    tensors = ggml_tensors(config)
    kinds = quantized(tensors, kind)
    model = config["model_type"]
    writer = gguf.GGUFWriter(path, ARCH.get(model, model), split_max_tensors=split)
    writer.add_name(name)
    _add_sizes(writer, config)
    if kind in ("Q4_K", "Q8_0", "MXFP4"):
        writer.add_file_type({"Q4_K": 15, "Q8_0": 7, "MXFP4": 38}[kind])
    for key, value in extra.items():
        writer.add_uint32(f"{writer.arch}.{key}", value)
    if tokens:
        writer.add_token_list([f"<{k}>" for k in range(tokens)])
        writer.add_token_scores([0.0] * tokens)
        writer.add_token_merges([f"a b{k}" for k in range(tokens)])
    sizes = {}
    for tensor, shape in tensors.items():
        block, size = gguf.GGML_QUANT_SIZES[kinds[tensor]]
        sizes[tensor] = math.prod(shape) // block * size
        writer.add_tensor_info(tensor, shape, np.dtype(np.float16), sizes[tensor], raw_dtype=kinds[tensor])
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for out, stored_size in zip(writer.fout, writer.tensors, strict=True):
        start = out.tell() + -out.tell() % 32
        out.truncate(start + sum(sizes[t] + -sizes[t] % 32 for t in stored_size))
    writer.close()
    return kinds, sizes


def _add_sizes(writer, c):
    heads, kind = c["num_attention_heads"], c["model_type"]
    writer.add_block_count(c["num_hidden_layers"])
    writer.add_context_length(c.get("max_position_embeddings", 4096))
    writer.add_embedding_length(c["hidden_size"])
    writer.add_feed_forward_length(c["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    experts = c.get("n_routed_experts") or c.get("num_experts") or c.get("num_local_experts") or 0
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(c["num_experts_per_tok"])
    if c.get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(c["moe_intermediate_size"])
    if kind == "gpt_oss":
        writer.add_expert_feed_forward_length(c["intermediate_size"])
    if "kv_lora_rank" in c:
        rope, nope, rank = c["qk_rope_head_dim"], c["qk_nope_head_dim"], c["kv_lora_rank"]
        writer.add_head_count_kv(1)
        writer.add_q_lora_rank(c["q_lora_rank"])
        writer.add_kv_lora_rank(rank)
        writer.add_key_length(rank + rope)
        writer.add_value_length(rank)
        writer.add_key_length_mla(nope + rope)
        writer.add_value_length_mla(c["v_head_dim"])
        writer.add_rope_dimension_count(rope)
        writer.add_leading_dense_block_count(c["first_k_dense_replace"])
        writer.add_expert_shared_count(c["n_shared_experts"])
        writer.add_expert_weights_scale(2.5)
        return
    writer.add_head_count_kv(c.get("num_key_value_heads", heads))
    if c.get("head_dim"):
        writer.add_key_length(c["head_dim"])
        writer.add_value_length(c["head_dim"])
    if c.get("sliding_window") and kind in ("gpt_oss", "gemma2", "gemma3"):
        writer.add_sliding_window(c["sliding_window"])
