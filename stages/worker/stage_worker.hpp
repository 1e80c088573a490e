// The device side of a stage: weights, optimizer, accumulator, result and kept graphs, behind calls
// that a stage server's jobs and --single make. It keeps no protocol state: which microbatch may be
// added, and when, is the role's decision (stages/server/stage_server).
// Invariants: the accumulator changes only in accumulate() and clear_accumulator(); a result sits
// in a buffer of its own and touches the weights only in apply() (R2, R3).
// Threading: one thread, the device's. Payloads are coded as the leg says, else as the run says.
// Shapes: activations (B, T, C) fp32. A stage's flat vector is its tensors in global order, P
// elements, then one counter per microbatch of the step ("extended" below, P + M elements). A
// gradient adds exactly 1.0 to its counter, so the reduced counters show who was counted.
// Memory in bytes: 4 P weights, 8 P moments, 8 (P + M) sums, at most 8 (P + M) own sums, 4 (P + M)
// result, 4 P per pending gradient, and kept graphs. Errors, all Reject: those of StageCompute and
// of the codec; Mismatch for another shape, size or codec; NotFinite also for |g| >= 2^11.
#pragma once

#include "stages/compute/compute.hpp"
#include "stages/worker/accumulator.hpp"
#include "stages/worker/kept_graphs.hpp"
#include "stages/worker/slices.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/run/leg_codecs.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace compression {
class Codec;
enum class TensorRole : std::uint8_t;
}  // namespace compression

namespace stages {

using swarm::node::Payload;

class StageWorker {
 public:
    struct Leg {
        std::uint64_t step = 0;
        GraphKey key;
        std::vector<std::uint32_t> tokens;  // forward legs only
        Payload input;                      // empty for the forward of the first stage
        swarm::run::LegCodecs codecs{};     // codecs of all stages' legs; empty: those of the run
    };

    struct TailOutcome {
        double loss = 0;
        Payload gradient_below;  // empty when the stage is the only one
    };

    struct ResultSummary {
        std::vector<double> sums_of_squares;  // one per tensor of the layout; 0 for a tied head
        swarm::Digest hash;                   // SHA-256 of the fp32 result, counters included
        std::uint32_t counted_once = 0;       // counters that are 1
        std::uint32_t counted_wrong = 0;      // counters that are neither 0 nor 1
    };

    StageWorker(
        const swarm::run::RunConfig& config,
        swarm::run::StageLayout layout,
        std::unique_ptr<StageCompute> compute
    );
    ~StageWorker();

    [[nodiscard]] const swarm::run::StageLayout& layout() const { return layout_; }

    [[nodiscard]] const StageState& state() const { return state_; }

    /// Builds version 0, a function of the seed. Returns the state hash.
    swarm::Digest start_from_seed();
    /// Takes over a downloaded or resumed state (see StageState::from_chunks). Returns its hash.
    swarm::Digest start_from(StageState state);

    /// Goes on from these weights; moments and version stay.
    void use_weights(std::span<const float> weights);

    /// Computes a microbatch of zeros and forgets it. The first microbatch of a library is many
    /// times slower than those that follow, and senders would take its time for this peer's speed.
    void warm_up();

    /// Does KeptGraphs::set_room().
    void set_graph_room(std::uint64_t bytes) { graphs_.set_room(bytes); }

    /// Computes the activation of one microbatch. A kept graph stays for backward().
    Result<Payload> forward(const Leg& leg, Graph graph);
    /// Does forward, loss and backward of the last stage, in a looped step those of the second
    /// pass. Its gradient is then pending under leg.key.
    Result<TailOutcome> forward_tail(const Leg& leg);
    /// Returns the gradient for the stage below (empty for the first stage); the gradient of the
    /// weights is then pending under leg.key.
    Result<Payload> backward(const Leg& leg);

    /// Returns the activation of a held-out microbatch, B x (T + 1) tokens. It is not coded, and no
    /// graph is kept, so it depends neither on the cut of the model nor on a step.
    Result<Payload> forward_held_out(const Payload& input, std::span<const std::uint32_t> tokens);
    /// Returns the mean loss of a held-out microbatch at the last stage.
    Result<double> tail_loss(const Payload& input, std::span<const std::uint32_t> tokens);

    /// Adds a pending gradient to the accumulator. Where the stage has both uses of a tied matrix,
    /// each use gets the sum of both.
    void accumulate(GraphKey key);
    /// Forgets a pending gradient, if there is one.
    void discard_pending(GraphKey key);
    void drop_graph(GraphKey key);
    /// Drops all graphs and pending gradients; the accumulator stays.
    void drop_all_graphs();
    void clear_accumulator();

