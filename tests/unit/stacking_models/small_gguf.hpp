// A small Llama of two layers as a GGUF file, in which all values of a tensor differ.
// Width 8, 2 heads of 4, 1 key/value head, feed-forward width 12, vocabulary 6, all F32.
#pragma once

#include "tests/unit/stacking_models/gguf_builder.hpp"

#include <numeric>
#include <string>
#include <vector>

namespace stacking::models::test {

inline std::vector<float> counted(std::size_t count, float first) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

inline void add_small_metadata(GgufBuilder& file, std::uint32_t layers = 2) {
    file.text("general.architecture", "llama")
        .text("general.name", "small")
        .u32("llama.block_count", layers)
        .u32("llama.embedding_length", 8)
        .u32("llama.feed_forward_length", 12)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 1)
        .u32("llama.context_length", 64)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .f32("llama.rope.freq_base", 100000.0F)
        .u32("tokenizer.ggml.eos_token_id", 2);
}

/// The first value of each tensor is 1000 x its place in the file.
inline void add_small_tensors(GgufBuilder& file) {
    float first = 0;
    const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& sizes) {
        std::size_t count = 1;
        for (const std::uint64_t size : sizes) {
            count *= size;
        }
        file.f32_tensor(name, sizes, counted(count, first));
        first += 1000;
    };
    add("token_embd.weight", {8, 6});
    for (const std::string layer : {"blk.0.", "blk.1."}) {
        add(layer + "attn_norm.weight", {8});
        add(layer + "attn_q.weight", {8, 8});
        add(layer + "attn_k.weight", {8, 4});
        add(layer + "attn_v.weight", {8, 4});
        add(layer + "attn_output.weight", {8, 8});
        add(layer + "ffn_norm.weight", {8});
        add(layer + "ffn_gate.weight", {8, 12});
        add(layer + "ffn_up.weight", {8, 12});
        add(layer + "ffn_down.weight", {12, 8});
    }
    add("output_norm.weight", {8});
}

inline GgufBuilder small_gguf() {
    GgufBuilder file;
    add_small_metadata(file);
    add_small_tensors(file);
    return file;
}

}  // namespace stacking::models::test
