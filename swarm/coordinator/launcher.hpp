// Launcher is the coordinator as the hop before stage 0. It picks a replica, sends it the tokens
// and takes the answers to the offer. Router and windows are those of every other hop.
// Invariant: a microbatch has one offer at a time; an attempt goes to one successor (send rule).
// Threading: single strand.
#pragma once

#include "router/hop_router.hpp"
#include "swarm/coordinator/run_context.hpp"
#include "swarm/coordinator/step_ledger.hpp"
#include "swarm/run/batch_plan.hpp"

#include <map>
#include <memory>
#include <span>

namespace swarm::coordinator {

class Launcher {
 public:
    Launcher(
        RunContext& context,
        std::span<const std::uint32_t> corpus,
        std::uint64_t seed,
        const run::SampleRows* rows = nullptr
    );

    /// Call it when the roster or a link has changed.
    void refresh(TimePoint now);
    /// False when no replica takes work.
    bool launch(const StepLedger::Launch& launch, Attempt attempt, node::Turn turn);

    void on_accepted(SlotId from, const protocol::LegId& leg, TimePoint now);
    enum class Refusal {
        Unknown,    // it answers no offer of ours
        Elsewhere,  // the leg was never processed: the same attempt may go to another replica
        InDoubt,    // the offer was resent, or is too old there: a new attempt is needed
    };
    Refusal on_refused(SlotId from, const protocol::Refused& refused, node::Turn turn);
    void on_passed(SlotId from, const protocol::LegId& leg, TimePoint now);

    /// Why an attempt was given up. Overdue: no result came in time, which counts against the peer.
    enum class Why : std::uint8_t { Recalled, Overdue };
    void give_up(MicrobatchId id, Why why, TimePoint now);
    /// Forgets all offers.
    void new_step(TimePoint now);
    /// Repeats the offers to the slot that may have been lost with a link of the same incarnation.
    void resend(SlotId slot, node::Turn turn);

    /// The slot that has the offer of the microbatch; {} when there is none.
    [[nodiscard]] SlotId holder(MicrobatchId id) const;

    void wake(TimePoint now) { router_.wake(now); }

    [[nodiscard]] std::vector<protocol::ObservedRate> observed_rates(TimePoint now) const {
        return router_.observed_rates(now);
    }

    [[nodiscard]] TimePoint next_deadline() const { return router_.next_deadline(); }

 private:
    struct Offer {
        protocol::LegId leg;
        SlotId slot;
        StageMask mask;
        bool accepted = false;
        bool resent = false;
    };

    void send(const Offer& offer, node::Turn turn);

    RunContext& context_;
    run::BatchPlan plan_;
    router::HopRouter router_;
    std::map<MicrobatchId, Offer> offers_;
};

}  // namespace swarm::coordinator
