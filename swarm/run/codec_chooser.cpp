#include "swarm/run/codec_chooser.hpp"

#include "swarm/protocol/tensor_envelope.hpp"

#include <algorithm>

namespace swarm::run {
namespace {

/// Of those that are known, the slower.
double slower(double a, double b) {
    return a <= 0 || b <= 0 ? std::max(a, b) : std::min(a, b);
}

}  // namespace

void CodecChooser::note(const Roster& roster, SlotId slot, const protocol::SelfMeasured& measured) {
    measured_[slot] = measured;
    if (measured_.size() > 2 * roster.slots().size()) {
        for (auto entry = measured_.begin(); entry != measured_.end();) {
            entry = roster.find(entry->first) ? entry + 1 : measured_.erase(entry);
        }
    }
}

CodecChoiceInput CodecChooser::input(const RunContext& context) const {
    const RunConfig& config = context.config;
    const protocol::TensorEnvelope activation{
        protocol::Dtype::Float32, CodecId::None, activation_shape(config)};
    CodecChoiceInput input;
    input.elements = activation.elements();
    input.microbatches = config.microbatches;
    std::uint32_t peers = 0;
    for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
        StageMeasured together;
        std::uint32_t measured = 0;
        const std::vector<SlotId> members = context.roster.members({stage});
        for (const SlotId slot : members) {
            const auto found = measured_.find(slot);
            if (found == measured_.end() || found->second.microbatch_s <= 0) {
                continue;
            }
            const protocol::SelfMeasured& one = found->second;
            ++measured;
            together.microbatch_s += one.microbatch_s;
            together.to_next_bytes_per_s =
                slower(together.to_next_bytes_per_s, one.to_next_bytes_per_s);
            together.to_previous_bytes_per_s =
                slower(together.to_previous_bytes_per_s, one.to_previous_bytes_per_s);
        }
        together.microbatch_s /= std::max(measured, 1U);
        together.peers = std::max(static_cast<std::uint32_t>(members.size()), 1U);
        peers += together.peers;
        input.stages.push_back(together);
    }
    input.in_flight = config.in_flight > 0 ? config.in_flight : std::max(2 * peers, 2U);
    return input;
}

LegCodecs CodecChooser::next(const RunContext& context, TimePoint now) {
    if (!chooses_codecs(context.config) || now < not_before_) {
        return context.codecs;
    }
    LegCodecs chosen = choose_codecs(input(context), context.codecs);
    if (chosen != context.codecs) {
        not_before_ = now + kKeepFor;
    }
    return chosen;
}

}  // namespace swarm::run
