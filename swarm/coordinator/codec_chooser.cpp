#include "swarm/coordinator/codec_chooser.hpp"

#include <algorithm>

namespace swarm::coordinator {
namespace {

/// The slower of the rates that are known; 0 when none is.
double slower(double a, double b) {
    return a <= 0 || b <= 0 ? std::max(a, b) : std::min(a, b);
}

run::CodecChoiceInput input_of(const RunContext& context, const SelfMeasures& measures) {
    const run::RunConfig& config = context.config;
    run::CodecChoiceInput input;
    input.elements = run::elements_between(config);
    input.microbatches = config.microbatches;
    std::uint32_t peers = 0;
    for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
        run::StageMeasured together;
        std::uint32_t measured = 0;
        const std::vector<SlotId> members = context.roster.members({stage});
        for (const SlotId slot : members) {
            const protocol::SelfMeasured* const one = measures.find(slot);
            if (one == nullptr) {
                continue;
            }
            ++measured;
            together.microbatch_s += one->microbatch_s;
            together.to_next_bytes_per_s =
                slower(together.to_next_bytes_per_s, one->to_next_bytes_per_s);
            together.to_previous_bytes_per_s =
                slower(together.to_previous_bytes_per_s, one->to_previous_bytes_per_s);
        }
        together.microbatch_s /= std::max(measured, 1U);
        together.peers = std::max(static_cast<std::uint32_t>(members.size()), 1U);
        peers += together.peers;
        input.stages.push_back(together);
    }
    input.in_flight = config.in_flight > 0 ? config.in_flight : std::max(2 * peers, 2U);
    return input;
}

}  // namespace

run::LegCodecs CodecChooser::next(
    const RunContext& context, const SelfMeasures& measures, TimePoint now
) {
    if (!chooses_codecs(context.config) || now < not_before_) {
        return context.codecs;
    }
    run::LegCodecs chosen = run::choose_codecs(input_of(context, measures), context.codecs);
    if (chosen != context.codecs) {
        not_before_ = now + kKeepFor;
    }
    return chosen;
}

}  // namespace swarm::coordinator
