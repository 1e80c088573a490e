// The requests of one stop of a call (expert_compute.hpp): each visit goes to a lender, and to
// another one with the same bytes when the first dies, is silent or refuses, until it is answered
// or nobody lends the expert.
// Invariant: each visit ends once, with outputs or without. It ends without them kAbsentMax after
// its expert was last to be had: lenders that fail one after the other do not prolong it. A request
// has a number of its own, so an answer that comes too late is nobody's.
// Threading: single strand. Bounds: one stop at a time, with one visit per expert.
// Errors: none. Cost: O(visits x lenders) per event while a call waits, else O(lenders); when the
// link of a lender ends, O(layers x experts x lenders).
#pragma once

#include "stacking/sessions/experts/expert_lenders.hpp"

#include <vector>

namespace stacking::sessions {

class ExpertCalls {
 public:
    /// People who wait for a token take a pause of this length for a hitch; a server that restarts
    /// with its weights in the page cache is back within it.
    static constexpr swarm::Duration kAbsentMax = std::chrono::seconds(2);

    struct Options {
        ExpertLenders::Options lenders;
        std::uint32_t width = 0;
    };

    ExpertCalls(const Options& options, LinkBook& links)
        : options_(options), lenders_(options.lenders, links) {}

    /// Begins the visits of a stop. REQUIRES: the last stop has ended.
    void ask(const ExpertStop& stop, node::Turn turn);

    void take(
        PeerId from,
        const protocol::ExpertOutputs& outputs,
        const node::Payload& payload,
        node::Turn turn
    );
    void take(PeerId from, const protocol::ExpertRefused& refused, node::Turn turn);
    void take(const protocol::Located& located, node::Turn turn);

    void linked(PeerId peer, node::Turn turn);
    void lost(PeerId peer, node::Turn turn);
    void unreached(PeerId peer, node::Turn turn);

    /// Does what is due. Call it after each event, and at next_deadline().
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] bool lends_to_us(PeerId peer) const { return lenders_.knows(peer); }

    /// Whether a visit waits for somebody who lends its expert.
    [[nodiscard]] bool is_waiting() const;

    /// Whether all visits of a stop have ended, so their outputs can be taken.
    [[nodiscard]] bool is_done() const;

    /// The layers of this server where nobody can be asked for the same expert now, and nobody
    /// lends it but those that lend it at this layer.
    [[nodiscard]] std::vector<LayerExpert> absent_like(const LayerExpert& which, TimePoint now)
        const;

    /// The outputs of each visit, in their order; empty where nobody lends the expert. The next
    /// stop may begin.
    [[nodiscard]] std::vector<std::vector<float>> take_outputs();

 private:
    struct Visit {
        LayerExpert which;
        std::uint32_t rows = 0;
        node::Payload bytes;  // the same for each lender
        std::vector<float> outputs{};
        bool ended = false;
        bool missed = false;         // there was nobody to ask
        std::optional<PeerId> at{};  // lender that has the request
        std::uint64_t request = 0;   // its number
        TimePoint sent_at{};
        TimePoint silent_at{};  // deadline of the answer
    };

    Visit* find(PeerId from, std::uint64_t request);
    [[nodiscard]] TimePoint absent_at(const Visit& visit) const;
    void note_absent(PeerId peer, TimePoint now);
    void advance(Visit& visit, node::Turn turn);

    Options options_;
    ExpertLenders lenders_;
    std::vector<Visit> visits_;
    std::map<LayerExpert, TimePoint> absent_since_;  // experts that are not to be had
    std::uint64_t requests_ = 0;
    TimePoint now_{};  // time of the last event
};

}  // namespace stacking::sessions
