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
    std::vector<Point> points;  // sorted by x
};

struct Plot {
    enum class X : std::uint8_t { Seconds, Count };
    enum class Shape : std::uint8_t { Line, Stairs };  // Stairs: a value holds until the next

    std::string id;  // the SVG element's id
    std::string title;
    std::string caption;
    std::string no_data;  // text that stands in the plot when there is no point
    X x = X::Seconds;
    Shape shape = Shape::Line;
    double x_max = 0;
    double y_max = 0;  // 0: the data's largest y, rounded up
    std::function<std::string(double)> y_text;
    std::vector<Series> series;  // at most kSeriesMax
    std::vector<Note> marks;     // vertical lines
};

inline constexpr std::size_t kSeriesMax = 8;  // the number of colours

std::string to_figure(const Plot& plot);

/// A figure with one row per kind of event and one tick per event.
std::string event_figure(const std::vector<Note>& notes, double seconds_max);

/// Returns "trouble", "gain" or "other": the colour class of an event of this kind.
std::string class_of_kind(NoteKind kind);

}  // namespace sim
