#include "swarm/cli/serve/lending.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/service_manager.hpp"
#include "swarm/cli/terminal/usage.hpp"
#include "swarm/net/event_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <sys/resource.h>
#include <system_error>

namespace swarm::cli {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr std::uint32_t kMinute = 60;
constexpr std::uint32_t kHour = 60 * kMinute;
constexpr std::uint32_t kNoTime = 24 * kHour;
constexpr std::size_t kParts = 3;  // hours, minutes, seconds

/// Reads "HH:MM" or "HH:MM:SS".
std::optional<std::uint32_t> parse_time_of_day(std::string_view text) {
    constexpr std::array<std::uint32_t, kParts> kBounds = {24, 60, 60};
    std::array<std::uint32_t, kParts> parts{};
    std::size_t count = 0;
    for (; count < kParts; ++count) {
        const std::string_view part = text.substr(0, text.find(':'));
        const char* const end = part.data() + part.size();
        const auto [rest, error] = std::from_chars(part.data(), end, parts[count]);
        if (error != std::errc{} || rest != end || part.size() > 2 ||
            parts[count] >= kBounds[count]) {
            return std::nullopt;
        }
        if (part.size() == text.size()) {
            return count == 0 ? std::nullopt
                              : std::optional(parts[0] * kHour + parts[1] * kMinute + parts[2]);
        }
        text.remove_prefix(part.size() + 1);
    }
    return std::nullopt;
}

std::string text_of(std::uint32_t second) {
    std::array<char, 16> text{};
    const std::uint32_t seconds = second % kMinute;
    std::snprintf(
        text.data(),
        text.size(),
        seconds == 0 ? "%02u:%02u" : "%02u:%02u:%02u",
        second / kHour,
        second / kMinute % 60,
        seconds
    );
    return text.data();
}

}  // namespace

Result<> be_nice(int nice) {
    if (::setpriority(PRIO_PROCESS, 0, nice) == 0) {
        return {};
    }
    return usage(
        "--nice " + std::to_string(nice) + ": " + std::generic_category().message(errno) +
        "; only root can raise the priority that this shell has"
    );
}

Result<LendingHours> LendingHours::parse(const std::string& text) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const std::string_view after = std::string_view(text).substr(dash);
    const std::uint32_t begin =
        parse_time_of_day(std::string_view(text).substr(0, dash)).value_or(kNoTime);
    const std::uint32_t end =
        parse_time_of_day(after.substr(std::min<std::size_t>(1, after.size()))).value_or(kNoTime);
    if (begin == kNoTime || end == kNoTime || begin == end) {
        return usage("wants hours such as 22:00-07:00, not " + text);
    }
    return LendingHours(begin, end);
}

std::string LendingHours::begin() const {
    return text_of(begin_);
}

std::string LendingHours::end() const {
    return text_of(end_);
}

std::uint32_t second_of_day() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm local{};
    ::localtime_r(&now, &local);
    return static_cast<std::uint32_t>(local.tm_hour) * kHour +
           static_cast<std::uint32_t>(local.tm_min) * kMinute +
           static_cast<std::uint32_t>(std::min(local.tm_sec, 59));
}

int serve_in_hours(
    const LendingHours& hours,
    Console& console,
    const std::function<std::optional<int>(const std::function<bool()>& may_stay)>& serve
) {
    // The clock of the wall is asked again and again: it may be set, and the machine may sleep.
    const std::function<bool()> may_stay = [&hours] { return hours.contain(second_of_day()); };
    for (;;) {
        if (!may_stay()) {
            net::EventLoop loop;
            std::optional<int> signal;
            loop.on_signal([&signal](int number) { signal = number; });
            const std::string note = "lends this machine again at " + hours.begin();
            tell_service_manager("READY=1");
            tell_service_manager("STATUS=" + note);
            console.info(note + "; Ctrl-C ends it");
            while (!signal && !may_stay()) {
                static_cast<void>(loop.run_until([&] { return signal.has_value(); }, kLookEvery));
            }
            if (signal) {
                return after_signal(*signal);
            }
        }
        if (const std::optional<int> exit_code = serve(may_stay)) {
            return *exit_code;
        }
    }
}

}  // namespace swarm::cli
