// Which codec each tensor between two stages travels in: two per boundary, its activations
// (forward) and their gradients (backward). A run file names one, or one for each way
// ("int4/int8"), for all boundaries; with "auto" the coordinator chooses per boundary and way, at a
// commit, and its choice is part of the commit's record (codec_choice.hpp).
// Errors: nullopt for what is no such text.
#pragma once

#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::run {

using protocol::CodecId;

/// By boundary, forward before backward: 2 x (stages - 1).
using LegCodecs = std::vector<CodecId>;

/// Boundary b lies between the stages b and b + 1.
constexpr std::size_t leg_index(std::size_t boundary, protocol::Leg leg) {
    return 2 * boundary + (leg == protocol::Leg::Backward ? 1 : 0);
}

[[nodiscard]] bool chooses_codecs(const RunConfig& config);

/// "int8", "int4/int8": forward and backward. "auto" is none.
struct CodecPair {
    CodecId forward = CodecId::None;
    CodecId backward = CodecId::None;
};

std::optional<CodecPair> parse_codec_pair(std::string_view text);

/// What a run begins with, and keeps unless it chooses. config has passed check_run().
LegCodecs first_codecs(const RunConfig& config);

/// "int4/int8,none/none": for logs and for people. Empty for a run of one stage.
std::string to_text(const LegCodecs& codecs);
/// Of a run with so many stages.
std::optional<LegCodecs> parse_leg_codecs(std::string_view text, std::uint32_t stages);

/// What passes from the step on, in order; every step has the last before it.
struct CodecChange {
    std::uint64_t step = 0;
    LegCodecs codecs;
};

}  // namespace swarm::run
