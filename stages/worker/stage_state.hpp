// The state of a stage between steps: version, weights and AdamW moments, and their form as hashed
// chunks. All of it is a function of (seed, committed results, scalars), bit for bit.
// Manifest: the SHA-256 of each chunk (1 MiB, layout.chunk_bytes_max) of the byte stream "for each
// trained tensor in global order: weights, first moments, second moments, then the weights of each
// frozen one, all fp32 little-endian". The state hash is the SHA-256 of the manifest.
// AdamW is our own loop, compiled with -ffp-contract=off. It uses only IEEE-exact operations in
// fixed order, so the result depends on neither compiler nor ISA level. It is fp32 throughout; each
// scalar is rounded from double once. Source: AdamW (Loshchilov, Hutter 2019); which tensors decay
// is in swarm/run/training/weight_decay.hpp.
// Cost: 12 bytes per parameter, which copies share until one is changed; hashing at SHA-256 speed.
#pragma once

#include "stages/worker/shared_values.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stages {

/// Fills in the initial values of one tensor. They are a function of (seed, tensor name, element
/// index) by integer arithmetic without libm. Norm gains are 1, biases and the second matrix of an
/// adapter 0; other matrices are near-normal with a standard deviation of 0.02.
void fill_initial(
    std::uint64_t seed, const swarm::run::TensorSpec& tensor, std::span<float> values
);

class StageState {
 public:
    explicit StageState(const swarm::run::StageLayout& layout);

    static StageState from_seed(const swarm::run::RunConfig&, const swarm::run::StageLayout&);
    /// All vectors are flat and as long as the layout; `frozen` are the weights of what is not
    /// trained.
    static StageState from_tensors(
        const swarm::run::StageLayout& layout,
        swarm::ParameterVersion version,
        std::vector<float> weights,
        std::vector<float> first_moments,
        std::vector<float> second_moments,
        std::vector<float> frozen = {}
    );
    /// Error: Mismatch when the number or size of the chunks is not the layout's.
    static swarm::Result<> check_chunks(
        const swarm::run::StageLayout& layout, std::span<const swarm::node::Payload> chunks
    );
    /// `chunks` are in order, as chunk() returned them. Error: that of check_chunks().
    static swarm::Result<StageState> from_chunks(
        const swarm::run::StageLayout& layout,
        swarm::ParameterVersion version,
        std::span<const swarm::node::Payload> chunks
    );

    [[nodiscard]] swarm::ParameterVersion version() const { return version_; }

    void set_version(swarm::ParameterVersion version) { version_ = version; }

    [[nodiscard]] const swarm::run::StageLayout& layout() const { return *layout_; }

    [[nodiscard]] std::span<const float> weights() const { return weights_.view(); }

    [[nodiscard]] std::span<const float> first_moments() const { return first_moments_.view(); }

    [[nodiscard]] std::span<const float> second_moments() const { return second_moments_.view(); }

    /// The weights that stay as they are. Copies of a state share them for ever.
    [[nodiscard]] std::span<const float> frozen() const { return *frozen_; }

    [[nodiscard]] std::uint64_t bytes() const { return 12 * weights_.size() + 4 * frozen_->size(); }

    [[nodiscard]] std::uint32_t chunk_count() const;
    /// Returns a copy of the chunk's bytes.
    [[nodiscard]] swarm::node::Payload chunk(std::uint32_t index) const;
    [[nodiscard]] std::vector<swarm::Digest> manifest() const;
    [[nodiscard]] swarm::Digest hash() const;

    /// Replaces all weights (flat, as long as the layout). Version and moments stay as they are.
    void set_weights(std::span<const float> weights);

    /// Does one AdamW step. `gradient` is flat, as the weights. The version's step grows by one. A
    /// clip factor of 0 skips the step: weights and moments stay as they are, and the gradient may
    /// be empty.
    void apply(
        const swarm::run::OptimizerConfig& optimizer,
        const swarm::protocol::StepScalars& scalars,
        std::span<const float> gradient
    );

 private:
    /// Calls visit(bytes) for each contiguous piece of [begin, end) of the byte stream, in order.
    template <class State, class Visitor>
    static void visit_stream(State& state, std::uint64_t begin, std::uint64_t end, Visitor visit);
    /// The part of [begin, end) of the stream that holds frozen weights.
    [[nodiscard]] std::span<const std::byte> frozen_bytes(std::uint64_t begin, std::uint64_t end)
        const;
    [[nodiscard]] std::vector<std::byte> stream(std::uint64_t begin, std::uint64_t end) const;
    [[nodiscard]] std::vector<swarm::Digest> digests(std::uint64_t begin, std::uint64_t end) const;

    std::shared_ptr<const swarm::run::StageLayout> layout_;
    swarm::ParameterVersion version_;
    SharedValues weights_;
    SharedValues first_moments_;
    SharedValues second_moments_;
    std::shared_ptr<const std::vector<float>> frozen_;
    /// Digests of the chunks that hold frozen weights alone; null until they are asked for.
    mutable std::shared_ptr<const std::vector<swarm::Digest>> frozen_digests_;
};

/// The state hash of this manifest.
swarm::Digest manifest_hash(std::span<const swarm::Digest> manifest);

/// SHA-256 of all weights of the model in global order, fp32 little-endian. It is the same for
/// every
/// number of stages. `stages` are the flat weights of each stage, the first stage first.
swarm::Digest weights_hash(std::span<const std::span<const float>> stages);

}  // namespace stages
