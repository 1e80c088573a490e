// The keys of a run file for people: what `swarm train --print-toml` writes, and the table in
// README.md. Both walk the list of config_fields.hpp, so they have every key that the reader knows.
// Threading: pure. Errors: none.
#pragma once

#include "swarm/run/config.hpp"

#include <string>

namespace swarm::run {

/// A run file with every key of `config`, each below a comment with its meaning, default and
/// allowed values. parse_run() of it gives an equal configuration.
std::string documented_toml(const RunConfig& config);

/// A markdown table with a row for every key: key, type, default, allowed, meaning. Each line ends
/// with a line feed.
std::string run_reference_table();

}  // namespace swarm::run
