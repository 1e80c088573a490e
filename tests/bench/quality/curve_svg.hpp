// Curves as a lone SVG, for a README: no script, no font, nothing to fetch; light and dark by the
// reader's system, with the colours and dashes of the report's page.
// Invariants: any text is escaped; the axes begin at round figures, time at 0, the other one where
// the curves do. Up to eight curves differ in colour or dash.
// Accessibility: title and description, and a legend with the value at each curve's end.
// Units: time in seconds. Threading: stateless. Cost: O(points).
#pragma once

#include "sim/report/axis.hpp"
#include "tests/bench/quality/quality_math.hpp"

#include <string>
#include <vector>

namespace swarm::bench {

struct SvgCurve {
    std::string name;
    LossCurve points;  // `at` in seconds; all finite, at least one point
};

struct SvgPlot {
    std::string title;
    std::string description;
    std::vector<SvgCurve> curves;  // at least one
    std::vector<sim::Tick> ticks{};  // along the horizontal axis; empty: it is time
};

std::string to_svg(const SvgPlot& plot);

}  // namespace swarm::bench
