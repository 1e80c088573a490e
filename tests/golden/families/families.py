#!/usr/bin/env python3
"""Writes families.json: tiny models of each family, computed by transformers.

    pip install torch==2.11.0 transformers==5.23.0 gguf==0.19.0 safetensors==0.8.0
    families.py [NAME..] > families.json
    families.py --exported FOLDER   # checks models that families_test.cpp exported there

A weight is a function of (name in a Hugging Face folder, index), which families_test.cpp computes,
too, so no weights are kept. Kept are each model's config.json, the names and keys that PyPI `gguf`
gives its tensors and metadata, some logits after a prompt, and 48 greedy ids.
"""
import hashlib
import json
import math
import os
import sys
import tempfile

import gguf
import numpy
import torch
import transformers
from safetensors.numpy import save_file

PROMPT, ANSWER, LOGIT_STEP = 24, 48, 5
VOCABULARY = 320
ATTEMPTS = 24
SMALLEST_GAP = 2e-3  # between the two best logits of a position: rounding decides nothing


def uniform(name, count):
    """Numbers in [0, 1) with 24 bits: splitmix64 of the name's digest and the index."""
    key = numpy.uint64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
    with numpy.errstate(over="ignore"):
        index = numpy.arange(1, count + 1, dtype=numpy.uint64)
        z = key + numpy.uint64(0x9E3779B97F4A7C15) * index
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    return (z >> numpy.uint64(40)).astype(numpy.float32) * numpy.float32(2.0 ** -24)


def weights(name, shape, kind):
    """kind: (base, scale); a weight is base + scale x (u - 1/2)."""
    base, scale = numpy.float32(kind[0]), numpy.float32(kind[1])
    u = uniform(name, math.prod(shape))
    return (base + scale * (u - numpy.float32(0.5))).reshape(shape)


BASE = dict(hidden_size=48, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, vocab_size=VOCABULARY, max_position_embeddings=128,
            rms_norm_eps=1e-5, hidden_act="silu", tie_word_embeddings=False, bos_token_id=1,
            eos_token_id=None)


def case(name, model_type, arch=None, permute=False, less_one=False, keys=(), tables=(),
         embedding=2.0, **config):
    merged = {**BASE, "model_type": model_type, **config}
    merged = {key: value for key, value in merged.items() if value != "absent"}
    return dict(name=name, config=merged, arch=arch, permute=permute, less_one=less_one,
                keys=list(keys), tables=list(tables), embedding=(0, embedding))


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
LONG_WIDTH = 12


