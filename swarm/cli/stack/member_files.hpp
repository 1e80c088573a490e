// The files of members that are to be trained apart: a run file for each, and, for the control of
// an experiment, texts with paragraphs of all sources.
// Threading: pure functions.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swarm::cli {

/// The name of the member that is trained on this source: that of the file without its ending, with
/// a dash for each letter that a run's name cannot have.
std::string member_name(const std::filesystem::path& source);

/// A run file with the keys that differ from their defaults, and `comment` above.
std::string run_file_text(const run::RunConfig& config, const std::string& comment);

/// Deals the paragraphs of all texts to so many members at random, each to one of them: texts end
/// at blank lines. The same seed deals the same way. REQUIRES: members > 0.
std::vector<std::string> deal_paragraphs(
    const std::vector<std::string>& texts, std::size_t members, std::uint64_t seed
);

}  // namespace swarm::cli
