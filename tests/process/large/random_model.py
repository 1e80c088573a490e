#!/usr/bin/env python3
"""Writes a model with the shape of Llama-3.2-1B and random weights, which nobody can download.

    random_model.py bf16 FOLDER      # config.json, model.safetensors, tokenizer.json
    random_model.py q4_k FILE.gguf   # Q4_K, and Q6_K for the embedding
    --layers N                       # fewer layers than 16

The weights are such that activations neither vanish nor explode. The tokenizer is byte-level BPE
with one merge: 256 tokens for bytes, one for two letters, and names that no text has otherwise.
"""
import argparse
import json
import os
import random
import struct

WIDTH, FFN, HEADS, KV_HEADS, HEAD, VOCABULARY = 2048, 8192, 32, 8, 64, 128256
ROPE = dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=8192)
BASE, CONTEXT, EPSILON = 500000.0, 131072, 1e-5
BEGIN, END = 128000, 128009


def tensors(layers):
    """(our part, shape) of all tensors, in the order of the file."""
    yield "embed", (VOCABULARY, WIDTH)
    for layer in range(layers):
        for part, shape in (("attn_norm", (WIDTH,)), ("q", (HEADS * HEAD, WIDTH)),
                            ("k", (KV_HEADS * HEAD, WIDTH)), ("v", (KV_HEADS * HEAD, WIDTH)),
                            ("o", (WIDTH, HEADS * HEAD)), ("ffn_norm", (WIDTH,)),
                            ("gate", (FFN, WIDTH)), ("up", (FFN, WIDTH)), ("down", (WIDTH, FFN))):
            yield f"{layer}.{part}", shape
    yield "norm", (WIDTH,)


HF = {"embed": "model.embed_tokens", "norm": "model.norm", "attn_norm": "input_layernorm",
      "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
      "o": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "gate": "mlp.gate_proj",
      "up": "mlp.up_proj", "down": "mlp.down_proj"}
