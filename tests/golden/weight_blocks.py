#!/usr/bin/env python3
"""Writes weight_blocks.json: digests of blocks of every type, decoded by PyPI `gguf`.

    pip install gguf==0.19.0 ml_dtypes==0.5.4
    weight_blocks.py > weight_blocks.json

weight_blocks_test.cpp makes the same blocks number by number, so only digests are kept: one for
each 128 of 1,024 blocks. Blocks are random; every second one has scales from HALVES, which are
zeros, subnormals, the largest numbers, infinities and NaN, and of each four two have all other
bytes equal. F16 and BF16 are all 65,536 values, F8_E4M3 all 256 values of ml_dtypes.
NaN is written as 0x7fc00000, because its sign and payload are not defined.
"""
import hashlib
import json

import gguf
import ml_dtypes
import numpy as np

BLOCKS, CHUNK = 1024, 128
HALVES = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x2E66, 0x7BFF, 0xFBFF, 0x7C00,
          0xFC00, 0x7E00]
# The offsets of a block's fp16 numbers.
TYPES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
         "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0],
         "IQ4_XS": [0]}


def random_bytes(seed, count):
    """splitmix64"""
    with np.errstate(over="ignore"):
        words = (count + 7) // 8
        steps = np.arange(1, words + 1, dtype=np.uint64)
        z = np.uint64(seed) + steps * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return z.view(np.uint8)[:count].copy()


def make_blocks(seed, size, halves):
    blocks = random_bytes(seed, BLOCKS * size).reshape(BLOCKS, size)
    for number in range(BLOCKS):
        turn = number // 4
        kept = {at: blocks[number, at:at + 2].copy() for at in halves}
        if number % 4 >= 2:
            blocks[number, :] = turn % 256
        for place, (at, bits) in enumerate(kept.items()):
            if number % 2 == 1:
                chosen = HALVES[turn // len(HALVES) ** place % len(HALVES)]
                bits = np.frombuffer(np.uint16(chosen).tobytes(), dtype=np.uint8)
            blocks[number, at:at + 2] = bits
    return blocks


def digest(values):
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).copy()
    bits[np.isnan(values).reshape(bits.shape)] = 0x7FC00000
    return hashlib.sha256(bits.astype("<u4").tobytes()).hexdigest()[:16]


def main():
    result = {}
    for seed, (name, halves) in enumerate(TYPES.items()):
        kind = gguf.GGMLQuantizationType[name]
        blocks = make_blocks(seed, gguf.GGML_QUANT_SIZES[kind][1], halves)
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(blocks, kind)
        result[name] = [digest(values[i:i + CHUNK]) for i in range(0, BLOCKS, CHUNK)]
    all_halves = np.arange(65536, dtype=np.uint16)
    for name in ("F16", "BF16"):
        kind = gguf.GGMLQuantizationType[name]
        data = all_halves.view(np.uint8).reshape(1, -1)
        with np.errstate(all="ignore"):
            result[name] = [digest(gguf.quants.dequantize(data, kind))]
    bytes8 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)
    result["F8_E4M3"] = [digest(bytes8.astype(np.float32))]
    print(json.dumps(result, indent=0))


if __name__ == "__main__":
    main()
