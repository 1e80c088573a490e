// A plot of lines as one SVG file with its letters, for papers and pages: axes with round figures,
// a legend, and colours that people with colour blindness can tell apart.
// Invariant: any text is escaped; numbers that are not finite leave a gap in their line.
// Threading: stateless. Cost: O(points); a line has at most kPointsMax points, each of them the
// least or the greatest of its neighbours.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace swarm::cli {

struct PlotPoint {
    double x = 0;
    double y = 0;
};

struct PlotLine {
    std::string name;
    std::vector<PlotPoint> points;  // sorted by x
};

struct LinePlot {
    std::string title;
    std::string x_name;
    std::string y_name;
    bool is_log = false;  // y on a logarithmic scale; points that are not above zero are left out
    std::vector<PlotLine> lines;
};

inline constexpr std::size_t kPointsMax = 2000;

/// Returns places for at most seven ticks at round figures within [least, most]; one where both are
/// equal.
std::vector<double> round_ticks(double least, double most);

std::string to_svg(const LinePlot& plot);

}  // namespace swarm::cli
