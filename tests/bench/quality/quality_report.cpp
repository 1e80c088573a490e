#include "tests/bench/quality/quality_report.hpp"

#include "sim/report/figures.hpp"
#include "swarm/base/check.hpp"
#include "tests/bench/quality/curve_svg.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>

namespace swarm::bench {
namespace {

constexpr double kBitsPerByte = 8;

double median(std::vector<double> values) {
    SWARM_ASSERT(!values.empty());
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double mean(
    const std::vector<SeedFigures>& seeds, const std::function<double(const SeedFigures&)>& of
) {
    double sum = 0;
    for (const SeedFigures& seed : seeds) {
        sum += of(seed);
    }
    return sum / static_cast<double>(seeds.size());
}

Compared mean(const std::vector<SeedFigures>& seeds, Compared SeedFigures::*which) {
    return {
        mean(seeds, [&](const SeedFigures& seed) { return (seed.*which).loss; }),
        mean(seeds, [&](const SeedFigures& seed) { return (seed.*which).percent; })};
}

/// Steps are counted from 0, so the last one's loss is at one less.
double training_loss(const SeedRun& run, std::uint64_t steps) {
    return loss_at(smoothed(run.training, kTrainingSteps), static_cast<double>(steps - 1));
}

double held_out_loss(const SeedRun& run, std::uint64_t steps) {
    return loss_at(run.held_out, static_cast<double>(steps));
}

Compared compare(double loss, double of_none) {
    return {loss, percent_above(loss, of_none)};
}

SeedFigures figures_of(const SeedRun& run, const SeedRun& none, std::uint64_t steps) {
    SWARM_ASSERT(run.seed == none.seed);
    return {
        .seed = run.seed,
        .training = compare(training_loss(run, steps), training_loss(none, steps)),
        .held_out = compare(held_out_loss(run, steps), held_out_loss(none, steps)),
        .extra_steps = &run == &none ? 0 : extra_steps(run.held_out, none.held_out, steps)};
}

double step_seconds(const QualityRuns& runs, const RowFigures& row) {
    return seconds_on_line(
        {.stages = runs.stages,
         .peers = row.sync.replicas,
         .microbatches = runs.microbatches,
         .compute_s = row.compute_s,
         .forward_bytes = row.bytes.forward,
         .backward_bytes = row.bytes.backward,
         .sync_bytes = row.sync.bytes_per_step,
         .line_bytes_per_s = runs.line_bytes_per_s}
    );
}

const QualityRow& find_row(const std::vector<QualityRow>& rows, const std::string& name) {
    const auto row = std::ranges::find(rows, name, &QualityRow::name);
    SWARM_ASSERT(row != rows.end());
    return *row;
}

/// The seeds of a row; for kExactRow as many seeds of "none" as mode sparse has to compare with.
std::span<const SeedRun> seeds_of(const QualityRow& row, const QualityRuns& runs) {
    if (row.name != kExactRow) {
        return row.seeds;
    }
    const std::vector<SeedRun>& none = runs.rows.front().seeds;
    const std::size_t count = find_row(runs.modes, kSparseRow).seeds.size();
    SWARM_ASSERT(count <= none.size());
    return std::span(none).first(count);
}

RowFigures figures_of(const QualityRow& row, const QualityRuns& runs) {
    const std::vector<SeedRun>& none = runs.rows.front().seeds;
    const std::span<const SeedRun> seeds = seeds_of(row, runs);
    SWARM_ASSERT(seeds.size() <= none.size());
    RowFigures figures;
    figures.name = row.name;
    figures.bytes = row.bytes;
    figures.sync = row.sync;
    std::vector<double> compute_s;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
        compute_s.push_back(seeds[i].compute_s);
        figures.seeds.push_back(figures_of(seeds[i], none[i], runs.steps));
    }
    figures.compute_s = median(compute_s);
    figures.step_s = step_seconds(runs, figures);
    figures.training = mean(figures.seeds, &SeedFigures::training);
    figures.held_out = mean(figures.seeds, &SeedFigures::held_out);
    const auto has_extra_steps = [](const SeedFigures& seed) {
        return seed.extra_steps.has_value();
    };
    if (std::ranges::all_of(figures.seeds, has_extra_steps)) {
        figures.extra_steps =
            mean(figures.seeds, [](const SeedFigures& seed) { return *seed.extra_steps; });
    }
    return figures;
}

/// Up to the last of the common steps.
LossCurve mean_curve(const QualityRow& row, const QualityRuns& runs) {
    std::vector<LossCurve> curves;
    for (const SeedRun& run : seeds_of(row, runs)) {
        curves.push_back(run.held_out);
    }
    LossCurve curve = mean_of(curves);
    std::erase_if(curve, [&](const LossPoint& point) {
        return point.at > static_cast<double>(runs.steps);
    });
    return curve;
}

ComparedRows compare(const std::vector<QualityRow>& rows, const QualityRuns& runs) {
    ComparedRows compared;
    double quickest_s = std::numeric_limits<double>::max();
    for (const QualityRow& row : rows) {
        if (!seeds_of(row, runs).empty()) {
            compared.rows.push_back(figures_of(row, runs));
            quickest_s = std::min(quickest_s, compared.rows.back().step_s);
        }
    }
    if (compared.rows.empty()) {
        return compared;
    }
    compared.equal_time_s = static_cast<double>(runs.steps) * quickest_s;
    for (RowFigures& row : compared.rows) {
        const LossCurve curve = mean_curve(find_row(rows, row.name), runs);
        row.equal_time_loss = loss_at(curve, compared.equal_time_s / row.step_s);
    }
    return compared;
}

std::string line_text(const QualityRuns& runs) {
    return sim::number_text(runs.line_bytes_per_s * kBitsPerByte / 1e6) + " Mb/s";
}

std::string format(const char* pattern, double value) {
    char text[64];
    std::snprintf(text, sizeof text, pattern, value);
    return text;
}

std::string extra_text(const std::optional<double>& extra, std::uint64_t steps) {
    return extra ? format("%+.1f", *extra) : "> " + std::to_string(extra_steps_max(steps));
}

/// "2.1034 +0.12 % (+0.31 -0.07)"
std::string text_of(
    const Compared& all, const std::vector<SeedFigures>& seeds, Compared SeedFigures::*which
) {
    std::string text = format("%.4f ", all.loss) + format("%+.2f %% (", all.percent);
    for (const SeedFigures& seed : seeds) {
        text += (text.back() == '(' ? "" : " ") + format("%+.2f", (seed.*which).percent);
    }
    return text + ")";
}

std::string losses_text(const RowFigures& row, std::uint64_t steps) {
    return row.name + std::string(row.name.size() < 14 ? 14 - row.name.size() : 1, ' ') +
           "training " + text_of(row.training, row.seeds, &SeedFigures::training) + ", held out " +
           text_of(row.held_out, row.seeds, &SeedFigures::held_out) + ", extra steps " +
           extra_text(row.extra_steps, steps);
}

std::string time_text(const RowFigures& row, double equal_time_s, const QualityRuns& runs) {
    return "a step on " + line_text(runs) + " " + sim::seconds_text(row.step_s) +
           ", held out after " + sim::seconds_text(equal_time_s) +
           format(" %.4f\n", row.equal_time_loss);
}

/// "2 replicas, each sends 1,518 bytes a step to the others, once in 8 steps"
std::string text_of(const Synchronisation& sync) {
    const auto bytes = static_cast<std::uint64_t>(std::llround(sync.bytes_per_step));
    const std::string when =
        sync.sync_every ? ", once in " + std::to_string(*sync.sync_every) + " steps" : "";
    return std::to_string(sync.replicas) + " replicas, each sends " + sim::count_text(bytes) +
           " bytes a step to the others" + when;
}

template <class Number>
boost::json::value to_json(const std::optional<Number>& value) {
    return value ? boost::json::value(*value) : boost::json::value(nullptr);
}

/// Adds the figures that a row and each of its seeds have.
template <class Figures>
void add_losses(const Figures& figures, boost::json::object& json) {
    json["training_loss"] = figures.training.loss;
    json["training_percent"] = figures.training.percent;
    json["held_out_loss"] = figures.held_out.loss;
    json["held_out_percent"] = figures.held_out.percent;
    json["extra_steps"] = to_json(figures.extra_steps);
}

boost::json::object codec_json(const RowFigures& row) {
    return {
        {"name", row.name},
        {"forward_bytes", row.bytes.forward},
        {"backward_bytes", row.bytes.backward}};
}

boost::json::object mode_json(const RowFigures& row) {
    return {
        {"name", row.name},
        {"replicas", row.sync.replicas},
        {"sync_every", to_json(row.sync.sync_every)},
        {"sync_bytes_per_step", row.sync.bytes_per_step}};
}

/// Adds the figures that all rows have to those that only the rows of one table have.
boost::json::object with_figures(
    boost::json::object json, const RowFigures& row, const LossCurve& curve
) {
    json["compute_s"] = row.compute_s;
    json["step_s"] = row.step_s;
    json["equal_time_loss"] = row.equal_time_loss;
    add_losses(row, json);
    boost::json::array points;
    for (const LossPoint& point : curve) {
        points.push_back(boost::json::array{point.at, point.loss});
    }
    json["curve"] = std::move(points);
    boost::json::array seeds;
    for (const SeedFigures& figures : row.seeds) {
        boost::json::object seed{{"seed", figures.seed}};
        add_losses(figures, seed);
        seeds.push_back(std::move(seed));
    }
    json["seeds"] = std::move(seeds);
    return json;
}

}  // namespace

std::optional<double> extra_steps(
    const LossCurve& held_out, const LossCurve& of_none, std::uint64_t steps
) {
    const auto last = static_cast<double>(steps);
    const double goal = loss_at(smoothed(of_none, kSmoothedPoints), last);
    const auto reached = first_at_or_below(smoothed(held_out, kSmoothedPoints), goal);
    return reached ? std::optional(*reached - last) : std::nullopt;
}

QualityFigures figures_of(const QualityRuns& runs) {
    return {compare(runs.rows, runs), compare(runs.modes, runs)};
}

std::string to_text(const QualityRuns& runs, const QualityFigures& figures) {
    std::string text;
    for (const RowFigures& row : figures.codecs.rows) {
        text += losses_text(row, runs.steps) + "; " + sim::count_text(row.bytes.forward) + " and " +
                sim::count_text(row.bytes.backward) + " bytes a microbatch; " +
                time_text(row, figures.codecs.equal_time_s, runs);
    }
    for (const RowFigures& row : figures.modes.rows) {
        text += (&row == &figures.modes.rows.front() ? "\n" : "") + losses_text(row, runs.steps) +
                "; " + text_of(row.sync) + "; " + time_text(row, figures.modes.equal_time_s, runs);
    }
    return text;
}

boost::json::object to_json(const QualityRuns& runs, const QualityFigures& figures) {
    boost::json::array rows;
    for (const RowFigures& row : figures.codecs.rows) {
        const LossCurve curve = mean_curve(find_row(runs.rows, row.name), runs);
        rows.push_back(with_figures(codec_json(row), row, curve));
    }
    boost::json::array modes;
    for (const RowFigures& row : figures.modes.rows) {
        const LossCurve curve = mean_curve(find_row(runs.modes, row.name), runs);
        modes.push_back(with_figures(mode_json(row), row, curve));
    }
    boost::json::object json{
        {"name", "quality"},
        {"steps", runs.steps},
        {"stages", runs.stages},
        {"microbatches", runs.microbatches},
        {"line_bits_per_s", kBitsPerByte * runs.line_bytes_per_s},
        {"held_out_tokens", runs.held_out_tokens},
        {"machine", runs.machine},
        {"extra_steps_max", extra_steps_max(runs.steps)},
        {"equal_time_s", figures.codecs.equal_time_s},
        {"modes_equal_time_s", figures.modes.equal_time_s},
        {"stopped", nullptr},
        {"rows", std::move(rows)},
        {"modes", std::move(modes)}};
    if (!runs.stopped.empty()) {
        json["stopped"] = runs.stopped;
    }
    return json;
}

std::string to_svg(const QualityRuns& runs, const QualityFigures& figures) {
    if (figures.codecs.rows.empty()) {
        return {};
    }
    SvgPlot plot;
    plot.title = "Held-out loss in nats per token, over time on lines of " + line_text(runs);
    plot.description = "Demo model, " + std::to_string(runs.steps) + " steps in " +
                       std::to_string(runs.stages) +
                       " stages; each curve ends with the last step, and its loss stands beside "
                       "the name.";
    for (const RowFigures& row : figures.codecs.rows) {
        SvgCurve curve{row.name, {}};
        for (const LossPoint& point : mean_curve(find_row(runs.rows, row.name), runs)) {
            // Early losses, which fall fast, would take most of the height.
            if (point.at >= static_cast<double>(runs.steps) / 10) {
                curve.points.push_back({point.at * row.step_s, point.loss});
            }
        }
        plot.curves.push_back(std::move(curve));
    }
    return bench::to_svg(plot);
}

}  // namespace swarm::bench
