// The layers and tensors of each stage. Tensors are named by global layer index
// ("layers.17.attn.wo"), so another split only selects other names.
// Global order: embedding, layers by index, head; within a layer by name, experts by number.
// A stage's state is a flat vector of its trained tensors; what the run freezes stands beside it.
// Threading: pure.
// Cost: O(layers) to list tensors; the balanced split O(stages x layers^2), a few ms at most.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/config.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::run {

/// The first tensor of the model and the last one. Where they are tied, each stage that has one
/// keeps a copy under its own name, and both copies are equal bit for bit after every step.
inline constexpr const char* kEmbeddingTensor = "embed.weight";
inline constexpr const char* kHeadTensor = "head.weight";

struct TensorSpec {
    std::string name;
    std::vector<std::uint32_t> shape;  // row-major

    [[nodiscard]] std::uint64_t elements() const {
        std::uint64_t count = 1;
        for (const std::uint32_t dimension : shape) {
            count *= dimension;
        }
        return count;
    }

    friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// One of the parts into which the stages cut a layer (training/expert_stages.hpp).
struct LayerPart {
    std::uint32_t index = 0;
    std::uint32_t parts = 1;

    [[nodiscard]] bool is_first() const { return index == 0; }

    [[nodiscard]] bool is_last() const { return index + 1 == parts; }
};

/// A stage has the layers [first_layer, first_layer + layers). The first stage has the embedding,
/// too, and the last one the head. Of a layer that is cut it has `part`.
struct StageLayout {
    StageIndex stage;
    std::uint32_t first_layer = 0;
    std::uint32_t layers = 0;
    bool has_embedding = false;
    bool has_head = false;
    std::vector<TensorSpec> tensors;      // trained ones, in global order
    std::vector<TensorSpec> frozen = {};  // the others, in global order
    /// Largest part of its sums and largest chunk of its state, as raw bytes. They are smaller than
    /// the limits where the oracle stands for a larger model (ModelConfig::stands_for).
    std::uint64_t slice_bytes_max = protocol::kSliceBytesMax;
    std::uint64_t chunk_bytes_max = protocol::kChunkBytes;
    std::uint64_t stands_for = 0;  // parameters; 0: its own
    LayerPart part = {};           // {0, 1} where the stage has whole layers

    [[nodiscard]] std::uint64_t elements() const {
        std::uint64_t count = 0;
        for (const TensorSpec& tensor : tensors) {
            count += tensor.elements();
        }
        return count;
    }

    [[nodiscard]] std::uint64_t frozen_elements() const {
        std::uint64_t count = 0;
        for (const TensorSpec& tensor : frozen) {
            count += tensor.elements();
        }
        return count;
    }

    /// Bytes of a state that is written or sent: weights and two moments of what is trained, and
    /// the weights of what is frozen.
    [[nodiscard]] std::uint64_t state_bytes() const {
        return 12 * elements() + 4 * frozen_elements();
    }

    /// Parameters whose sums and state travel: its own, or those that the oracle stands for. What
    /// waits for a line goes by this number.
    [[nodiscard]] std::uint64_t parameters() const { return std::max(elements(), stands_for); }
};

/// A tensor of a stage and where its values begin, among the trained or the frozen ones.
struct PlacedTensor {
    const TensorSpec* spec = nullptr;
    bool frozen = false;
    std::uint64_t begin = 0;
};

/// All tensors of the stage, in global order. `layout` outlives the result.
std::vector<PlacedTensor> all_tensors(const StageLayout& layout);

/// The stages of `config`, which has passed check_run(): those of config.layers_per_stage, or about
/// equally many parameters each (exact minimum of the largest stage, by dynamic programming).
std::vector<StageLayout> partition(const RunConfig& config);

/// "3-5", "3", or "3 (1/2)" for the first of two parts.
std::string layers_text(std::uint32_t first_layer, std::uint32_t layers, LayerPart part = {});

/// The number of layers that begin in each stage: of whole layers, in the form of
/// config.layers_per_stage.
std::vector<std::uint32_t> layers_of(const std::vector<StageLayout>& stages);

/// Parameters of each layer; the embedding counts with the first one, the head with the last.
std::vector<std::uint64_t> layer_elements(const RunConfig& config);

/// All tensors of one layer of the model, in global order. A layer of the oracle has one tensor,
/// with model.width elements and at least one per microbatch.
std::vector<TensorSpec> layer_tensors(const RunConfig& config, std::uint32_t layer);

/// The stage that holds the other copy of a tied matrix; nullopt where no matrix is tied, or one
/// stage has both uses.
std::optional<StageIndex> tied_stage(const RunConfig& config, StageIndex stage);
/// Elements of the embedding.
std::uint64_t tied_elements(const RunConfig& config);

/// Work units (tokens x layers) of a microbatch at a peer of the stage, as the peer that offers the
/// forward sees them. A tail answers only after the backward, which takes twice as long.
double offer_units(const RunConfig& config, const StageLayout& stage);
/// Work units of a microbatch in the stage, forward and backward.
double units_per_microbatch(const RunConfig& config, const StageLayout& stage);

/// Shape of the tensor that leaves the stage for the next one, and of its gradient:
/// (B, T, activation_width), (1, 1, 13) for the oracle model.
std::vector<std::uint32_t> activation_shape(const RunConfig& config, StageIndex stage);

/// Elements of that tensor at each boundary, from the first stage on.
std::vector<std::uint64_t> elements_between(const RunConfig& config);
/// The mean of these numbers; 0 without a boundary.
std::uint64_t mean_elements_between(const RunConfig& config);

}  // namespace swarm::run
