#include "tests/bench/quality/curve_svg.hpp"

#include "sim/report/figures.hpp"
#include "sim/report/page_style.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace swarm::bench {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 360;
// The frame in which the curves are:
constexpr double kLeft = 52;
constexpr double kRight = 560;
constexpr double kTop = 44;
constexpr double kBottom = 320;
constexpr double kLegendLeft = 580;
constexpr double kLineHeight = 20;
constexpr double kKeyWidth = 24;
constexpr std::size_t kStyles = 8;  // entries of kCurveStyle
constexpr double kHair = 1e-9;      // rounding adds up to this to a quotient

constexpr const char* kTextStyle =
    ".back { fill: var(--back); }\n"
    "text { fill: var(--text); font: 12px system-ui, sans-serif; }\n"
    ".soft { fill: var(--soft); } .title { font-size: 14px; }\n"
    ".right { text-anchor: end; } .middle { text-anchor: middle; }\n";

std::string fixed(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

/// A number of the picture, in tenths, which are finer than a screen.
std::string number(double value) {
    std::string text = fixed(value, 1);
    if (text.ends_with(".0")) {
        text.resize(text.size() - 2);
    }
    return text;
}

/// From the curves' figures to the picture's coordinates.
struct Frame {
    double x_max = 1;
    double y_min = 0;   // a whole number of y_part
    double y_part = 1;  // between two grid lines
    int y_parts = 1;

    [[nodiscard]] double x(double at) const { return kLeft + (kRight - kLeft) * at / x_max; }

    [[nodiscard]] double y(double loss) const {
        return kBottom - (kBottom - kTop) * (loss - y_min) / (y_part * y_parts);
    }
};

Frame frame_of(const std::vector<SvgCurve>& curves) {
    Frame frame;
    double x_max = 0;
    double low = curves.front().points.front().loss;
    double high = low;
    for (const SvgCurve& curve : curves) {
        for (const LossPoint& point : curve.points) {
            x_max = std::max(x_max, point.at);
            low = std::min(low, point.loss);
            high = std::max(high, point.loss);
        }
    }
    frame.x_max = x_max > 0 ? x_max : 1;
    const auto no_text = [](double) { return std::string(); };
    frame.y_part = sim::ticks(sim::rounded_up(high - low), no_text)[1].at;
    frame.y_min = frame.y_part * std::floor(low / frame.y_part + kHair);
    const double parts = std::ceil((high - frame.y_min) / frame.y_part - kHair);
    frame.y_parts = std::max(1, static_cast<int>(parts));
    return frame;
}

std::string text(double x, double y, const std::string& classes, const std::string& words) {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + classes + "\">" +
           sim::escaped(words) + "</text>\n";
}

std::string line(const char* classes, double x1, double y1, double x2, double y2) {
    return std::string("<path class=\"") + classes + "\" d=\"M" + number(x1) + " " + number(y1) +
           "L" + number(x2) + " " + number(y2) + "\"/>\n";
}

std::string style_of(std::size_t curve) {
    return "curve s" + std::to_string(curve % kStyles);
}

std::string axes(const Frame& frame, const std::vector<sim::Tick>& ticks) {
    std::string out;
    const double digits = std::ceil(-std::log10(frame.y_part) - kHair);
    for (int i = 0; i <= frame.y_parts; ++i) {
        const double loss = frame.y_min + frame.y_part * i;
        const double y = frame.y(loss);
        const std::string figure = fixed(loss, std::max(1, static_cast<int>(digits)));
        out += line("grid", kLeft, y, kRight, y) + text(kLeft - 6, y + 4, "soft right", figure);
    }
    for (const sim::Tick& tick : ticks.empty() ? sim::time_ticks(frame.x_max) : ticks) {
        out += text(frame.x(tick.at), kBottom + 18, "soft middle", tick.text);
    }
    return out;
}

std::string path_of(const LossCurve& points, const Frame& frame) {
    std::string path;
    for (const LossPoint& point : points) {
        path += (path.empty() ? "M" : "L") + number(frame.x(point.at)) + " " +
                number(frame.y(point.loss));
    }
    return path;
}

std::string legend_line(const SvgCurve& curve, std::size_t index) {
    const double y = kTop + 8 + kLineHeight * static_cast<double>(index);
    return line(style_of(index).c_str(), kLegendLeft, y, kLegendLeft + kKeyWidth, y) +
           text(kLegendLeft + kKeyWidth + 6, y + 4, "name", curve.name) +
           text(kWidth - 8, y + 4, "soft right", fixed(curve.points.back().loss, 3));
}

}  // namespace

std::string to_svg(const SvgPlot& plot) {
    SWARM_ASSERT(!plot.curves.empty());
    const Frame frame = frame_of(plot.curves);
    const std::string size = number(kWidth) + " " + number(kHeight);
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size +
                      "\" role=\"img\" aria-labelledby=\"title about\">\n<title id=\"title\">" +
                      sim::escaped(plot.title) + "</title>\n<desc id=\"about\">" +
                      sim::escaped(plot.description) + "</desc>\n<style>" + sim::kCurveStyle +
                      kTextStyle + "</style>\n<rect class=\"back\" width=\"" + number(kWidth) +
                      "\" height=\"" + number(kHeight) + "\"/>\n" +
                      text(8, 20, "title", plot.title) + axes(frame, plot.ticks);
    for (std::size_t i = 0; i < plot.curves.size(); ++i) {
        out += "<path class=\"" + style_of(i) + "\" d=\"" + path_of(plot.curves[i].points, frame) +
               "\"/>\n" + legend_line(plot.curves[i], i);
    }
    return out + "</svg>\n";
}

}  // namespace swarm::bench
