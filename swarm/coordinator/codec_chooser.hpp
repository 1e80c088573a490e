// The coordinator's side of `codec = "auto"`. At a commit it chooses the codecs of the next step
// (codec_choice.hpp) from what the members measured of themselves.
// Invariant: at least kKeepFor lies between two changes, even while measurements waver.
// Threading: single strand.
#pragma once

#include "swarm/coordinator/member_rates.hpp"
#include "swarm/coordinator/run_context.hpp"
#include "swarm/run/codec_choice.hpp"

namespace swarm::coordinator {

class CodecChooser {
 public:
    /// The codecs of the next step. They are those of the current step when the run file names its
    /// codecs, or when a change would win nothing.
    run::LegCodecs next(const RunContext& context, const SelfMeasures& measures, TimePoint now);

 private:
    static constexpr Duration kKeepFor = std::chrono::seconds(20);

    TimePoint not_before_ = kAtOnce;
};

}  // namespace swarm::coordinator
