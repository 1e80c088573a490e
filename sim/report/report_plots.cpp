#include "sim/report/report_plots.hpp"

#include "sim/report/axis.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/plot.hpp"

#include <algorithm>
#include <cmath>
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

/// Joins samples that follow each other, so that a curve shows means over two steps at least. A
/// device works and waits in turn within one step, and samples that are shorter than a step would
/// show that as spikes.
std::vector<Sample> windows_of(const SimReport& report) {
    constexpr double kWindowsMax = 120;
    constexpr double kSteps = 2;
    const double step_s = report.step_s ? report.step_s->mean : 0;
    const double least_s = std::max(report.virtual_s / kWindowsMax, kSteps * step_s);
    std::vector<Sample> windows;
    std::vector<double> busy_s;  // busy time by stage since the last window
    double begin_s = 0;
    double before_s = 0;
    for (const Sample& sample : report.samples) {
        if (windows.empty()) {
            windows.push_back(sample);  // the sample at the start covers no time
            begin_s = before_s = sample.at_s;
            continue;
        }
        const std::vector<double>& busy = sample.utilisation_per_stage;
        busy_s.resize(std::max(busy_s.size(), busy.size()));
        for (std::size_t stage = 0; stage < busy.size(); ++stage) {
            const double share = std::isfinite(busy[stage]) ? busy[stage] : 0;
            busy_s[stage] += share * (sample.at_s - before_s);
        }
        before_s = sample.at_s;
        const double length_s = sample.at_s - begin_s;
        const bool last = &sample == &report.samples.back();
        if (length_s <= 0 || (length_s < least_s && !last)) {
            continue;
        }
        Sample window = sample;
        for (std::size_t stage = 0; stage < window.utilisation_per_stage.size(); ++stage) {
            window.utilisation_per_stage[stage] = busy_s[stage] / length_s;
        }
        windows.push_back(std::move(window));
        busy_s.clear();
        begin_s = sample.at_s;
    }
    return windows;
}

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
    for (const Sample& sample : windows_of(report)) {
        if (sample.at_s > 0) {  // the sample at the start covers no time
            slices.push_back({sample.at_s, sample.utilisation_per_stage});
        }
    }
    Plot plot;
    plot.id = "utilisation";
    plot.title = "Utilisation per stage";
    plot.caption =
        "Busy time over the time the stage's peers were up, over two steps at least. "
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

Series bytes_series(const SimReport& report, const std::string& name) {
    Series series{name, {}};
    const std::vector<Sample> windows = windows_of(report);
    for (std::size_t i = 1; i < windows.size(); ++i) {
        const Sample& from = windows[i - 1];
        const Sample& to = windows[i];
        const double bytes = static_cast<double>(to.bytes) - static_cast<double>(from.bytes);
        const double seconds = to.at_s - from.at_s;
        series.points.push_back({to.at_s, seconds > 0 ? bytes / seconds : kNothing});
    }
    return series;
}

Plot bytes_plot(const SimReport& report) {
    Plot plot;
    plot.id = "bytes";
    plot.title = "Bytes per second";
    plot.caption = "What all peers together sent, a mean over two steps at least.";
    plot.no_data = "The run ended before its second sample.";
    plot.x_max = report.virtual_s;
    plot.y_text = [](double rate) { return bytes_text(rate) + "/s"; };
    plot.series = {bytes_series(report, "all links")};
    return plot;
}

/// The mean utilisation of all stages.
Series busy_series(const SimReport& report) {
    Series series{report.policy, {}};
    for (const Sample& sample : windows_of(report)) {
        const std::vector<double>& busy = sample.utilisation_per_stage;
        if (sample.at_s > 0 && !busy.empty()) {
            const double sum = std::accumulate(busy.begin(), busy.end(), 0.0);
            series.points.push_back({sample.at_s, sum / static_cast<double>(busy.size())});
        }
    }
    return series;
}

/// Makes a plot over virtual time with a curve for each report.
template <class SeriesOf>
Plot compared(const std::vector<SimReport>& reports, const SeriesOf& series_of) {
    Plot plot;
    plot.no_data = "The runs ended before their second sample.";
    for (std::size_t i = 0; i < std::min(reports.size(), kSeriesMax); ++i) {
        plot.x_max = std::max(plot.x_max, reports[i].virtual_s);
        plot.series.push_back(series_of(reports[i]));
    }
    return plot;
}

}  // namespace

std::string compared_plots_of(const std::vector<SimReport>& reports) {
    const std::string few =
        reports.size() > kSeriesMax
            ? " The first " + std::to_string(kSeriesMax) + " policies; the table has all."
            : "";
    Plot busy = compared(reports, busy_series);
    busy.id = "utilisation";
    busy.title = "Utilisation";
    busy.caption = "Busy time over the time the peers were up, a mean of all stages." + few;
    busy.y_max = 1;
    busy.y_text = share_text;
    Plot steps = compared(reports, [](const SimReport& report) {
        Series series = step_rate_series(report.samples);
        series.name = report.policy;
        return series;
    });
    steps.id = "steps";
    steps.title = "Step times";
    steps.caption = "Time over the steps in it, a few at once." + few;
    steps.no_data = "No step was committed.";
    steps.y_text = seconds_text;
    Plot bytes = compared(reports, [](const SimReport& report) {
        return bytes_series(report, report.policy);
    });
    bytes.id = "bytes";
    bytes.title = "Bytes per second";
    bytes.caption = "What all peers together sent." + few;
    bytes.y_text = [](double rate) { return bytes_text(rate) + "/s"; };
    return to_figure(busy) + to_figure(steps) + to_figure(bytes);
}

std::string plots_of(const SimReport& report) {
    return to_figure(utilisation_plot(report)) + to_figure(peers_plot(report)) +
           to_figure(step_plot(report)) + to_figure(bytes_plot(report)) +
           event_figure(report.notes, report.virtual_s);
}

}  // namespace sim
