// One evaluation of the run between two steps: it asks peers of stage 0 for the losses of the
// held-out microbatches and puts their answers into the order of the microbatches.
// Invariants: an answer counts only from the peer that was asked, for the version that is
// evaluated, and once. Nothing here touches a step's ledger: a peer that refuses or is lost costs a
// repetition, never a fence.
// Threading: single strand. Bounds: kAskedMax microbatches in flight, kAsksMax requests for each.
// Deadlines: a request is repeated elsewhere after 10 s, or after four times the slowest answer;
// without any answer for 120 s the evaluation is left out. Source: step protocol, section 4.
#pragma once

#include "swarm/coordinator/run_context.hpp"
#include "swarm/run/training/held_out.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace swarm::coordinator {

class Evaluation {
 public:
    /// The losses of all microbatches in order; nullopt: the evaluation is left out.
    using Outcome = std::optional<std::vector<double>>;

    /// `texts` outlive the evaluation.
    Evaluation(RunContext& context, std::span<const run::HeldOutText> texts);

    [[nodiscard]] bool has_texts() const { return !microbatches_.empty(); }

    /// Begins the evaluation of context.version. REQUIRES: has_texts().
    void begin(node::Turn turn);

    [[nodiscard]] bool under_way() const { return version_.has_value(); }

    void on(PeerId from, const protocol::Evaluated& evaluated, node::Turn turn);

    /// Asks what can be asked now, and gives up what waits in vain. Call it once in each turn. An
    /// evaluation of a version that is no longer the current one is forgotten.
    void advance(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    /// Returns the outcome once, when there is one.
    [[nodiscard]] std::optional<Outcome> take_outcome();

 private:
    static constexpr std::size_t kAskedMax = 32;
    static constexpr std::uint32_t kAsksMax = 64;
    static constexpr Duration kAnswerWithin = std::chrono::seconds(10);
    static constexpr Duration kNoAnswerFor = std::chrono::seconds(120);
    static constexpr Duration kPauseFirst = std::chrono::milliseconds(100);

    struct Item {
        std::optional<double> loss;
        std::optional<PeerId> asked;   // the peer that computes it
        std::optional<PeerId> failed;  // the peer that was asked last, in vain
        TimePoint due = kNever;      // when another peer is asked
        TimePoint ask_at = kAtOnce;  // the earliest time of the next request
        std::uint32_t asks = 0;
    };

    struct Request {
        std::size_t item = 0;
        PeerId peer;
        TimePoint at{};
    };

    [[nodiscard]] bool is_there(PeerId peer) const;
    [[nodiscard]] std::size_t in_flight() const;
    [[nodiscard]] std::size_t window() const;
    /// The peer of stage 0 that has the fewest requests; one that has failed the item comes last.
    /// Cost: O(microbatches + peers).
    [[nodiscard]] std::optional<PeerId> choose(const Item& item) const;
    void ask(std::size_t number, node::Turn turn);
    void ask_again(Item& item, TimePoint now);
    void end(Outcome outcome);

    RunContext& context_;
    std::vector<std::span<const std::uint32_t>> microbatches_;
    std::vector<Item> items_;  // by microbatch
    std::map<std::uint64_t, Request> requests_;  // all of this evaluation, also repeated ones
    std::optional<ParameterVersion> version_;    // the version that is evaluated
    std::optional<Outcome> outcome_;
    TimePoint give_up_at_ = kNever;
    Duration slowest_{};  // longest time to an answer
    std::uint64_t next_request_ = 1;
};

}  // namespace swarm::coordinator
