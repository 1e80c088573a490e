// The device side of a stage: weights, optimizer, accumulator, result and kept graphs, behind calls
// that a stage server's jobs (and --single) make. It keeps no protocol state: which microbatch may
// be added, and when, is the role's decision (stages/stage_server).
// Invariants: the accumulator changes only in accumulate() and clear_accumulator(); a result sits
// in a buffer of its own and touches the weights only in apply() (R2, R3).
// Threading: one thread, the device's. Payloads in and out are coded as the leg says, or the run.
// Shapes: activations (B, T, C) fp32; the flat vector of a stage is its tensors in global order,
// followed by one counter per microbatch of the step ("extended" below, P + M elements): a
// gradient adds exactly 1.0 to its own counter, so the reduced counters show who was counted.
// Memory: 4 P weights + 8 P Adam + 8 (P + M) sums + 8 (P + M) own slice + 4 (P + M) result, 4 P for
// each pending gradient; kept graphs. Errors, all Reject: of StageCompute and the codec; Mismatch
// for a payload of another shape, size or codec; NotFinite also for |g| >= 2^11.
#pragma once

#include "stages/accumulator.hpp"
#include "stages/compute.hpp"
#include "stages/kept_graphs.hpp"
#include "stages/slices.hpp"
#include "stages/stage_state.hpp"
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
}

namespace stages {

using swarm::node::Payload;

class StageWorker {
 public:
    struct Leg {
        std::uint64_t step = 0;
        GraphKey key;
        std::vector<std::uint32_t> tokens;  // forward legs only
        Payload input;                      // empty for the forward of the first stage
        swarm::run::LegCodecs codecs{};     // of all stages' legs; empty: those of the run
    };

    struct TailOutcome {
        double loss = 0;
        Payload gradient_below;  // empty when the stage is the only one
    };

    struct ResultSummary {
        std::vector<double> sums_of_squares;  // one per tensor of the layout; 0 for a tied head
        swarm::Digest hash;                   // SHA-256 of the fp32 result, counters included
        std::uint32_t counted_once = 0;
        std::uint32_t counted_wrong = 0;
    };

    StageWorker(
        const swarm::run::RunConfig& config,
        swarm::run::StageLayout layout,
        std::unique_ptr<StageCompute> compute
    );
    ~StageWorker();

    [[nodiscard]] const swarm::run::StageLayout& layout() const { return layout_; }

    [[nodiscard]] const StageState& state() const { return state_; }

    /// Version 0: a function of the seed. Returns the state hash.
    swarm::Digest start_from_seed();
    /// Takes over a downloaded or resumed state (see StageState::from_chunks).
    swarm::Digest start_from(StageState state);

    /// Goes on from these weights, with its own moments and version.
    void use_weights(std::span<const float> weights);

    /// A microbatch of zeros, forgotten at once. A library's first one is many times slower than
    /// those that follow, and senders would take that for this peer's speed.
    void warm_up();

    /// As KeptGraphs::set_room().
    void set_graph_room(std::uint64_t bytes) { graphs_.set_room(bytes); }

    // One microbatch. With `keep` the graph stays for backward().
    Result<Payload> forward(const Leg& leg, bool keep);
    /// Forward, loss and backward of the last stage; its gradient is then pending under leg.key.
    Result<TailOutcome> forward_tail(const Leg& leg);
    /// Returns the gradient for the stage below (empty for the first stage); the gradient of the
    /// weights is then pending under leg.key.
    Result<Payload> backward(const Leg& leg);

    // A pending gradient is added once, or discarded. Where the stage has both uses of a tied
    // matrix, each gets the sum of both.
    void accumulate(GraphKey key);
    void discard_pending(GraphKey key);
    void drop_graph(GraphKey key);
    /// Graphs and pending gradients go; the accumulator stays.
    void drop_all_graphs();
    void clear_accumulator();

