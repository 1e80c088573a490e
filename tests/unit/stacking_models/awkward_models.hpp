// Small models, whose values are awkward: zeros of both signs, subnormal numbers, and the largest
// ones that are finite.
#pragma once

#include "stacking/models/gguf_model.hpp"
#include "swarm/base/rng.hpp"
#include "tests/unit/stacking_models/gguf_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace stacking::models::test {

using Shared = std::shared_ptr<const ModelSource>;

inline constexpr std::uint32_t kF32 = 0;
inline constexpr std::uint32_t kQ8 = 8;  // in GGUF: blocks of a scale in fp16 and 32 numbers

inline float awkward(swarm::Rng& rng) {
    const auto sign = rng.below(2) == 0 ? 1.0F : -1.0F;
    switch (rng.below(8)) {
        case 0:
            return sign * 0.0F;
        case 1:
            return sign * std::numeric_limits<float>::denorm_min() *
                   static_cast<float>(rng.below(100));
        case 2:
            return sign * std::numeric_limits<float>::max();
        default:
            return sign * static_cast<float>(rng.unit());
    }
}

/// The block's 32 numbers count up from a draw; its scale is 1.
inline Bytes quantised(std::uint64_t count, swarm::Rng& rng) {
    Bytes bytes;
    for (std::uint64_t block = 0; block < count / 32; ++block) {
        bytes.add(std::uint16_t{0x3C00});
        const auto first = static_cast<std::int8_t>(rng.below(90));
        for (std::int8_t i = 0; i < 32; ++i) {
            bytes.add(static_cast<std::int8_t>(first + i));
        }
    }
    return bytes;
}

/// Width 32, 2 heads of 16, 1 key/value head, feed-forward width 64, vocabulary 6, tied.
inline Shared model_of(std::uint64_t seed, std::uint32_t layers = 2, std::uint32_t type = kF32) {
    GgufBuilder file;
    file.text("general.architecture", "llama")
        .text("general.name", "awkward")
        .u32("llama.block_count", layers)
        .u32("llama.embedding_length", 32)
        .u32("llama.feed_forward_length", 64)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 1)
        .u32("llama.context_length", 64 + static_cast<std::uint32_t>(seed))
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .f32("llama.rope.freq_base", 100000.0F)
        .u32("tokenizer.ggml.eos_token_id", 2);
    swarm::Rng rng(seed, 7);
    const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& sizes) {
        const std::uint64_t count = sizes.front() * (sizes.size() > 1 ? sizes.back() : 1);
        if (type == kQ8 && sizes.size() > 1) {
            file.tensor(name, sizes, type, quantised(count, rng));
            return;
        }
        std::vector<float> values(count);
        std::ranges::generate(values, [&] { return awkward(rng); });
        file.f32_tensor(name, sizes, values);
    };
    add("token_embd.weight", {32, 6});
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        const std::string prefix = "blk." + std::to_string(layer) + ".";
        add(prefix + "attn_norm.weight", {32});
        add(prefix + "attn_q.weight", {32, 32});
        add(prefix + "attn_k.weight", {32, 16});
        add(prefix + "attn_v.weight", {32, 16});
        add(prefix + "attn_output.weight", {32, 32});
        add(prefix + "ffn_norm.weight", {32});
        add(prefix + "ffn_gate.weight", {32, 64});
        add(prefix + "ffn_up.weight", {32, 64});
        add(prefix + "ffn_down.weight", {64, 32});
    }
    add("output_norm.weight", {32});
    auto model = open_gguf(std::make_unique<MemoryBytes>(file.bytes()));
    EXPECT_TRUE(model.has_value()) << model.error().detail;
    return std::make_shared<const ModelSource>(std::move(*model));
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits;
    for (const float value : values) {
        bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return bits;
}

inline void expect_same_bits(const ModelSource& one, const ModelSource& other) {
    ASSERT_EQ(one.tensors().size(), other.tensors().size());
    for (const auto& [name, tensor] : one.tensors()) {
        EXPECT_EQ(bits_of(*one.read(name)), bits_of(*other.read(name))) << name;
    }
}

}  // namespace stacking::models::test
