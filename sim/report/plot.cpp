#include "sim/report/plot.hpp"

#include "sim/report/axis.hpp"
#include "sim/report/figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace sim {
namespace {

constexpr double kWidth = 1000;  // in the SVG's own coordinates; the page stretches them
constexpr double kHeight = 200;
constexpr std::size_t kTipsMax = 100;
constexpr std::size_t kTableRowsMax = 24;
constexpr std::size_t kMarkColumns = 250;
constexpr std::size_t kMarksBold = 40;  // more marks would hide the curves

std::string coordinate(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

/// Maps the plot's figures to the SVG's coordinates.
struct Scale {
    double x_max = 1;
    double y_max = 1;

    [[nodiscard]] std::string x(double value) const {
        return coordinate(std::clamp(value / x_max, 0.0, 1.0) * kWidth);
    }

    [[nodiscard]] std::string y(double value) const {
        return coordinate((1 - std::clamp(value / y_max, 0.0, 1.0)) * kHeight);
    }
};

std::string path_of(const Series& series, Plot::Shape shape, const Scale& scale) {
    std::string path;
    bool pen_down = false;
    std::string last_y;
    for (const Point& point : series.points) {
        if (!std::isfinite(point.y) || !std::isfinite(point.x)) {
            pen_down = false;
            continue;
        }
        const std::string x = scale.x(point.x);
        const std::string y = scale.y(point.y);
        if (pen_down && shape == Plot::Shape::Stairs) {
            path += "L" + x + " " + last_y;
        }
        path += (pen_down ? "L" : "M") + x + " " + y;
        pen_down = true;
        last_y = y;
    }
    if (pen_down && shape == Plot::Shape::Stairs) {
        path += "L" + coordinate(kWidth) + " " + last_y;
    }
    return path;
}

std::string x_text(const Plot& plot, double x) {
    return plot.x == Plot::X::Seconds ? seconds_text(x) : "step " + number_text(x);
}

/// "stage 0 81.3 %, stage 1 79.9 %" at the n-th point.
std::string values_at(const Plot& plot, std::size_t n) {
    std::string text;
    for (const Series& series : plot.series) {
        if (n < series.points.size()) {
            text +=
                (text.empty() ? "" : ", ") + series.name + " " + plot.y_text(series.points[n].y);
        }
    }
    return text;
}

/// Invisible columns whose titles a browser shows under the pointer.
std::string tips(const Plot& plot, const Scale& scale) {
    const std::vector<Point>& points = plot.series.front().points;
    const std::size_t stride = 1 + points.size() / kTipsMax;
    std::string out;
    for (std::size_t i = 0; i < points.size(); i += stride) {
        const std::size_t next = std::min(i + stride, points.size() - 1);
        const double from = std::clamp(points[i].x / scale.x_max, 0.0, 1.0) * kWidth;
        const double to = std::clamp(points[next].x / scale.x_max, 0.0, 1.0) * kWidth;
        out += "<rect class=\"tip\" x=\"" + coordinate(from) + "\" y=\"0\" width=\"" +
               coordinate(std::max(to - from, 1.0)) + "\" height=\"" + coordinate(kHeight) +
               "\"><title>" + escaped(x_text(plot, points[i].x) + ": " + values_at(plot, i)) +
               "</title></rect>";
    }
    return out;
}

std::string mark_lines(const Plot& plot, const Scale& scale) {
    std::set<std::pair<long, std::string>> drawn;
    std::string out;
    for (const Note& mark : plot.marks) {
        const std::string kind = class_of_kind(mark.kind);
        const double column = std::round(mark.at_s / scale.x_max * kMarkColumns);
        if (std::isfinite(column) && drawn.emplace(static_cast<long>(column), kind).second) {
            const std::string x = scale.x(mark.at_s);
            out += "<line class=\"mark " + kind + "\" x1=\"" + x + "\" x2=\"" + x +
                   "\" y1=\"0\" y2=\"" + coordinate(kHeight) + "\"/>";
        }
    }
    const bool dense = drawn.size() > kMarksBold;
    return std::string("<g class=\"marks") + (dense ? " dense" : "") + "\">" + out + "</g>";
}

std::string grid(const std::vector<Tick>& y_ticks, const Scale& scale) {
    std::string out;
    for (const Tick& tick : y_ticks) {
        const std::string y = scale.y(tick.at);
        out += "<line class=\"grid\" x1=\"0\" x2=\"" + coordinate(kWidth) + "\" y1=\"" + y +
               "\" y2=\"" + y + "\"/>";
    }
    return out;
}

double mean_of(const Series& series) {
    double sum = 0;
    std::size_t count = 0;
    for (const Point& point : series.points) {
        if (std::isfinite(point.y)) {
            sum += point.y;
            ++count;
        }
    }
    return sum / static_cast<double>(count);
}

std::string description(const Plot& plot, const Scale& scale) {
    std::string text = plot.caption + " From 0 to " + x_text(plot, scale.x_max) + ".";
    for (const Series& series : plot.series) {
        text += " " + series.name + ": mean " + plot.y_text(mean_of(series)) + ".";
    }
    return text;
}

std::string svg(const Plot& plot, const Scale& scale, const std::vector<Tick>& y_ticks) {
    const std::string label = plot.id + "-title";
    const std::string about = plot.id + "-about";
    std::string out = "<svg viewBox=\"0 0 " + coordinate(kWidth) + " " + coordinate(kHeight) +
                      "\" preserveAspectRatio=\"none\" role=\"img\" tabindex=\"0\" "
                      "aria-labelledby=\"" +
                      label + " " + about + "\"><title id=\"" + label + "\">" +
                      escaped(plot.title) + "</title><desc id=\"" + about + "\">" +
                      escaped(description(plot, scale)) + "</desc>" + grid(y_ticks, scale) +
                      mark_lines(plot, scale);
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        out += "<path class=\"curve s" + std::to_string(i % kSeriesMax) + "\" d=\"" +
               path_of(plot.series[i], plot.shape, scale) + "\"/>";
    }
    return out + tips(plot, scale) + "</svg>";
}

std::string labels(const std::vector<Tick>& ticks, double max, const char* name, const char* side) {
    std::string out = std::string("<div class=\"") + name + "\" aria-hidden=\"true\">";
    for (const Tick& tick : ticks) {
        out += std::string("<span style=\"") + side + ":" + coordinate(100 * tick.at / max) +
               "%\">" + escaped(tick.text) + "</span>";
    }
    return out + "</div>";
}

std::string legend(const Plot& plot) {
    std::string out = "<ul class=\"legend\">";
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
        out += "<li><span class=\"key s" + std::to_string(i % kSeriesMax) + "\"></span>" +
               escaped(plot.series[i].name) + ": mean " +
               escaped(plot.y_text(mean_of(plot.series[i]))) + "</li>";
    }
    return out + "</ul>";
}

