// The evaluations of a run as JSON: those of --json and of metrics.jsonl have the same texts.
// Threading: pure. Units: nats per token, bits per byte.
#pragma once

#include "swarm/cli/common/report_lines.hpp"

#include <boost/json/array.hpp>

#include <cstdint>
#include <map>
#include <span>

namespace swarm::cli {

/// One object per text: name, loss, perplexity and bits_per_byte.
boost::json::array held_out_texts_json(std::span<const HeldOutFound::Text> texts);

/// One object per evaluation, in the order of steps.
boost::json::array held_out_json(const std::map<std::uint64_t, HeldOutFound>& by_step);

}  // namespace swarm::cli