    // The calls below make the reduction of one epoch. Portion `own` belongs to this member.
    /// Elements that are cut into slices: the parameters and the counters.
    [[nodiscard]] std::uint64_t extended_elements() const;
    /// Starts a new result from the accumulator, dropping the last one.
    void begin_result(std::uint32_t own, const Slices& slices);
    /// Returns the int64 sums of slice `slice` for its owner.
    [[nodiscard]] Payload scatter_part(std::uint32_t slice) const;
    /// Returns the same sums, as byte planes where these are smaller.
    [[nodiscard]] Payload packed_scatter_part(std::uint32_t slice) const;
    /// Adds another member's int64 sums to an own slice. Errors: Mismatch when the size is another,
    /// Malformed when the sums do not unpack. After an error the slice is as before.
    Result<> add_part(std::uint32_t slice, const Payload& part);
    /// Returns the stage's int64 sums of a range within an own slice whose parts are all added, as
    /// byte planes where these are smaller.
    [[nodiscard]] Payload tied_part(SliceRange range);
    /// Adds the other stage's sums of a range. Errors: those of add_part().
    Result<> add_tied_part(SliceRange range, const Payload& part);
    /// Turns a complete own slice into fp32 values. Puts them into the result and returns them for
    /// everybody else.
    Payload finish_slice(std::uint32_t slice);
    /// The sums of the tied matrix over its use as `tensor`; empty where the stage lacks it.
    [[nodiscard]] std::span<const std::int64_t> sums_of(std::string_view tensor) const;
    /// Makes the whole result of a member that is alone. `tied` has the sums over both uses of a
    /// matrix that is tied with another stage, which are the result of either use; else it is
    /// empty.
    void finish_alone(std::span<const std::int64_t> tied = {});
    /// Starts a new result of an observer, which owns no slice.
    void begin_observed_result(const Slices& slices);
    /// Stores another member's values. Errors: Mismatch when the size is not the slice's,
    /// NotFinite.
    Result<> store_gathered(std::uint32_t slice, const Payload& values);
    /// Slices that never came, or that store_gathered() refused.
    [[nodiscard]] std::vector<std::uint32_t> missing_slices() const;
    /// Summarises a result of which no slice is missing.
    [[nodiscard]] ResultSummary summarise_result() const;
    /// Does one optimizer step with the result. Scalars that skip the step need no result. Empties
    /// the accumulator. Returns the state hash.
    swarm::Digest apply(const swarm::protocol::StepScalars& scalars, std::uint64_t step);

    /// Returns the logits of the last position at the last stage, else the activation. They are
    /// not coded.
    Result<Payload> infer(const Payload& input, std::span<const std::uint32_t> tokens);

    [[nodiscard]] std::string compute_class() const { return compute_->compute_class(); }

    /// Forwards that were computed again because their graph had no room.
    [[nodiscard]] std::uint64_t recomputed() const { return graphs_.recomputed(); }

 private:
    [[nodiscard]] Result<> check_leg(const Leg& leg) const;
    /// Codec of the tensors that cross the boundary above this stage. `role` is Activation or
    /// ActivationGradient, here and below.
    [[nodiscard]] const compression::Codec& codec_above(
        const Leg& leg, compression::TensorRole role
    ) const;
    /// Codec of the tensors that cross the boundary below this stage.
    [[nodiscard]] const compression::Codec& codec_below(
        const Leg& leg, compression::TensorRole role
    ) const;
    /// Codes an activation for the stage above, or a gradient for the stage below.
    Result<Payload> encode(const StageTensor& tensor, const Leg& leg, compression::TensorRole role)
        const;

    /// Shapes of the tensors that cross the boundaries above and below this stage.
    [[nodiscard]] std::vector<std::uint32_t> shape_above() const {
        return swarm::run::activation_shape(config_, layout_.stage);
    }

    [[nodiscard]] std::vector<std::uint32_t> shape_below() const {
        return swarm::run::activation_shape(config_, {layout_.stage.value - 1});
    }

    Result<StageTensor> decode(
        const Payload& payload, const compression::Codec& codec, std::vector<std::uint32_t> shape
    ) const;
    /// The input of a forward leg; empty for the stage with the embedding.
    Result<std::optional<StageTensor>> decode_input(const Leg& leg) const;
    /// The same for a held-out microbatch, whose tensors are never coded.
    Result<std::optional<StageTensor>> held_out_input(
        const Payload& input, std::span<const std::uint32_t> tokens
    ) const;
    std::vector<float> take_buffer();
    void keep_pending(GraphKey key, std::vector<float> gradient);
    /// Where the tensor lies in the flat vector; empty where the stage lacks it.
    [[nodiscard]] SliceRange range_of(std::string_view tensor) const;
    [[nodiscard]] std::span<float> slice_of_result(std::uint32_t slice);
    [[nodiscard]] std::span<std::int64_t> own_sums(SliceRange range);
    [[nodiscard]] std::span<const std::int64_t> slice_of_sums(std::uint32_t slice) const;

    swarm::run::RunConfig config_;
    swarm::run::StageLayout layout_;
    std::unique_ptr<StageCompute> compute_;
    KeptGraphs graphs_;
    swarm::run::LegCodecs codecs_;  // codecs of a leg that names none
    StageState state_;
    Accumulator accumulator_;
    std::map<GraphKey, std::vector<float>> pending_;
    std::vector<std::vector<float>> spare_;  // buffers of P floats for further use
    std::vector<std::int64_t> own_portion_;  // sums of the own slices
    std::vector<float> result_;
    std::vector<bool> gathered_;  // true when the values are in the result, by slice
    std::uint32_t own_ = 0;       // number of this member in its group
    Slices slices_{0, 1};         // cut of the result
};

}  // namespace stages
