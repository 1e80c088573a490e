#include "sim/report/report_plots.hpp"

#include "sim/report/axis.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/plot.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sim {
namespace {

constexpr std::size_t kPointsMax = 600;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// A figure per stage at one time.
struct Slice {
    double at_s = 0;
    std::vector<double> by_stage;
};

std::vector<Series> series_per_stage(const std::vector<Slice>& slices, std::size_t stages) {
    std::vector<Series> series(stages);
    for (std::size_t stage = 0; stage < stages; ++stage) {
        series[stage].name = "stage " + std::to_string(stage);
        for (const Slice& slice : slices) {
            const bool known = stage < slice.by_stage.size();
            series[stage].points.push_back({slice.at_s, known ? slice.by_stage[stage] : kNothing});
        }
    }
    return series;
}

std::vector<Series> series_of_spread(const std::vector<Slice>& slices) {
    std::vector<Series> series{{"lowest stage", {}}, {"median stage", {}}, {"highest stage", {}}};
    for (Slice slice : slices) {
        std::vector<double>& values = slice.by_stage;
        std::sort(values.begin(), values.end());
        const bool empty = values.empty();
        series[0].points.push_back({slice.at_s, empty ? kNothing : values.front()});
        series[1].points.push_back({slice.at_s, empty ? kNothing : values[values.size() / 2]});
        series[2].points.push_back({slice.at_s, empty ? kNothing : values.back()});
    }
    return series;
}

std::vector<Series> by_stage(const std::vector<Slice>& slices) {
    std::size_t stages = 0;
    for (const Slice& slice : slices) {
        stages = std::max(stages, slice.by_stage.size());
    }
    return stages <= kSeriesMax ? series_per_stage(slices, stages) : series_of_spread(slices);
}

Plot utilisation_plot(const SimReport& report) {
    std::vector<Slice> slices;
    for (const Sample& sample : report.samples) {
        if (sample.at_s > 0) {  // the sample at the start covers no time
            slices.push_back({sample.at_s, sample.utilisation_per_stage});
        }
    }
    Plot plot;
    plot.id = "utilisation";
    plot.title = "Utilisation per stage";
    plot.caption =
        "Busy time over the time the stage's peers were up, since the sample before. "
        "Vertical lines: events.";
    plot.no_data = "The run ended before its first sample.";
    plot.x_max = report.virtual_s;
    plot.y_max = 1;
    plot.y_text = share_text;
    plot.series = by_stage(slices);
    plot.marks = report.notes;
    return plot;
}

Plot peers_plot(const SimReport& report) {
    std::vector<Slice> slices;
    double most = 0;
    for (const Sample& sample : report.samples) {
        for (const std::uint32_t peers : sample.peers_per_stage) {
            most = std::max<double>(most, peers);
        }
        slices.push_back(
            {sample.at_s, {sample.peers_per_stage.begin(), sample.peers_per_stage.end()}}
        );
    }
    Plot plot;
    plot.id = "peers";
    plot.title = "Peers per stage";
    plot.caption = "Members of each stage. Vertical lines: events.";
    plot.no_data = "The run ended before its first sample.";
    plot.shape = Plot::Shape::Stairs;
    plot.x_max = report.virtual_s;
    plot.y_max = rounded_up(std::max(4.0, most));  // no fractions of a peer beside the axis
    plot.y_text = number_text;
    plot.series = by_stage(slices);
    plot.marks = report.notes;
    return plot;
}

/// The mean and the longest of each run of steps, so that no curve has more points than pixels.
std::vector<Series> step_series(const std::vector<double>& seconds) {
    const std::size_t stride = 1 + (seconds.size() - 1) / kPointsMax;
    if (stride == 1) {
        std::vector<Series> series{{"step", {}}};
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            series[0].points.push_back({static_cast<double>(i), seconds[i]});
        }
        return series;
    }
    const std::string of = " of " + std::to_string(stride) + " steps";
    std::vector<Series> series{{"mean" + of, {}}, {"longest" + of, {}}};
    for (std::size_t i = 0; i < seconds.size(); i += stride) {
        const auto begin = seconds.begin() + static_cast<std::ptrdiff_t>(i);
        const std::size_t count = std::min(stride, seconds.size() - i);
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        const double sum = std::accumulate(begin, end, 0.0);
        series[0].points.push_back({static_cast<double>(i), sum / static_cast<double>(count)});
        series[1].points.push_back({static_cast<double>(i), *std::max_element(begin, end)});
    }
    return series;
}

/// Step times from the counts of the samples, where a fidelity has no single steps: whole steps,
/// and enough of them between two points that rounding to whole ones does not show.
Series step_rate_series(const std::vector<Sample>& samples) {
    constexpr std::uint64_t kPoints = 50;
    Series series{"seconds per step", {}};
    if (samples.empty()) {
        return series;
    }
    const std::uint64_t stride = 1 + (samples.back().steps - samples.front().steps) / kPoints;
    const Sample* from = &samples.front();
    for (const Sample& to : samples) {
        if (to.steps >= from->steps + stride) {
            const auto steps = static_cast<double>(to.steps - from->steps);
            series.points.push_back({to.at_s, (to.at_s - from->at_s) / steps});
            from = &to;
        }
    }
    return series;
}

Plot step_plot(const SimReport& report) {
    Plot plot;
    plot.id = "steps";
    plot.title = "Step times";
    plot.no_data = "No step was committed.";
    plot.y_text = seconds_text;
    if (!report.step_seconds.empty()) {
        plot.caption = "From commit to commit, by step.";
        plot.x = Plot::X::Count;
        plot.x_max = static_cast<double>(std::max<std::size_t>(1, report.step_seconds.size() - 1));
        plot.series = step_series(report.step_seconds);
    } else if (report.steps > 0) {
        plot.caption = "Time over the steps in it, a few at once: this mode has no single steps.";
        plot.x_max = report.virtual_s;
        plot.series = {step_rate_series(report.samples)};
    }
    return plot;
}

Plot bytes_plot(const SimReport& report) {
    Series series{"all links", {}};
    for (std::size_t i = 1; i < report.samples.size(); ++i) {
        const Sample& from = report.samples[i - 1];
        const Sample& to = report.samples[i];
        const double bytes = static_cast<double>(to.bytes) - static_cast<double>(from.bytes);
        const double seconds = to.at_s - from.at_s;
        series.points.push_back({to.at_s, seconds > 0 ? bytes / seconds : kNothing});
    }
    Plot plot;
    plot.id = "bytes";
    plot.title = "Bytes per second";
    plot.caption = "What all peers together sent, a mean since the sample before.";
    plot.no_data = "The run ended before its second sample.";
    plot.x_max = report.virtual_s;
    plot.y_text = [](double rate) { return bytes_text(rate) + "/s"; };
    plot.series = {std::move(series)};
    return plot;
}

}  // namespace

std::string plots_of(const SimReport& report) {
    return to_figure(utilisation_plot(report)) + to_figure(peers_plot(report)) +
           to_figure(step_plot(report)) + to_figure(bytes_plot(report)) +
           event_figure(report.notes, report.virtual_s);
}

}  // namespace sim