    // The reduction of one epoch, of which this member owns the slices of share `own`.
    /// What is cut into slices: the parameters and the counters.
    [[nodiscard]] std::uint64_t extended_elements() const;
    /// Starts a new result from the accumulator, dropping the last one.
    void begin_result(std::uint32_t own, const Slices& slices);
    /// int64 sums of slice `slice` for its owner.
    [[nodiscard]] Payload scatter_part(std::uint32_t slice) const;
    /// The same as byte planes, where these are smaller.
    [[nodiscard]] Payload packed_scatter_part(std::uint32_t slice) const;
    /// Adds another member's int64 sums to an own slice. Mismatch when the size is another,
    /// Malformed when they do not unpack; the slice is then as before.
    Result<> add_part(std::uint32_t slice, const Payload& part);
    /// The stage's int64 sums of a range within an own slice whose parts are all in, as byte planes
    /// where these are smaller.
    [[nodiscard]] Payload tied_part(SliceRange range);
    /// Adds the other stage's, as add_part() does.
    Result<> add_tied_part(SliceRange range, const Payload& part);
    /// An own slice is complete: fp32 values for everybody, kept in the result too.
    Payload finish_slice(std::uint32_t slice);
    /// The sums of the tied matrix over its use as `tensor`; none where the stage lacks it.
    [[nodiscard]] std::span<const std::int64_t> sums_of(std::string_view tensor) const;
    /// The whole result of a member that is alone. `tied`: of a matrix that is tied with another
    /// stage the sums over both its uses, which are the result of either; else empty.
    void finish_alone(std::span<const std::int64_t> tied = {});
    /// For an observer, which owns no slice.
    void begin_observed_result(const Slices& slices);
    /// Another member's values. Mismatch when the size is not the slice's, NotFinite.
    Result<> store_gathered(std::uint32_t slice, const Payload& values);
    /// Slices that never came, or that store_gathered() refused.
    [[nodiscard]] std::vector<std::uint32_t> missing_slices() const;
    /// No slice is missing.
    [[nodiscard]] ResultSummary summarise_result() const;
    /// The result becomes one optimizer step, or none is needed where the scalars skip it; the
    /// accumulator is emptied. Returns the state hash.
    swarm::Digest apply(const swarm::protocol::StepScalars& scalars, std::uint64_t step);

    /// Logits of the last position at the last stage, else the activation. Not coded.
    Result<Payload> infer(const Payload& input, std::span<const std::uint32_t> tokens);

    [[nodiscard]] std::string compute_class() const { return compute_->compute_class(); }

    /// Forwards computed again because their graph had no room.
    [[nodiscard]] std::uint64_t recomputed() const { return graphs_.recomputed(); }

 private:
    [[nodiscard]] Result<> check_leg(const Leg& leg) const;
    /// Of what crosses the boundary above this stage, or below it.
    [[nodiscard]] const compression::Codec& codec_above(const Leg& leg, bool gradient) const;
    [[nodiscard]] const compression::Codec& codec_below(const Leg& leg, bool gradient) const;
    /// An activation goes up, a gradient down.
    Result<Payload> encode(const StageTensor& tensor, const Leg& leg, bool gradient) const;
    Result<StageTensor> decode(const Payload& payload, const compression::Codec& codec) const;
    /// The input of a forward leg: none where the embedding is.
    Result<std::optional<StageTensor>> decode_input(const Leg& leg) const;
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
    swarm::run::LegCodecs codecs_;  // where a leg names none
    StageState state_;
    Accumulator accumulator_;
    std::map<GraphKey, std::vector<float>> pending_;
    std::vector<std::vector<float>> spare_;  // buffers of P floats, used again
    std::vector<std::int64_t> own_share_;
    std::vector<float> result_;
    std::vector<bool> gathered_;  // by slice: its values are in the result
    std::uint32_t own_ = 0;
    Slices slices_{0, 1};  // of the result
};

}  // namespace stages
