// Single keys of a run file that a command line sets: `--set optimizer.learning_rate=1e-4`.
// A value is TOML; text and the elements of a list may stand without quotes and brackets. The
// reader and the bounds are those of a run file (config_toml.cpp).
// Threading: pure. Errors: Usage (Reject), one line that begins with the setting and names the key.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swarm::run {

/// "optimizer.learning_rate" and "1e-4"; of two with one key the later one counts.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Sets the keys. What belonged to a former value goes with it, unless it is set, too: the digest
/// of another corpus, tokenizer or first model, the layers of another number of stages, the tokens
/// of another tokenizer, the other unit of the warm-up. Rules between two keys are left to
/// check_run().
Result<> set_keys(RunConfig& config, const Settings& settings);

bool sets_key(const Settings& settings, std::string_view key);

}  // namespace swarm::run
