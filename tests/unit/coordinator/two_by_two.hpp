// A run of two stages with two members each, for tests of choices by the members' measurements.
#pragma once

#include "swarm/coordinator/member_rates.hpp"
#include "swarm/coordinator/run_context.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace swarm::coordinator {

class TwoByTwo {
 public:
    /// Begins another run. Requires that config.stages is 2.
    void begin(const run::RunConfig& config, run::LegCodecs codecs = {}) {
        context_.emplace(RunContext{
            .config = config,
            .layouts = run::partition(config),
            .cinc = 1,
            .roster = run::Roster(config.stages, 1),
            .codecs = std::move(codecs)});
        slots_.clear();
        for (const std::uint32_t stage : {0U, 0U, 1U, 1U}) {
            add_member({stage});
        }
    }

    void add_member(StageIndex stage) {
        protocol::SlotInfo info;
        info.peer = {{slots_.size() + 1, 0, 0, 0}};
        info.stage = stage;
        info.standing = protocol::Standing::Member;
        slots_.push_back(context_->roster.add(info));
    }

    /// Members count from 1: two in stage 0, two in stage 1, then the added ones.
    void lend(std::uint64_t member, std::uint64_t bytes) {
        const PeerId peer = context_->roster.find(slots_.at(member - 1))->peer;
        node::Outbox out;
        context_->peer_streams.link_up({peer, node::Lane::Control, {1}}, {TimePoint{}, out});
        context_->peer_streams.set_lent_memory(peer, bytes);
    }

    void say(std::uint64_t member, const protocol::SelfMeasured& measured) {
        measures_.note(context_->roster, slots_.at(member - 1), measured);
    }

    RunContext& context() { return *context_; }

    [[nodiscard]] const std::vector<SlotId>& slots() const { return slots_; }

    [[nodiscard]] const SelfMeasures& measures() const { return measures_; }

 private:
    std::optional<RunContext> context_;
    std::vector<SlotId> slots_;
    SelfMeasures measures_;
};

}  // namespace swarm::coordinator
