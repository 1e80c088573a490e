// The coordinator as the hop before stage 0: picks a replica, sends it the tokens, hears what
// became of the offer. Same router and same windows as at every hop.
// Invariant: one offer at a time per microbatch; an attempt goes to one successor (send rule).
// Threading: single strand.
#pragma once

#include "router/hop_router.hpp"
#include "swarm/run/batch_plan.hpp"
#include "swarm/run/run_context.hpp"
#include "swarm/run/step_ledger.hpp"

#include <map>
#include <memory>
#include <span>

namespace swarm::run {

class Launcher {
 public:
    Launcher(RunContext& context, std::span<const std::uint16_t> corpus, std::uint64_t seed);

    /// Call when roster or links changed.
    void refresh(TimePoint now);
    /// False: nobody takes work now.
    bool launch(const StepLedger::Launch& launch, Attempt attempt, node::Turn turn);

    void on_accepted(SlotId from, const protocol::LegId& leg, TimePoint now);
    enum class Refusal {
        Unknown,    // no offer of ours
        Elsewhere,  // never processed: the same attempt may go to another replica
        InDoubt,    // it was resent, or is too old there: a new attempt is needed
    };
    Refusal on_refused(SlotId from, const protocol::Refused& refused, node::Turn turn);
    void on_passed(SlotId from, const protocol::LegId& leg, TimePoint now);

    /// The attempt was given up; `overdue`: because nothing came, which counts against the peer.
    void give_up(MicrobatchId id, bool overdue, TimePoint now);
    void new_step(TimePoint now);
    /// Sends again what may have been lost with a link of the same incarnation.
    void resend(SlotId slot, node::Turn turn);

    /// The peer that holds the newest offer of the microbatch; {} when none.
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
    BatchPlan plan_;
    router::HopRouter router_;
    std::map<MicrobatchId, Offer> offers_;
};

}  // namespace swarm::run