std::string table(const Plot& plot) {
    std::string out =
        "<details><summary>The figures as a table</summary><div class=\"scroll\"><table><tr>"
        "<th scope=\"col\">at</th>";
    for (const Series& series : plot.series) {
        out += "<th scope=\"col\">" + escaped(series.name) + "</th>";
    }
    out += "</tr>";
    const std::vector<Point>& points = plot.series.front().points;
    const std::size_t stride = 1 + (points.size() - 1) / kTableRowsMax;
    for (std::size_t i = 0; i < points.size(); i += stride) {
        out += "<tr><th scope=\"row\">" + escaped(x_text(plot, points[i].x)) + "</th>";
        for (const Series& series : plot.series) {
            const bool there = i < series.points.size();
            out += "<td>" + (there ? escaped(plot.y_text(series.points[i].y)) : "") + "</td>";
        }
        out += "</tr>";
    }
    return out + "</table></div></details>";
}

double largest(const std::vector<Series>& series) {
    double most = 0;
    for (const Series& one : series) {
        for (const Point& point : one.points) {
            most = std::isfinite(point.y) ? std::max(most, point.y) : most;
        }
    }
    return most;
}

std::string heading(const std::string& title, const std::string& caption) {
    return "<figcaption><h2>" + escaped(title) + "</h2><p>" + escaped(caption) +
           "</p></figcaption>";
}

}  // namespace

std::string class_of_kind(NoteKind kind) {
    switch (kind) {
        case NoteKind::Leave:
        case NoteKind::Crash:
        case NoteKind::Freeze:
        case NoteKind::SlowDown:
        case NoteKind::Fenced:
        case NoteKind::StageEmpty:
        case NoteKind::Partition:
        case NoteKind::CutLink:
            return "trouble";
        case NoteKind::Join:
        case NoteKind::Thaw:
        case NoteKind::SpeedBack:
            return "gain";
        case NoteKind::Spared:
        case NoteKind::Move:
            break;
    }
    return "other";
}

std::string to_figure(const Plot& plot) {
    const std::string begin =
        "<figure class=\"plot\" id=\"" + plot.id + "\">" + heading(plot.title, plot.caption);
    if (plot.series.empty() || plot.series.front().points.empty()) {
        return begin + "<p class=\"no-data\">" + escaped(plot.no_data) + "</p></figure>\n";
    }
    Scale scale;
    scale.x_max = plot.x_max > 0 ? plot.x_max : 1;
    scale.y_max = plot.y_max > 0 ? plot.y_max : rounded_up(largest(plot.series));
    const std::vector<Tick> y_ticks = ticks(scale.y_max, plot.y_text);
    const std::vector<Tick> x_ticks =
        plot.x == Plot::X::Seconds ? time_ticks(scale.x_max) : count_ticks(scale.x_max);
    return begin + "<div class=\"frame\">" + labels(y_ticks, scale.y_max, "y", "bottom") +
           svg(plot, scale, y_ticks) + labels(x_ticks, scale.x_max, "x", "left") + "</div>" +
           legend(plot) + table(plot) + "</figure>\n";
}

}  // namespace sim
