#include "sim/report/axis.hpp"

#include "sim/report/figures.hpp"

#include <array>
#include <cmath>

namespace sim {
namespace {

constexpr double kIntervalsMax = 5;

struct Unit {
    double seconds;
    const char* name;
};

std::vector<Tick> regular(double max, double step, const std::function<std::string(double)>& text) {
    std::vector<Tick> ticks;
    for (int i = 0; i * step <= max * (1 + 1e-9) && i <= kIntervalsMax; ++i) {
        ticks.push_back({i * step, text(i * step)});
    }
    return ticks;
}

/// Writes a tick with its unit; 0 stands without.
std::string in_unit(double seconds, const Unit& unit) {
    return seconds == 0 ? "0" : number_text(seconds / unit.seconds) + " " + unit.name;
}

}  // namespace

double rounded_up(double value) {
    if (!(value > 0) || !std::isfinite(value)) {
        return 1;
    }
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double factor : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
        if (factor * power >= value * (1 - 1e-9)) {
            return factor * power;
        }
    }
    return 10 * power;
}

std::vector<Tick> ticks(double max, const std::function<std::string(double)>& text) {
    const double leading = max / std::pow(10, std::floor(std::log10(max) + 1e-9));
    const auto digit = std::lround(leading);
    const int parts = digit == 1 || digit == 5 ? 5 : digit == 3 || digit == 6 ? 3 : 4;
    return regular(max, max / parts, text);
}

std::vector<Tick> time_ticks(double seconds_max) {
    constexpr std::array<double, 14> kOfMinutesAndHours{
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200};
    constexpr std::array<double, 5> kOfHours{10'800, 21'600, 43'200, 86'400, 172'800};
    constexpr std::array<Unit, 4> kUnits{{{86'400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
    double step = seconds_max < kIntervalsMax ? rounded_up(seconds_max / kIntervalsMax) : 0;
    const auto take_first_that_fits = [&](const auto& candidates) {
        for (const double candidate : candidates) {
            step = step == 0 && seconds_max / candidate <= kIntervalsMax ? candidate : step;
        }
    };
    take_first_that_fits(kOfMinutesAndHours);
    take_first_that_fits(kOfHours);
    if (step == 0) {
        step = 86'400 * rounded_up(seconds_max / 86'400 / kIntervalsMax);
    }
    for (const Unit& unit : kUnits) {
        if (step >= unit.seconds) {
            return regular(seconds_max, step, [&](double at) { return in_unit(at, unit); });
        }
    }
    return regular(seconds_max, step, [](double at) { return at == 0 ? "0" : seconds_text(at); });
}

std::vector<Tick> count_ticks(double max) {
    const double step = std::fmax(1, rounded_up(max / kIntervalsMax));
    return regular(max, std::ceil(step), number_text);
}

}  // namespace sim
