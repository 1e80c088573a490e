// The members of an average or a mixture, opened and found to fit each other.
// Invariant: all have one architecture, and the same tokens under the same ids.
// Threading: one thread. Errors: those of the readers; Mismatch (Reject): one line that names two
// members and the difference. Memory: the headers of the members' files.
#pragma once

#include "stacking/models/averages/model_average.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace swarm::cli {

struct AverageMembers {
    std::vector<std::string> names;
    std::vector<std::shared_ptr<const stacking::models::ModelSource>> models;
    stacking::tokenizers::ModelTokenizer tokenizer;  // that of the first

    /// Number of positions that every member can read.
    [[nodiscard]] std::uint32_t context() const;

    /// Returns the average of some of them. `weights`: one per member of `chosen`.
    [[nodiscard]] Result<stacking::models::ModelSource> average(
        std::span<const std::size_t> chosen, std::span<const double> weights
    ) const;

    /// Writes a model that was made of the members as a folder, whole or not at all, and prints its
    /// name.
    [[nodiscard]] Result<> write(
        const stacking::models::ModelSource& model, const std::string& folder, Console& console
    ) const;
};

/// REQUIRES: 1 to kAveragedMax names.
Result<AverageMembers> open_members(const std::vector<std::string>& names);

}  // namespace swarm::cli
