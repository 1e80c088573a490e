// Keeps warnings that come again and again from filling the screen: one line per kind and 10 s,
// with the number of those that were not shown. Two lines are of a kind when they differ only in
// whole words that are numbers, so each peer, address and file has its own.
// Bounds: kKindsMax kinds are remembered; beyond, the one that was shown first is forgotten.
// Threading: one thread. Cost: O(length) per line, and O(kinds) where a kind is forgotten.
#pragma once

#include "swarm/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class RepeatFilter {
 public:
    static constexpr Duration kPause = std::chrono::seconds(10);
    static constexpr std::size_t kKindsMax = 256;

    /// Returns the line to show, if this one is to be shown now.
    std::optional<std::string> pass(const std::string& line, TimePoint now);

    /// Returns the lines about kinds that were held back and whose pause is over, or all of them.
    std::vector<std::string> take_overdue(TimePoint now);

    std::vector<std::string> take_all() { return take_overdue(kNever); }

 private:
    struct Shown {
        TimePoint at;
        std::uint64_t held_back = 0;
        std::string last{};  // the last line that was held back
    };

    std::map<std::string, Shown> kinds_;
};

}  // namespace swarm::cli