def llama3_table(width, base):
    table = []
    for i in range(width // 2):
        wavelength = 2 * math.pi * base ** (2 * i / width)
        low, high = 32 / 1.0, 32 / 4.0
        if wavelength < high:
            table.append(1.0)
        elif wavelength > low:
            table.append(8.0)
        else:
            smooth = (32 / wavelength - 1.0) / (4.0 - 1.0)
            table.append(1 / ((1 - smooth) / 8.0 + smooth))
    return table


def longrope(width):
    return dict(short_factor=[1.0 + 0.125 * i for i in range(width // 2)],
                long_factor=[4.0 + i for i in range(width // 2)])


def cases():
    gelu = dict(hidden_activation="gelu_pytorch_tanh", hidden_act="absent",
                tie_word_embeddings=True, head_dim=16, embedding=0.25)
    yield case("llama", "llama", "llama", True, rope_theta=100000.0, head_dim="absent")
    yield case("llama-tied-one-group", "llama", "llama", True, tie_word_embeddings=True,
               embedding=0.5, num_key_value_heads=4,
               rope_parameters=dict(rope_type="default", rope_theta=5e5))
    yield case("llama3-rope", "llama", "llama", True, rope_theta=10000.0, rope_scaling=LLAMA3,
               tables=[("rope_freqs.weight", llama3_table(12, 10000.0))])
    yield case("linear-rope", "llama", "llama", True,
               rope_scaling=dict(type="linear", factor=4.0),
               keys=[("rope.scaling.type", "linear"), ("rope.scaling.factor", 4.0)])
    yield case("yarn-rope", "qwen2", "qwen2", rope_theta=1e6,
               rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32),
               keys=[("rope.scaling.type", "yarn"), ("rope.scaling.factor", 4.0),
                     ("rope.scaling.original_context_length", 32)])
    yield case("yarn-rope-mscale", "llama", None, rope_theta=10000.0,
               rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32,
                                 mscale=1.0, mscale_all_dim=0.5, beta_fast=16, beta_slow=2,
                                 truncate=False))
    yield case("llama-biases", "llama", None, attention_bias=True)
    yield case("llama-wide-heads", "llama", "llama", True, head_dim=20)
    yield case("mistral", "mistral", None, sliding_window=8, rope_theta=10000.0)
    yield case("mistral-no-window", "mistral", "llama", True, sliding_window=None, head_dim=16)
    yield case("qwen2", "qwen2", "qwen2", rope_theta=1e6, tie_word_embeddings=True, embedding=0.5,
               use_sliding_window=False, sliding_window=16, max_window_layers=28)
    yield case("qwen2-windows", "qwen2", None, use_sliding_window=True, sliding_window=8,
               max_window_layers=2)
    yield case("qwen3", "qwen3", "qwen3", head_dim=16, rope_theta=1e6)
    yield case("gemma", "gemma", "gemma", less_one=True, **gelu)
    yield case("gemma2", "gemma2", "gemma2", less_one=True, sliding_window=8,
               query_pre_attn_scalar=16, attn_logit_softcapping=50.0,
               final_logit_softcapping=30.0, **gelu)
    yield case("gemma2-other-scale", "gemma2", None, less_one=True, sliding_window=8,
               query_pre_attn_scalar=24, attn_logit_softcapping=5.0,
               final_logit_softcapping=None, **gelu)
    yield case("gemma3", "gemma3_text", "gemma3", less_one=True, num_hidden_layers=7,
               sliding_window=8, query_pre_attn_scalar=16, rope_theta=1e6,
               rope_local_base_freq=10000.0, rope_scaling=dict(rope_type="linear", factor=8.0),
               keys=[("rope.scaling.type", "linear"), ("rope.scaling.factor", 8.0)], **gelu)
    yield case("gemma3-version-5", "gemma3_text", None, less_one=True, sliding_window=8,
               query_pre_attn_scalar=16,
               layer_types=["full_attention", "sliding_attention"] * 2,
               rope_parameters=dict(
                   full_attention=dict(rope_type="default", rope_theta=1e6),
                   sliding_attention=dict(rope_type="default", rope_theta=20000.0)), **gelu)
    yield case("phi3", "phi3", "phi3", sliding_window=8, rope_theta=10000.0, pad_token_id=0)
    yield case("phi3-longrope", "phi3", "phi3", max_position_embeddings=384,
               original_max_position_embeddings=96, rope_theta=10000.0, pad_token_id=0,
               sliding_window=None, rope_scaling=dict(type="longrope", **longrope(LONG_WIDTH)),
               keys=[("rope.scaling.type", "longrope"),
                     ("rope.scaling.original_context_length", 96),
                     ("rope.scaling.attn_factor", math.sqrt(1 + math.log(4) / math.log(96)))],
               tables=[("rope_factors_short.weight", longrope(LONG_WIDTH)["short_factor"]),
                       ("rope_factors_long.weight", longrope(LONG_WIDTH)["long_factor"])])
    yield case("phi3-partial", "phi3", "phi3", hidden_size=64, partial_rotary_factor=0.75,
               rope_theta=10000.0, pad_token_id=0, sliding_window=None)
    yield case("olmo2", "olmo2", "olmo2", rope_theta=5e5, attention_bias=False)
    yield case("smollm3", "smollm3", "smollm3", True, num_hidden_layers=5,
               tie_word_embeddings=True, embedding=0.5, rope_theta=2e6, pad_token_id=0)
    yield case("smollm3-list", "smollm3", None, no_rope_layers=[1, 0, 0, 1], pad_token_id=0)
    yield case("granite", "granite", "granite", True, embedding_multiplier=6.0,
               residual_multiplier=0.75, attention_multiplier=0.125, logits_scaling=0.5,
               embedding=0.5,
               keys=[("embedding_scale", 6.0), ("residual_scale", 0.75),
                     ("attention.scale", 0.125), ("logit_scale", 0.5)])
    yield case("mixtral", "mixtral", "llama", True, num_local_experts=6, num_experts_per_tok=2,
               sliding_window=None, rope_theta=1e6)
    yield case("qwen2-moe", "qwen2_moe", "qwen2moe", num_experts=6, num_experts_per_tok=2,
               moe_intermediate_size=32, shared_expert_intermediate_size=40,
               norm_topk_prob=False, decoder_sparse_step=1, mlp_only_layers=[])
    yield case("qwen3-moe", "qwen3_moe", "qwen3moe", num_experts=8, num_experts_per_tok=3,
               moe_intermediate_size=32, norm_topk_prob=True, decoder_sparse_step=1,
               mlp_only_layers=[], head_dim=16)
    yield case("qwen2-moe-windows", "qwen2_moe", None, num_experts=4, num_experts_per_tok=2,
               moe_intermediate_size=32, shared_expert_intermediate_size=40,
               use_sliding_window=True, sliding_window=8, max_window_layers=3)
    yield case("qwen3-moe-windows", "qwen3_moe", None, num_experts=4, num_experts_per_tok=2,
               moe_intermediate_size=32, norm_topk_prob=True, use_sliding_window=True,
               sliding_window=8, max_window_layers=2)
    yield case("olmoe", "olmoe", "olmoe", num_experts=8, num_experts_per_tok=2,
               norm_topk_prob=False)


MATRIX, ROUTER, BIAS = (0, 0.5), (0, 2.0), (0, 0.5)


def hf_tensors(one):
    """Name -> (shape, kind), as folders on the hub have them."""
    c = one["config"]
    width, heads, kv = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    head = c.get("head_dim", width // heads)
    q, k, ffn, kind = heads * head, kv * head, c["intermediate_size"], c["model_type"]
    norm = (0.0, 0.5) if one["less_one"] else (1.0, 0.5)
    found = {"model.embed_tokens.weight": ((VOCABULARY, width), one["embedding"]),
             "model.norm.weight": ((width,), norm)}
    if not c["tie_word_embeddings"]:
        found["lm_head.weight"] = ((VOCABULARY, width), MATRIX)

    def feed_forward(prefix, wide, names=("gate_proj", "up_proj", "down_proj")):
        found[f"{prefix}{names[0]}.weight"] = ((wide, width), MATRIX)
        found[f"{prefix}{names[1]}.weight"] = ((wide, width), MATRIX)
        found[f"{prefix}{names[2]}.weight"] = ((width, wide), MATRIX)

    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        norms = ["input_layernorm", "post_attention_layernorm"]
        if kind in ("gemma2", "gemma3_text"):
            norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        if kind == "olmo2":
            norms = ["post_attention_layernorm", "post_feedforward_layernorm"]
        for part in norms:
            found[f"{at}{part}.weight"] = ((width,), norm)
        if kind == "phi3":
            found[f"{at}self_attn.qkv_proj.weight"] = ((q + 2 * k, width), MATRIX)
        else:
            for part, size in (("q", q), ("k", k), ("v", k)):
                found[f"{at}self_attn.{part}_proj.weight"] = ((size, width), MATRIX)
                if c.get("attention_bias") or kind in ("qwen2", "qwen2_moe"):
                    found[f"{at}self_attn.{part}_proj.bias"] = ((size,), BIAS)
        found[f"{at}self_attn.o_proj.weight"] = ((width, q), MATRIX)
        if c.get("attention_bias"):
            found[f"{at}self_attn.o_proj.bias"] = ((width,), BIAS)
        if kind in ("qwen3", "qwen3_moe", "gemma3_text", "olmo2", "olmoe"):
            rows = kind in ("olmo2", "olmoe")
            found[f"{at}self_attn.q_norm.weight"] = ((q if rows else head,), norm)
            found[f"{at}self_attn.k_norm.weight"] = ((k if rows else head,), norm)
        experts = c.get("num_experts", c.get("num_local_experts", 0))
        if kind == "phi3":
            found[f"{at}mlp.gate_up_proj.weight"] = ((2 * ffn, width), MATRIX)
            found[f"{at}mlp.down_proj.weight"] = ((width, ffn), MATRIX)
        elif experts == 0:
            feed_forward(f"{at}mlp.", ffn)
        else:
            wide = c.get("moe_intermediate_size", ffn)
            mixtral = kind == "mixtral"
            part = "block_sparse_moe" if mixtral else "mlp"
            found[f"{at}{part}.gate.weight"] = ((experts, width), ROUTER)
            for expert in range(experts):
                matrices = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
                feed_forward(f"{at}{part}.experts.{expert}.", wide, matrices)
        if kind == "qwen2_moe":
            found[f"{at}mlp.shared_expert_gate.weight"] = ((1, width), ROUTER)
            feed_forward(f"{at}mlp.shared_expert.", c["shared_expert_intermediate_size"])
    return found


def write_folder(one, folder):
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(one["config"], file)
    state = {name: weights(name, shape, kind) for name, (shape, kind) in hf_tensors(one).items()}
    save_file(state, os.path.join(folder, "model.safetensors"), {"format": "pt"})


def load(folder):
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    kinds = ("missing_keys", "unexpected_keys", "mismatched_keys")
    unfit = [info[kind] for kind in kinds if info[kind]]
    if unfit:
        raise ValueError(f"{folder}: {unfit}")
    return model.eval()


def prompt_of(name, attempt):
    return [int(u * VOCABULARY) for u in uniform(f"prompt {attempt} {name}", PROMPT)]


def answer(model, prompt):
    """Logits after the prompt, greedy ids, and the smallest gap between the two best."""
    ids, gap, first = list(prompt), math.inf, None
    with torch.no_grad():
        for _ in range(ANSWER):
            logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1]
            first = logits if first is None else first
            best = torch.topk(logits, 2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            ids.append(int(best.indices[0]))
    return first, ids[PROMPT:], gap


def is_first(name):
    """Whether a tensor stands for those of its kind in all layers and all experts."""
    layer = name.split(".layers.")[-1] if ".layers." in name else "0."
    expert = name.split(".experts.")[-1] if ".experts." in name else "0."
    return layer.startswith("0.") and expert.startswith("0.")


def gguf_of(one):
    """Metadata and tensors of the same model as llama.cpp's converter writes it."""
    if one["arch"] is None:
        return None
    c, a = one["config"], one["arch"]
    width, heads, kv = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    head = c.get("head_dim", width // heads)
    rope = c.get("rope_parameters", {})
    theta = c.get("rope_theta", rope.get("rope_theta", 10000.0))
    rotated = int(head * c.get("partial_rotary_factor", 1.0))
    keys = [("block_count", c["num_hidden_layers"]),
            ("context_length", c["max_position_embeddings"]), ("embedding_length", width),
            ("feed_forward_length", c["intermediate_size"]),
            ("attention.head_count", heads), ("attention.head_count_kv", kv),
            ("attention.layer_norm_rms_epsilon", c["rms_norm_eps"]), ("rope.freq_base", theta),
            ("rope.dimension_count", rotated)]
    if "head_dim" in c:
        keys += [("attention.key_length", head), ("attention.value_length", head)]
    window = c.get("sliding_window") if c["model_type"] != "qwen2" else None
    optional = [("attention.sliding_window", window),
                ("attn_logit_softcapping", c.get("attn_logit_softcapping")),
                ("final_logit_softcapping", c.get("final_logit_softcapping")),
                ("expert_count", c.get("num_experts", c.get("num_local_experts"))),
                ("expert_used_count", c.get("num_experts_per_tok")),
                ("expert_feed_forward_length", c.get("moe_intermediate_size")),
                ("expert_shared_feed_forward_length", c.get("shared_expert_intermediate_size"))]
    keys += [(key, value) for key, value in optional if value is not None] + one["keys"]
    names = gguf.get_tensor_name_map(
        next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == a), c["num_hidden_layers"])
    tensors = []
    for name in filter(is_first, hf_tensors(one)):
        change = ""
        known = name
        if ".experts." in name:  # the experts of a layer are one tensor
            known, change = name.replace(".experts.0.", ".experts."), "stack"
        if one["permute"] and name.endswith(("q_proj.weight", "k_proj.weight")):
            change = "permute"
        if one["less_one"] and "norm" in name:
            change = "plus one"
        found = names.get_name(known, try_suffixes=(".weight", ".bias"))
        if found is None:
            raise ValueError(f"{one['name']}: gguf has no name for {known}")
        tensors.append([found, name, change])
    return dict(architecture=a, keys=[[f"{a}.{key}", value] for key, value in keys],
                tensors=tensors, tables=one["tables"])


def main():
    torch.set_num_threads(1)
    if len(sys.argv) > 2 and sys.argv[1] == "--exported":
        for one in cases():
            folder = os.path.join(sys.argv[2], one["name"])
            with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "families.json"),
                      encoding="utf-8") as file:
                kept = next(k for k in json.load(file) if k["name"] == one["name"])
            first, ids, _ = answer(load(folder), kept["prompt"])
            worst = max(abs(float(a) - b) for a, b in zip(first[::LOGIT_STEP], kept["logits"]))
            print(one["name"], "logits within", worst, "ids equal", ids == kept["ids"])
            if ids != kept["ids"] or worst > 1e-4:
                sys.exit(1)
        return
    kept = []
    for one in cases():
        if len(sys.argv) > 1 and one["name"] not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_folder(one, folder)
            model = load(folder)
            for attempt in range(ATTEMPTS):
                prompt = prompt_of(one["name"], attempt)
                first, ids, gap = answer(model, prompt)
                if gap >= SMALLEST_GAP and len(set(ids)) > ANSWER // 4:
                    break
            else:
                sys.exit(f"{one['name']}: no prompt gives an answer that rounding cannot change")
        print(one["name"], gap, len(set(ids)), float(first.abs().max()), file=sys.stderr)
        tensors = [[name, list(shape), list(kind)]
                   for name, (shape, kind) in hf_tensors(one).items() if is_first(name)]
        kept.append(dict(name=one["name"], config=one["config"], tensors=tensors, prompt=prompt,
                         logits=[round(float(x), 6) for x in first[::LOGIT_STEP]], ids=ids,
                         gguf=gguf_of(one)))
    print("[\n" + ",\n".join(json.dumps(k) for k in kept) + "\n]")


if __name__ == "__main__":
    main()
