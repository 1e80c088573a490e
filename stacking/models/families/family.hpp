// The families of decoders that can be read. A family is one record: its names in config.json and
// in GGUF, how its files differ from ours, and the functions that fill an Architecture from either
// file. What all families have in common is read by hf_config.cpp and gguf_model.cpp before.
// Threading: constants and pure functions. Errors: the readers keep the first fault.
// Source: the configuration_*.py files of transformers 5.23, and the keys of ggml/docs/gguf.md.
#pragma once

#include "stacking/models/architecture.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stacking::models {

class ConfigMembers;
class GgufKeys;

struct Family {
    std::string_view name;        // model_type in config.json, and Traits::family
    std::string_view class_name;  // architectures in config.json
    std::string_view gguf;        // general.architecture

    // A config.json that lacks the member means these.
    double rope_base = 10'000;
    double norm_epsilon = 1e-6;
    bool tied_embeddings = false;
    std::uint32_t head_width = 0;  // 0: width / heads
    std::uint32_t kv_heads = 0;    // 0: as many as heads
    std::uint32_t context = 2048;
    std::optional<std::uint32_t> begin_token = std::nullopt;
    std::optional<std::uint32_t> end_token = std::nullopt;

    /// transformers rotates a part of each head where "partial_rotary_factor" says so.
    bool partial_rotation = false;
    /// transformers takes YaRN for LongRoPE, and refuses other scalings.
    bool only_long_rope = false;
    bool two_rotations = false;  // one for layers that slide, and one for the others

    const char* activation_key = "hidden_act";
    Activation activation = Activation::Silu;

    /// GGUF stores the rows of each head of q and k as x0, x(h/2), x1, x(h/2 + 1), ...
    bool gguf_interleaves = false;
    /// Hugging Face folders store the weights of norms less one.
    bool norms_less_one = false;
    bool fused_matrices = false;      // (q, k, v) and (gate, up) are one tensor each
    bool experts_of_mixtral = false;  // the names of experts in Hugging Face folders

    /// Reads the members that this family alone has.
    void (*read_config)(ConfigMembers& members, Architecture& found);
    void (*read_keys)(GgufKeys& keys, Architecture& found);
    /// Adds these members to the common ones of an exported config.json.
    void (*write_config)(const Architecture& architecture, boost::json::object& config);
};

std::span<const Family* const> all_families();

/// Returns null when no family has this name. `find_gguf_family`: the one that a file with these
/// numbers of experts is of, because Mixtral calls itself a Llama there.
const Family* find_family(std::string_view model_type);
const Family* find_gguf_family(std::string_view architecture, bool with_experts);

/// REQUIRES: the traits name a family.
const Family& family_of(const Architecture& architecture);

/// "llama, mistral, ...": for refusals.
std::string family_names(bool gguf);

extern const Family kLlama;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kQwen2;
extern const Family kQwen2Moe;
extern const Family kQwen3;
extern const Family kQwen3Moe;
extern const Family kGemma;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kPhi3;
extern const Family kOlmo2;
extern const Family kOlmoe;
extern const Family kSmolLm3;
extern const Family kGranite;

}  // namespace stacking::models
