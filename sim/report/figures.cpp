#include "sim/report/figures.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace sim {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 3600;
constexpr double kDay = 86'400;

std::string format(const char* pattern, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), pattern, value);
    return text.data();
}

std::string pair_text(double seconds, double unit, const char* name, double part, const char* of) {
    const double whole = std::round(seconds / part);
    const double parts = unit / part;
    const double units = std::floor(whole / parts);
    return format("%.0f ", units) + name + format(" %02.0f ", whole - units * parts) + of;
}

}  // namespace

std::string count_text(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string number_text(double number) {
    if (!std::isfinite(number)) {
        return "-";
    }
    const double size = std::fabs(number);
    if (size >= 999.5) {
        const std::string digits = size < 1e15
                                       ? count_text(static_cast<std::uint64_t>(std::llround(size)))
                                       : format("%.3g", size);
        return (number < 0 ? "-" : "") + digits;
    }
    if (number == std::floor(number)) {
        return format("%.0f", number);
    }
    return format(
        size >= 99.95   ? "%.0f"
        : size >= 9.995 ? "%.1f"
        : size >= 1     ? "%.2f"
                        : "%.3g",
        number
    );
}

std::string share_text(double share) {
    return std::isfinite(share) ? format("%.1f %%", 100 * share) : "-";
}

std::string seconds_text(double seconds) {
    if (!std::isfinite(seconds)) {
        return "-";
    }
    if (seconds < 0.9995) {
        return number_text(1000 * seconds) + " ms";
    }
    if (seconds < kMinute - 0.05) {
        return number_text(seconds) + " s";
    }
    if (seconds < kHour - 0.5) {
        return pair_text(seconds, kMinute, "min", 1, "s");
    }
    if (seconds < kDay - 30) {
        return pair_text(seconds, kHour, "h", kMinute, "min");
    }
    return pair_text(seconds, kDay, "d", kHour, "h");
}

std::string bytes_text(double bytes) {
    constexpr std::array<const char*, 7> kUnits{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    if (!std::isfinite(bytes)) {
        return "-";
    }
    std::size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
        bytes /= 1000;
        ++unit;
    }
    return number_text(bytes) + " " + kUnits[unit];
}

std::string hash_text(std::uint64_t hash) {
    std::array<char, 17> text{};
    std::snprintf(
        text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash)  // 64 bits
    );
    return text.data();
}

std::string mode_name(Mode mode) {
    return mode == Mode::Exact ? "exact" : "fluid";
}

std::string mode_text(Mode mode) {
    if (mode == Mode::Exact) {
        return "exact: the production roles, every message, simulated devices, disks and faults; "
               "only the gradients are a stand-in (the oracle's), whose frames weigh what those "
               "of the model would. No TLS; graphs take no memory.";
    }
    return "fluid: microbatches are flows, corrected by sampled steps; placement, moves, routes "
           "and shares are decided by the production classes. Left out: messages, faults of links.";
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char letter : text) {
        switch (letter) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default:
                out += static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f ? ' ' : letter;
        }
    }
    return out;
}

}  // namespace sim
