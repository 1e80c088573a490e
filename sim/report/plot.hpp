// A plot as HTML: the curves are inline SVG that is stretched to the width of its box, all text is
// HTML beside it, so that letters keep their size on a narrow screen. No script.
// Accessibility: title and description in the SVG, keyboard focus, values as tool tips, and the
// same figures as a table that opens below.
// Invariant: any text is escaped; numbers that are not finite leave a gap in their curve.
// Units: x in seconds or in counts. Threading: stateless. Cost: O(points).
#pragma once

#include "sim/report/sim_report.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sim {

struct Point {
    double x = 0;
    double y = 0;
};

struct Series {
    std::string name;
    std::vector<Point> points;  // by x
};

struct Plot {
    enum class X : std::uint8_t { Seconds, Count };
    enum class Shape : std::uint8_t { Line, Stairs };  // Stairs: a value holds until the next

    std::string id;  // of the element
    std::string title;
    std::string caption;
    std::string no_data;  // what is said when there is no point
    X x = X::Seconds;
    Shape shape = Shape::Line;
    double x_max = 0;
    double y_max = 0;  // 0: of the data, rounded up
    std::function<std::string(double)> y_text;
    std::vector<Series> series;  // at most kSeriesMax
    std::vector<Note> marks;     // vertical lines
};

inline constexpr std::size_t kSeriesMax = 8;  // so many colours

std::string to_figure(const Plot& plot);

/// One row per kind of event, one tick per event.
std::string event_figure(const std::vector<Note>& notes, double seconds_max);

/// "trouble", "gain" or "other": how an event of this kind is coloured.
std::string class_of_kind(const std::string& kind);

}  // namespace sim
