// The progress of `swarm eval`, for people who wait: on a terminal a status line that is redrawn,
// elsewhere a line every 10 s. Short work shows nothing.
// Threading: one thread. Times are those of the real clock.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cstdint>
#include <string>

namespace swarm::cli {

/// "emma.txt: 4096 of 91000 tokens, 212.3 tokens/s, 6:49 left". `unit`: that of the numbers.
std::string eval_progress_line(
    const std::string& name,
    const char* unit,
    std::uint64_t done,
    std::uint64_t all,
    double seconds
);

class EvalProgress {
 public:
    EvalProgress(Console& console, std::string name, const char* unit, std::uint64_t all);

    void show(std::uint64_t done);

    /// Ends the status line, so that a row of the table can follow.
    void end() { console_.settle(); }

    [[nodiscard]] double seconds() const;

 private:
    Console& console_;
    std::string name_;
    const char* unit_;
    std::uint64_t all_;
    TimePoint began_;
    TimePoint due_;
};

}  // namespace swarm::cli
