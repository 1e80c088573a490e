// How a decoder differs from a plain Llama, as data. A family (families/) fills this record from a
// model's files; the tensors of a layer (architecture.hpp) and its computation (stacking/llama)
// follow from it alone, so a new family is a new mapping and no new computation.
// Invariant: Traits{} is a plain Llama: heads of width / heads, a norm before each part, rotary
// positions in every layer, attention to all earlier positions, SwiGLU, no biases.
// Threading: data. Errors: check() of architecture.hpp holds the numbers within bounds.
// Source: the configurations of transformers 5 and the metadata keys of GGUF.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stacking::models {

/// How the frequencies of rotary positions are changed for texts longer than the first training's.
struct RopeScaling {
    enum class Kind : std::uint8_t {
        None,
        Linear,    // all frequencies / factor
        Llama3,    // low frequencies / factor, high ones unchanged, a ramp between them
        Yarn,      // the same, by dimension (arXiv 2309.00071)
        Divisors,  // frequency i / divisors[i]: LongRoPE's short factors, tables of GGUF files
    };

    Kind kind = Kind::None;
    double factor = 1;
    double low_frequency_factor = 1;     // Llama3
    double high_frequency_factor = 4;    // Llama3
    double beta_fast = 32;               // Yarn
    double beta_slow = 1;                // Yarn
    bool truncate = true;                // Yarn: whole dimensions bound the ramp
    std::uint32_t original_context = 0;  // positions of the first training
    std::vector<float> divisors = {};    // Divisors: (rotated dimensions / 2)
    double magnitude = 1;                // factor of every sine and cosine

    bool operator==(const RopeScaling&) const = default;
};

/// Where the norms of a part (attention, feed-forward) stand.
enum class NormPlace : std::uint8_t {
    Before,  // x + part(norm(x))
    Around,  // x + norm(part(norm(x)))
    After,   // x + norm(part(x))
};

/// RMSNorm of queries and keys before the rotation.
enum class QueryKeyNorm : std::uint8_t {
    None,
    Heads,  // each head on its own, with one weight per dimension of a head
    Rows,   // all heads of a row together
};

enum class Activation : std::uint8_t { Silu, GeluTanh };

/// Which of the two rotations a layer has.
enum class RopeUse : std::uint8_t { None, Main, Local };

struct LayerAttention {
    std::uint32_t window = 0;  // positions that a row sees, its own included; 0: all
    RopeUse rope = RopeUse::Main;

    bool operator==(const LayerAttention&) const = default;
};

/// A mixture of experts in place of each feed-forward part: softmax over all experts, the `chosen`
/// most probable ones are added by their probabilities.
struct Experts {
    std::uint32_t count = 0;         // 0: one plain feed-forward part
    std::uint32_t chosen = 0;        // experts per token
    bool renormalise = false;        // the chosen probabilities are divided by their sum
    std::uint32_t shared_width = 0;  // feed-forward width of an expert for all tokens, times the
                                     // sigmoid of a gate of its own; 0: there is none

    bool operator==(const Experts&) const = default;
};

/// Narrow places between layers (swarm/run/training/boundary_maps.hpp): in front of each layer of
/// `layers` a row of C becomes one of `width` values and one of C again by two matrices, and a row
/// for its token is added.
struct Bottlenecks {
    std::uint32_t width = 0;                 // 0: there are none
    std::vector<std::uint32_t> layers = {};  // rising

    bool operator==(const Bottlenecks&) const = default;
};

struct Traits {
    std::string_view family = "llama";  // name of its record (families/family.hpp)
    std::uint32_t head_width = 0;       // 0: width / heads
    std::uint32_t rotary_width = 0;     // leading dimensions of a head that are rotated; 0: all
    RopeScaling rope = {};
    double local_rope_base = 0;               // base of RopeUse::Local, which is never scaled
    std::vector<LayerAttention> layers = {};  // empty: {} for every layer

    NormPlace norms = NormPlace::Before;
    QueryKeyNorm query_key_norm = QueryKeyNorm::None;
    bool query_key_value_bias = false;
    bool attention_out_bias = false;
    Activation activation = Activation::Silu;
    Experts experts = {};
    Bottlenecks bottlenecks = {};

    double attention_scale = 0;     // factor of query x key; 0: 1 / sqrt(head width)
    double attention_soft_cap = 0;  // scores become cap x tanh(score / cap); 0: no cap
    double logit_soft_cap = 0;
    double embedding_scale = 1;
    double residual_scale = 1;  // factor of each part before it is added
    double logit_scale = 1;

    bool operator==(const Traits&) const = default;

    /// Whether the computation is that of a plain Llama, whichever family the model is of.
    [[nodiscard]] bool plain() const {
        Traits same = *this;
        same.family = Traits{}.family;
        return same == Traits{};
    }
};

}  // namespace stacking::models
