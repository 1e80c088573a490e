// The coordinator's side of `codec = "auto"`: keeps what the members measured of themselves, and
// says at a commit which codecs the next step travels in (codec_choice.hpp).
// Invariant: at least kKeepFor lies between two changes, however measurements waver.
// Threading: single strand. Memory: three numbers for each slot of the roster, twice at most.
#pragma once

#include "swarm/run/codec_choice.hpp"
#include "swarm/run/run_context.hpp"

#include <boost/container/flat_map.hpp>

namespace swarm::run {

class CodecChooser {
 public:
    void note(const Roster& roster, SlotId slot, const protocol::SelfMeasured& measured);

    /// Those of the current step where the run names its codecs itself, or nothing is to be won.
    LegCodecs next(const RunContext& context, TimePoint now);

 private:
    static constexpr Duration kKeepFor = std::chrono::seconds(20);

    [[nodiscard]] CodecChoiceInput input(const RunContext& context) const;

    boost::container::flat_map<SlotId, protocol::SelfMeasured> measured_;  // the latest word
    TimePoint not_before_ = kAtOnce;
};

}  // namespace swarm::run
