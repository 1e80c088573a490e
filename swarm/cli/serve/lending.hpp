// The terms on which `swarm serve` lends this machine: its priority, and the hours of the day.
// Times of a day are those of this machine's clock and time zone, so summer time is theirs, too.
// Threading: be_nice() before other threads begin, since each thread has the priority of the one
// that made it; the rest from any thread. Errors: Usage (Reject).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace swarm::cli {

inline constexpr int kNiceMax = 19;

/// Lowers the priority of this process: 0 is that of most programs, kNiceMax is the lowest.
Result<> be_nice(int nice);

class LendingHours {
 public:
    /// Parses "22:00-07:00" or "22:00:30-07:00:00". Hours may go over midnight; both ends the same
    /// is refused.
    static Result<LendingHours> parse(const std::string& text);

    /// `second`: seconds since midnight. The end is outside.
    [[nodiscard]] bool contain(std::uint32_t second) const {
        return begin_ < end_ ? second >= begin_ && second < end_
                             : second >= begin_ || second < end_;
    }

    /// Returns the begin as "22:00" or "22:00:30".
    [[nodiscard]] std::string begin() const;
    [[nodiscard]] std::string end() const;

 private:
    LendingHours(std::uint32_t begin, std::uint32_t end) : begin_(begin), end_(end) {}

    std::uint32_t begin_;  // seconds since midnight
    std::uint32_t end_;
};

/// Returns the seconds since midnight on this machine's clock.
std::uint32_t second_of_day();

/// Calls `serve` while the hours last, and again whenever they begin, until it returns an exit code
/// or a signal comes. `serve` gets a question: whether this process may stay. It returns nullopt
/// when it has left because of a No.
int serve_in_hours(
    const LendingHours& hours,
    Console& console,
    const std::function<std::optional<int>(const std::function<bool()>& may_stay)>& serve
);

}  // namespace swarm::cli
