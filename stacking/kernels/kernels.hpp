// The loops in which inference spends its time, once per instruction set.
// Invariant: every path gives the same bits for numbers (default rounding), because each result is
// made by one chain of operations in one order, fused multiply-adds among them; kernels_scalar.cpp
// defines the chains. No chain depends on the number of rows or on other rows.
// Threading: functions without state. Errors: none; the caller checks sizes. NaN gives NaN in its
// own row only. Cost: multiply() reads the weights once per call, and x from the caches.
// Source: own. A row times a matrix walks along the inputs and keeps 64 outputs at a time, so that
// no sum is ever split; packed_matrix.hpp has the layout.
#pragma once

#include "stacking/blocks/weight_type.hpp"
#include "swarm/base/cpu_path.hpp"

#include <cstddef>
#include <cstdint>

namespace stacking::kernels {

/// Format of weights in memory. Int8 is signed; 32 weights along the inputs have one fp32 scale.
/// Blocks are the quantised blocks of a file, of any type, in the order of the panels. F8 is
/// F8_E4M3 with a fp32 scale per kF8Group inputs.
enum class WeightFormat : std::uint8_t { Fp32, Bf16, Int8, Fp16, Blocks, F8 };

inline constexpr std::size_t kPanelOutputs = 64;
inline constexpr std::size_t kScaleGroup = 32;     // inputs per scale of Int8
inline constexpr std::size_t kF8Group = 128;       // inputs per scale of F8
inline constexpr std::size_t kPagePositions = 64;  // positions per KV page
inline constexpr std::size_t kQueriesMax = 6;      // queries that read a page together
inline constexpr std::size_t kLanes = 16;          // partial sums of a norm and of a softmax

using Path = swarm::CpuPath;

/// The packed weights of a matrix (outputs, inputs).
struct MatrixView {
    WeightFormat format = WeightFormat::Fp32;
    const std::byte* panels = nullptr;
    std::size_t panel_bytes = 0;
    std::size_t outputs = 0;
    std::size_t inputs = 0;
    blocks::WeightType type = blocks::WeightType::F32;  // type of the Blocks
};

struct Rows {
    const float* values = nullptr;
    std::size_t count = 0;
    std::size_t stride = 0;  // values from one row to the next
};

/// Keys and values of one head in the pages of one session, and how queries read them.
struct HeadCache {
    const float* const* pages = nullptr;
    std::size_t keys = 0;       // offset in a page: (head width, kPagePositions)
    std::size_t values = 0;     // offset in a page: (kPagePositions, head width)
    std::size_t positions = 0;  // that the first query sees, from the text's first on; above 0
    std::size_t head_width = 0;
    std::size_t step = 0;    // positions that each query sees more than the one before it
    std::size_t window = 0;  // each sees the last of its positions alone, so many; 0: all
    float scale = 0;         // factor of query x key; 0: 1 / sqrt(head width)
    float soft_cap = 0;      // see Kernels::soft_cap; 0: none
};

struct Kernels {
    Path path;

    /// out[r][o] = sum over k of x[r][k] * w[o][k]
    void (*multiply)(const MatrixView& matrix, const Rows& x, float* out, std::size_t out_stride);

    /// RMSNorm of one row: out[i] = x[i] / sqrt(mean(x^2) + epsilon) * weight[i]
    void (*normalise
    )(const float* x, const float* weight, std::size_t width, float epsilon, float* out);

    /// SwiGLU of one row: gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
    void (*gate)(float* gate, const float* up, std::size_t count);

    /// GeGLU of one row, with the approximation by tanh:
    /// gate[i] = gate[i] / (1 + exp(-2 sqrt(2 / pi) (gate[i] + 0.044715 gate[i]^3))) * up[i]
    void (*gate_gelu)(float* gate, const float* up, std::size_t count);

    /// values[i] = cap * tanh(values[i] / cap), as cap - 2 cap / (exp(2 values[i] / cap) + 1)
    void (*soft_cap)(float* values, std::size_t count, float cap);

    /// For each query: out = softmax(soft_cap(scale query x keys)) x values. The queries are of
    /// several heads at one position (step 0) or of one head at positions that follow each other
    /// (step 1), at most kQueriesMax. `scores`: room for the positions of the last query, rounded
    /// up to whole pages, for each.
    void (*attend
    )(const HeadCache& cache, const Rows& queries, float* scores, float* out, std::size_t out_stride
    );
};

/// Returns null when this processor lacks the instructions.
const Kernels* kernels_of(Path path);
/// Returns the fastest kernels that this processor can run.
const Kernels& best_kernels();

// Each of these is in a file of its own; call them through kernels_of().
const Kernels& scalar_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();

}  // namespace stacking::kernels
