// A run of two stages with two members each, for tests of what chooses by their measures.
#pragma once

#include "swarm/run/run_context.hpp"
#include "swarm/run/self_measures.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace swarm::run {

class TwoByTwo {
 public:
    /// Forgets the run before. `config.stages` is 2.
    void begin(const RunConfig& config, LegCodecs codecs = {}) {
        context_.emplace(RunContext{
            config,
            partition(config),
            {},
            1,
            {0, 0},
            Roster(config.stages, 1),
            {},
            FailureDetector{FailureDetector::Timing{}},
            0,
            {},
            std::move(codecs)});
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

    /// `member` from 1: two in stage 0, two in stage 1, then those that were added.
    /// The member lends so much memory.
    void lend(std::uint64_t member, std::uint64_t bytes) {
        const PeerId peer = context_->roster.find(slots_.at(member - 1))->peer;
        node::Outbox out;
        context_->sessions.link_up({peer, node::Lane::Control, {1}}, {TimePoint{}, out});
        context_->sessions.set_lent_memory(peer, bytes);
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

}  // namespace swarm::run
