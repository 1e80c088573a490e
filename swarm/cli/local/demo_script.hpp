// The three events of the demo, by steps: at a quarter of the run a peer is frozen for 8 s, at half
// of the run another peer is killed for good, and 2 s later a newcomer takes its place.
// An event waits for a commit at which Chaos allows it.
// Threading: one thread.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <cstdint>
#include <optional>

namespace swarm::cli {

class DemoScript {
 public:
    explicit DemoScript(std::uint64_t steps) : steps_(steps) {}

    enum class Act { None, Freeze, Kill };

    /// Returns the act after the commit of `step`, if some peer may be disturbed.
    [[nodiscard]] Act due(std::uint64_t step) const {
        if (!frozen_ && step + 1 >= steps_ / 4) {
            return Act::Freeze;
        }
        return frozen_ && !killed_ && step + 1 >= steps_ / 2 ? Act::Kill : Act::None;
    }

    void done(Act act, PeerId peer) { (act == Act::Freeze ? frozen_ : killed_) = peer; }

    void joined(PeerId peer) { newcomer_ = peer; }

    [[nodiscard]] const std::optional<PeerId>& frozen() const { return frozen_; }

    [[nodiscard]] const std::optional<PeerId>& killed() const { return killed_; }

    [[nodiscard]] const std::optional<PeerId>& newcomer() const { return newcomer_; }

    static constexpr Duration kFreezeTime = std::chrono::seconds(8);

 private:
    std::uint64_t steps_;
    std::optional<PeerId> frozen_;
    std::optional<PeerId> killed_;
    std::optional<PeerId> newcomer_;
};

}  // namespace swarm::cli
