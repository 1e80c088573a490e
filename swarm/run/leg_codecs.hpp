// The codecs of a step: two per boundary between stages, one for activations (forward) and one for
// their gradients (backward). A run file gives all boundaries the same two; with "auto" the
// coordinator chooses per boundary and way at a commit, and its choice is part of the commit's
// record (codec_choice.hpp).
// Threading: values. Errors: nullopt for text that lists no such codecs.
#pragma once

#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::run {

/// 2 x (stages - 1) codecs: by boundary, forward before backward.
using LegCodecs = std::vector<CodecId>;

/// Boundary b lies between the stages b and b + 1.
constexpr std::size_t leg_index(std::size_t boundary, protocol::Leg leg) {
    return 2 * boundary + (leg == protocol::Leg::Backward ? 1 : 0);
}

/// True for `codec = "auto"`.
[[nodiscard]] bool chooses_codecs(const RunConfig& config);

/// The codecs of the first step. They stay unless the run chooses codecs.
LegCodecs first_codecs(const RunConfig& config);

/// "int4/int8,none/none", for the commit log and for people; empty for a run of one stage.
std::string to_text(const LegCodecs& codecs);
/// Reads the text of to_text() for a run with `stages` stages.
std::optional<LegCodecs> parse_leg_codecs(std::string_view text, std::uint32_t stages);

/// The codecs from `step` on, until the next change.
struct CodecChange {
    std::uint64_t step = 0;
    LegCodecs codecs;
};

}  // namespace swarm::run