GGUF = {"embed": "token_embd", "norm": "output_norm", "attn_norm": "attn_norm", "q": "attn_q",
        "k": "attn_k", "v": "attn_v", "o": "attn_output", "ffn_norm": "ffn_norm",
        "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}


def name_of(part, names, prefix):
    layer, _, kind = part.rpartition(".")
    return (f"{prefix}{layer}." if layer else "") + names[kind] + ".weight"


def letters():
    """GPT-2's printable letters of the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        table.setdefault(byte, chr(256 + sum(b not in plain for b in range(byte))))
    return [table[byte] for byte in range(256)]


def vocabulary():
    known = letters()
    special = {256: "qz", BEGIN: "<|begin_of_text|>", END: "<|eot_id|>"}
    return [known[i] if i < 256 else special.get(i, f"\u0120none{i}\u0120")
            for i in range(VOCABULARY)]


def count_of(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def pieces(count, most=1 << 20):
    """`count` as a sum of numbers up to `most`, which bounds the memory."""
    while count > 0:
        yield min(count, most)
        count -= min(count, most)


def bf16(rng, shape):
    """Random signs and mantissas with the exponent of 2^-7, so values lie in 0.0078 to 0.0156."""
    if len(shape) == 1:
        yield b"\x80\x3f" * shape[0]  # 1
        return
    low = bytes(byte & 0x7F for byte in range(256))
    high = bytes(0x3C | (byte & 0x80) for byte in range(256))
    for count in pieces(count_of(shape)):
        raw = bytearray(rng.randbytes(2 * count))
        raw[0::2] = raw[0::2].translate(low)
        raw[1::2] = raw[1::2].translate(high)
        yield raw


def q4_k(rng, shape):
    """Blocks of 256 values: d, dmin, 12 bytes of scales, 128 bytes of levels."""
    head = struct.pack("<ee", 2.0 ** -14, 2.0 ** -11)
    for count in pieces(count_of(shape) // 256, 1 << 12):
        yield b"".join(head + rng.randbytes(140) for _ in range(count))


def q6_k(rng, shape):
    """Blocks of 256 values: 128 + 64 bytes of levels, 16 signed scales, d."""
    tail = struct.pack("<e", 2.0 ** -16)
    for count in pieces(count_of(shape) // 256, 1 << 12):
        yield b"".join(rng.randbytes(208) + tail for _ in range(count))


def write_folder(folder, layers, rng):
    os.makedirs(folder, exist_ok=True)
    config = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=WIDTH,
                  intermediate_size=FFN, num_hidden_layers=layers, num_attention_heads=HEADS,
                  num_key_value_heads=KV_HEADS, head_dim=HEAD, vocab_size=VOCABULARY,
                  max_position_embeddings=CONTEXT, rms_norm_eps=EPSILON, hidden_act="silu",
                  tie_word_embeddings=True, bos_token_id=BEGIN, eos_token_id=[END],
                  rope_theta=BASE, rope_scaling=ROPE, torch_dtype="bfloat16")
    tokenizer = dict(version="1.0", truncation=None, padding=None, normalizer=None,
                     added_tokens=[dict(id=i, content=vocabulary()[i], single_word=False,
                                        lstrip=False, rstrip=False, normalized=False, special=True)
                                   for i in (BEGIN, END)],
                     pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True,
                                        use_regex=True),
                     post_processor=None, decoder=dict(type="ByteLevel", add_prefix_space=True,
                                                       trim_offsets=True, use_regex=True),
                     model=dict(type="BPE", dropout=None, unk_token=None,
                                continuing_subword_prefix=None, end_of_word_suffix=None,
                                fuse_unk=False, byte_fallback=False, ignore_merges=False,
                                vocab={token: i for i, token in enumerate(vocabulary())},
                                merges=[["q", "z"]]))
    for name, value in (("config.json", config), ("tokenizer.json", tokenizer)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file)
    header, at = {}, 0
    for part, shape in tensors(layers):
        size = 2 * count_of(shape)
        header[name_of(part, HF, "model.layers.")] = dict(
            dtype="BF16", shape=list(shape), data_offsets=[at, at + size])
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors(layers):
            file.writelines(bf16(rng, shape))


def gguf_text(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf_value(value):
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_text(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if value and isinstance(value[0], int):
        return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(gguf_text, value))


def rope_divisors():
    """The table that converters make of a llama3 scaling."""
    found = []
    for i in range(HEAD // 2):
        frequency = BASE ** (-2 * i / HEAD)
        waves = ROPE["original_max_position_embeddings"] * frequency / 6.283185307179586
        smooth = min(max((waves - 1.0) / 3.0, 0.0), 1.0)
        found.append(1 / ((1 - smooth) / ROPE["factor"] + smooth))
    return found


def write_gguf(path, layers, rng):
    keys = {"general.architecture": "llama", "general.name": "random 1B",
            "llama.block_count": layers, "llama.embedding_length": WIDTH,
            "llama.feed_forward_length": FFN,
            "llama.attention.head_count": HEADS, "llama.attention.head_count_kv": KV_HEADS,
            "llama.context_length": CONTEXT, "llama.attention.layer_norm_rms_epsilon": EPSILON,
            "llama.rope.freq_base": BASE, "llama.rope.dimension_count": HEAD,
            "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "llama-bpe",
            "tokenizer.ggml.tokens": vocabulary(),
            "tokenizer.ggml.token_type": [3 if i in (BEGIN, END) else 1 for i in range(VOCABULARY)],
            "tokenizer.ggml.merges": ["q z"],
            "tokenizer.ggml.bos_token_id": BEGIN, "tokenizer.ggml.eos_token_id": END}
    f32, q4, q6 = (0, 4, 1), (12, 144, 256), (14, 210, 256)  # type, bytes of a block, its values
    entries = [("rope_freqs.weight", (HEAD // 2,), f32)]
    for part, shape in tensors(layers):
        kind = f32 if len(shape) == 1 else q6 if part == "embed" else q4
        entries.append((name_of(part, GGUF, "blk."), shape, kind))
    table, at = b"", 0
    for name, shape, (number, block_bytes, block) in entries:
        table += gguf_text(name) + struct.pack("<I", len(shape))
        table += b"".join(struct.pack("<Q", size) for size in reversed(shape))
        table += struct.pack("<IQ", number, at)
        size = count_of(shape) // block * block_bytes
        at += size + -size % 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(keys))
    head += b"".join(gguf_text(key) + gguf_value(value) for key, value in keys.items()) + table
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32))
        for name, shape, kind in entries:
            if name == "rope_freqs.weight":
                file.write(struct.pack(f"<{HEAD // 2}f", *rope_divisors()))
            elif kind is f32:
                file.write(struct.pack("<f", 1.0) * shape[0])
            else:
                file.writelines((q6_k if kind is q6 else q4_k)(rng, shape))
            file.write(b"\0" * (-file.tell() % 32))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=("bf16", "q4_k"))
    parser.add_argument("path")
    parser.add_argument("--layers", type=int, default=16)
    options = parser.parse_args()
    write = write_folder if options.kind == "bf16" else write_gguf
    write(options.path, options.layers, random.Random(1))


if __name__ == "__main__":
    main()
