// The documents that `swarm stack clusters` splits: pieces of texts, and lines of JSONL.
// Invariant: each reading gives the same documents in the same order.
// Threading: one thread. Memory: one document. Errors: those of find_input_files() and
// DocumentReader; Malformed (Reject): a bad line; TooLarge (Reject): kDocumentsMax; what `take`
// returns ends the reading.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/input_files.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

/// Vectors of so many documents fit into memory: about 1 GB.
inline constexpr std::size_t kDocumentsMax = 1U << 20;

/// Calls `take` with the parts of a text: paragraphs, until a part has kPartBytes.
void each_part(std::string_view text, const std::function<void(std::string_view)>& take);

class ClusteredDocuments {
 public:
    static Result<ClusteredDocuments> find(
        const std::vector<std::string>& paths, const std::string& field
    );

    Result<> each(const std::function<Result<>(std::string_view)>& take) const;

    /// Whether all of them are texts, whose parts make a text again.
    [[nodiscard]] bool are_plain() const;

 private:
    data::InputFiles inputs_;
    std::string field_;
};

}  // namespace swarm::cli
