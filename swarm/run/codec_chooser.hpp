// The coordinator's side of `codec = "auto"`: from what the members measured of themselves, says at
// a commit which codecs the next step travels in (codec_choice.hpp).
// Invariant: at least kKeepFor lies between two changes, however measurements waver.
// Threading: single strand.
#pragma once

#include "swarm/run/codec_choice.hpp"
#include "swarm/run/run_context.hpp"
#include "swarm/run/self_measures.hpp"

namespace swarm::run {

class CodecChooser {
 public:
    /// Those of the current step where the run names its codecs itself, or nothing is to be won.
    LegCodecs next(const RunContext& context, const SelfMeasures& measures, TimePoint now);

 private:
    static constexpr Duration kKeepFor = std::chrono::seconds(20);

    TimePoint not_before_ = kAtOnce;
};

}  // namespace swarm::run
