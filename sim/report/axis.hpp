// The places of an axis's ticks: round figures, at most six, the first at zero.
// Units: as named. Threading: stateless.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sim {

struct Tick {
    double at = 0;
    std::string text;
};

/// Returns 1, 2, 3, 4, 5, 6 or 8 times a power of ten, at least `value`; 1 when `value` is not
/// above zero.
double rounded_up(double value);

/// Returns ticks at three to five equal parts of `max`, which is round.
std::vector<Tick> ticks(double max, const std::function<std::string(double)>& text);
/// Ticks with the unit written out: "0", "10 min", "20 min".
std::vector<Tick> time_ticks(double seconds_max);
std::vector<Tick> count_ticks(double max);

}  // namespace sim
