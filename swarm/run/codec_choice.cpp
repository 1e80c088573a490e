#include "swarm/run/codec_choice.hpp"

#include "compression/passing_time.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace swarm::run {
namespace {

using protocol::Leg;

/// The codecs that may be chosen, least lossy first. Every other codec is neither smaller nor less
/// lossy than one of these.
constexpr std::array kLadder{CodecId::None, CodecId::Int8, CodecId::Int4};
/// A change must make the step shorter by this factor, because measurements waver.
constexpr double kWorthAChange = 0.95;

std::size_t rank(CodecId codec) {
    return static_cast<std::size_t>(
        std::find(kLadder.begin(), kLadder.end(), codec) - kLadder.begin()
    );
}

/// The stage whose uplink carries the leg: stage b sends forward over boundary b, and stage b + 1
/// sends backward.
std::size_t sender(std::size_t leg) {
    return leg / 2 + leg % 2;
}

double line_bytes_per_s(const CodecChoiceInput& input, std::size_t leg) {
    const StageMeasured& from = input.stages[sender(leg)];
    return leg % 2 == 0 ? from.to_next_bytes_per_s : from.to_previous_bytes_per_s;
}

LegCodecs fastest(const CodecChoiceInput& input, LegCodecs codecs) {
    for (std::size_t leg = 0; leg < codecs.size(); ++leg) {
        if (line_bytes_per_s(input, leg) > 0) {
            codecs[leg] =
                *std::min_element(kLadder.begin(), kLadder.end(), [&](CodecId a, CodecId b) {
                    return passing_s(input, leg, a) < passing_s(input, leg, b);
                });
        }
    }
    return codecs;
}

/// Gives the legs the less lossy codec `to` while the step stays within `within_s`. Gradients come
/// first, because they lose more by int4.
void lift(const CodecChoiceInput& input, CodecId to, double within_s, LegCodecs& codecs) {
    for (const std::size_t way : {1U, 0U}) {
        for (std::size_t leg = way; leg < codecs.size(); leg += 2) {
            LegCodecs better = codecs;
            better[leg] = to;
            const bool lifts = line_bytes_per_s(input, leg) > 0 && rank(to) < rank(codecs[leg]);
            if (lifts && predicted_step_s(input, better) <= within_s) {
                codecs = std::move(better);
            }
        }
    }
}

bool is_less_lossy(const LegCodecs& a, const LegCodecs& b) {
    std::size_t of_a = 0;
    std::size_t of_b = 0;
    for (std::size_t leg = 0; leg < a.size(); ++leg) {
        of_a += rank(a[leg]);
        of_b += rank(b[leg]);
    }
    return of_a < of_b;
}

}  // namespace

double passing_s(const CodecChoiceInput& input, std::size_t leg, CodecId id) {
    const double rate = line_bytes_per_s(input, leg);
    if (rate <= 0) {
        return 0;
    }
    const compression::Codec* const codec = compression::find_codec(id);
    SWARM_ASSERT(codec != nullptr);
    return compression::passing_s(*codec, input.elements[leg / 2], rate);
}

double predicted_step_s(const CodecChoiceInput& input, const LegCodecs& codecs) {
    return step_time(stage_times(input, codecs), input.microbatches, input.in_flight).step_s;
}

std::vector<StageTime> stage_times(const CodecChoiceInput& input, const LegCodecs& codecs) {
    std::vector<StageTime> times;
    for (const StageMeasured& stage : input.stages) {
        times.push_back({static_cast<double>(stage.peers), stage.microbatch_s, 0, 0});
    }
    for (std::size_t leg = 0; leg < codecs.size(); ++leg) {
        StageTime& from = times[sender(leg)];
        (leg % 2 == 0 ? from.to_next_s : from.to_previous_s) = passing_s(input, leg, codecs[leg]);
    }
    return times;
}

LegCodecs choose_codecs(const CodecChoiceInput& input, const LegCodecs& current) {
    SWARM_ASSERT(current.size() == 2 * (input.stages.size() - 1));
    for (const StageMeasured& stage : input.stages) {
        if (stage.microbatch_s <= 0) {
            return current;
        }
    }
    LegCodecs chosen = fastest(input, current);
    const double within_s = compression::kSlowerAtMost * predicted_step_s(input, chosen);
    lift(input, CodecId::Int8, within_s, chosen);
    lift(input, CodecId::None, within_s, chosen);
    const double wins =
        predicted_step_s(input, chosen) / std::max(predicted_step_s(input, current), 1e-9);
    return wins <= kWorthAChange || is_less_lossy(chosen, current) ? chosen : current;
}

}  // namespace swarm::run
