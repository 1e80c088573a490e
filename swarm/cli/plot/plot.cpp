#include "swarm/cli/plot/plot.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/metrics/metrics_files.hpp"
#include "swarm/cli/plot/line_plot.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

constexpr const char* kExamples = R"(
examples:
  swarm plot runs/a runs/b -o loss.svg             # the losses of two runs, step by step
  swarm plot runs/a --metric tokens_per_s --smooth 20 -o speed.svg
  swarm plot runs/a runs/b --x time --log > loss.svg
  tensorboard --logdir runs                        # the same figures in a browser)";

constexpr std::uint64_t kMetricsBytesMax = std::uint64_t{4} << 30;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A figure that can be drawn.
struct Metric {
    const char* name;
    const char* axis;
    double (*of)(const StepMetrics& metrics);
};

constexpr std::array kMetrics = {
    Metric{"loss", "loss per token", [](const StepMetrics& m) { return m.loss.value_or(kNone); }},
    Metric{"tokens_per_s", "tokens/s", [](const StepMetrics& m) { return m.tokens_per_s; }},
    Metric{"lr", "learning rate", [](const StepMetrics& m) { return m.learning_rate; }},
    Metric{
        "grad_norm",
        "norm of the gradient",
        [](const StepMetrics& m) { return m.loss ? m.gradient_norm : kNone; }},
    Metric{"seconds", "seconds per step", [](const StepMetrics& m) { return m.seconds; }},
    Metric{
        "replayed",
        "replayed attempts",
        [](const StepMetrics& m) { return static_cast<double>(m.replayed); }},
    Metric{"peers", "peers", [](const StepMetrics& m) {
               double peers = 0;
               for (const std::uint32_t stage : m.peers_per_stage) {
                   peers += stage;
               }
               return peers;
           }}};

std::vector<std::string> metric_names() {
    std::vector<std::string> names;
    for (const Metric& metric : kMetrics) {
        names.emplace_back(metric.name);
    }
    return names;
}

const Metric& metric_of(const std::string& name) {
    for (const Metric& metric : kMetrics) {
        if (name == metric.name) {
            return metric;
        }
    }
    return kMetrics.front();  // the flag takes no other name
}

/// Puts the mean of `count` neighbours in the place of each of them; a gap takes no part.
void smooth(std::vector<PlotPoint>& points, std::uint32_t count) {
    std::vector<PlotPoint> means;
    double sum = 0;
    std::size_t in_sum = 0;
    const auto change = [&](double y, int sign) {
        if (y == y) {
            sum += sign * y;
            in_sum += static_cast<std::size_t>(sign);
        }
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
        change(points[i].y, 1);
        if (i >= count) {
            change(points[i - count].y, -1);
        }
        means.push_back({points[i].x, in_sum > 0 ? sum / static_cast<double>(in_sum) : kNone});
    }
    points = std::move(means);
}

Result<PlotLine> line_of(const std::string& run, const PlotOptions& options) {
    std::filesystem::path file = run;
    if (std::filesystem::is_directory(file)) {
        file /= kMetricsFile;
    }
    SWARM_TRY(const std::string text, read_file(file, kMetricsBytesMax));
    const Result<std::vector<StepMetrics>> steps = parse_metrics(text);
    if (!steps) {
        return Error{
            steps.error().code,
            steps.error().reaction,
            file.string() + ": " + steps.error().detail};
    }
    PlotLine line{run, {}};
    const Metric& metric = metric_of(options.metric);
    for (const StepMetrics& step : *steps) {
        const double since = step.unix_time_s - steps->front().unix_time_s;
        const double x = options.x == "time" ? since : static_cast<double>(step.step);
        line.points.push_back({x, metric.of(step)});
    }
    smooth(line.points, options.smooth);
    return line;
}

}  // namespace

void add_plot(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(program, "plot", "Draw the figures of runs", kExamples);
    const auto options = std::make_shared<PlotOptions>();
    app.add_option("runs", options->runs, "folders of runs, or copies of their metrics.jsonl")
        ->type_name("RUN")
        ->required();
    app.add_option("-o,--out", options->out_file, "the SVG file; without it: standard output")
        ->type_name("FILE");
    app.add_option("--metric", options->metric, "what to draw")
        ->check(CLI::IsMember(metric_names()))
        ->capture_default_str();
    app.add_option("--x", options->x, "step, or time: seconds since the run's first step")
        ->check(CLI::IsMember({"step", "time"}))
        ->capture_default_str();
    app.add_option("--smooth", options->smooth, "draw means of so many steps")
        ->check(CLI::Range(1U, 1'000'000U))
        ->capture_default_str();
    app.add_flag("--log", options->log, "a logarithmic scale");
    when_named<PlotOptions>(app, on_chosen, options, cli::plot);
}

int plot(const PlotOptions& options) {
    Console console;
    const Metric& metric = metric_of(options.metric);
    LinePlot drawn{
        options.metric,
        options.x == "time" ? "seconds since the first step" : "step",
        metric.axis,
        options.log,
        {}};
    for (const std::string& run : options.runs) {
        Result<PlotLine> line = line_of(run, options);
        if (!line) {
            return end_with(console, line.error());
        }
        drawn.lines.push_back(std::move(*line));
    }
    if (options.out_file.empty()) {
        std::cout << to_svg(drawn) << std::flush;
        return kDone;
    }
    return write_text(console, options.out_file, to_svg(drawn)) ? kDone : kRunFailed;
}

}  // namespace swarm::cli
