#include "swarm/cli/plot/line_plot.hpp"

#include "sim/report/figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace swarm::cli {
namespace {

// Places in units of the drawing.
constexpr double kWidth = 800;
constexpr double kHeight = 480;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr double kLegendLine = 18;

constexpr double kTicks = 5;

/// Colours of Okabe and Ito, "Color Universal Design", 2008.
constexpr std::array<const char*, 7> kColours = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

struct Range {
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();

    void take(double value) {
        least = std::min(least, value);
        most = std::max(most, value);
    }

    /// Gives a range without length one, and one without points any.
    void widen() {
        if (least > most) {
            least = 0;
            most = 1;
        } else if (least == most) {
            const double by = least == 0 ? 1 : std::abs(least) / 10;
            least -= by;
            most += by;
        }
    }
};

std::string format(const char* pattern, double value) {
    char text[64];
    std::snprintf(text, sizeof text, pattern, value);
    return text;
}

std::string place(double value) {
    return format("%.1f", value);
}

/// The plot's scales, and the points that it can show.
class Drawing {
 public:
    explicit Drawing(const LinePlot& plot) : plot_(plot) {
        for (const PlotLine& line : plot.lines) {
            for (const PlotPoint& point : line.points) {
                if (is_shown(point)) {
                    x_.take(point.x);
                    y_.take(scaled(point.y));
                }
            }
        }
        x_.widen();
        y_.widen();
    }

    std::string svg() const {
        std::string out =
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 480\" "
            "width=\"800\" height=\"480\" role=\"img\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n<title>" +
            sim::escaped(plot_.title) +
            "</title>\n<rect width=\"800\" height=\"480\" fill=\"#fff\"/>\n";
        out += text(kWidth / 2, kTop / 2, "middle", plot_.title);
        out += text((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", plot_.x_name);
        out += "<text transform=\"translate(16 " + place((kTop + kHeight - kBottom) / 2) +
               ") rotate(-90)\" text-anchor=\"middle\">" + sim::escaped(plot_.y_name) + "</text>\n";
        out += axes();
        for (std::size_t i = 0; i < plot_.lines.size(); ++i) {
            out += curve(plot_.lines[i], colour(i)) + legend(i);
        }
        return out + "</svg>\n";
    }

 private:
    static const char* colour(std::size_t line) { return kColours[line % kColours.size()]; }

    static std::string text(double x, double y, const char* anchor, const std::string& words) {
        return "<text x=\"" + place(x) + "\" y=\"" + place(y) + "\" text-anchor=\"" + anchor +
               "\">" + sim::escaped(words) + "</text>\n";
    }

    static std::string line(double x1, double y1, double x2, double y2, const char* stroke) {
        return "<line x1=\"" + place(x1) + "\" y1=\"" + place(y1) + "\" x2=\"" + place(x2) +
               "\" y2=\"" + place(y2) + "\" stroke=\"" + stroke + "\"/>\n";
    }

    [[nodiscard]] bool is_shown(const PlotPoint& point) const {
        return std::isfinite(point.x) && std::isfinite(point.y) && (!plot_.is_log || point.y > 0);
    }

    [[nodiscard]] double scaled(double y) const { return plot_.is_log ? std::log10(y) : y; }

    [[nodiscard]] double across(double x) const {
        return kLeft + (x - x_.least) / (x_.most - x_.least) * (kWidth - kLeft - kRight);
    }

    /// `y`: scaled.
    [[nodiscard]] double up(double y) const {
        const double share = (y - y_.least) / (y_.most - y_.least);
        return kHeight - kBottom - share * (kHeight - kTop - kBottom);
    }

    [[nodiscard]] std::string axes() const {
        std::string out;
        for (const double tick : round_ticks(x_.least, x_.most)) {
            const double at = across(tick);
            out += line(at, kTop, at, kHeight - kBottom, "#e0e0e0");
            out += text(at, kHeight - kBottom + 18, "middle", format("%.6g", tick));
        }
        for (const double tick : round_ticks(y_.least, y_.most)) {
            const double at = up(tick);
            const double value = plot_.is_log ? std::pow(10, tick) : tick;
            out += line(kLeft, at, kWidth - kRight, at, "#e0e0e0");
            out += text(kLeft - 6, at + 4, "end", format(plot_.is_log ? "%.3g" : "%.6g", value));
        }
        out += line(kLeft, kTop, kLeft, kHeight - kBottom, "#404040");
        out += line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "#404040");
        return out;
    }

    [[nodiscard]] std::string legend(std::size_t line_number) const {
        const double y = kTop + kLegendLine * (static_cast<double>(line_number) + 0.5);
        const double x = kWidth - kRight - 8;
        return line(x - 24, y, x, y, colour(line_number)) +
               text(x - 30, y + 4, "end", plot_.lines[line_number].name);
    }

    /// Draws each run of points without a gap. A pixel needs no more than its least and its
    /// greatest point.
    [[nodiscard]] std::string curve(const PlotLine& points, const char* stroke) const {
        std::string path;
        bool pen_down = false;
        for (const PlotPoint& point : thinned(points.points)) {
            if (is_shown(point)) {
                path += (pen_down ? " L" : " M") + place(across(point.x)) + " " +
                        place(up(scaled(point.y)));
            }
            pen_down = is_shown(point);
        }
        return "<path fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string(stroke) +
               "\" d=\"" + path + "\"/>\n";
    }

    [[nodiscard]] std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points) const {
        const std::size_t per_bucket = (points.size() * 2 + kPointsMax - 1) / kPointsMax;
        if (per_bucket <= 2) {
            return points;
        }
        std::vector<PlotPoint> kept;
        for (std::size_t begin = 0; begin < points.size(); begin += per_bucket) {
            const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
            const auto count = std::min(per_bucket, points.size() - begin);
            const auto by_y = [](const PlotPoint& a, const PlotPoint& b) { return a.y < b.y; };
            auto [least, most] =
                std::minmax_element(first, first + static_cast<std::ptrdiff_t>(count), by_y);
            kept.push_back(*std::min(least, most));
            kept.push_back(*std::max(least, most));
        }
        return kept;
    }

    const LinePlot& plot_;
    Range x_;
    Range y_;
};

}  // namespace

std::vector<double> round_ticks(double least, double most) {
    const double rough = (most - least) / kTicks;
    if (!(rough > 0) || !std::isfinite(rough)) {
        return {least};
    }
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= rough) {
            step = factor * power;
            break;
        }
    }
    std::vector<double> ticks;
    const auto first = static_cast<std::int64_t>(std::ceil(least / step - 1e-9));
    const auto last = static_cast<std::int64_t>(std::floor(most / step + 1e-9));
    for (std::int64_t i = first; i <= last; ++i) {
        ticks.push_back(static_cast<double>(i) * step);
    }
    return ticks;
}

std::string to_svg(const LinePlot& plot) {
    return Drawing(plot).svg();
}

}  // namespace swarm::cli
