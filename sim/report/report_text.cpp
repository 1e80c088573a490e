#include "sim/report/figures.hpp"
#include "sim/report/report_rows.hpp"
#include "sim/report/sim_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sim {
namespace {

constexpr const char* kUnknown = "-";
constexpr std::size_t kStagesShown = 16;
constexpr std::size_t kViolationLines = 5;

std::string line(const char* name, const std::string& value) {
    constexpr std::size_t kNameWidth = 14;
    std::string text = name;
    text.resize(std::max(kNameWidth, text.size() + 1), ' ');
    return text + value + "\n";
}

std::string speed_line(const SimReport& report) {
    std::string text = seconds_text(report.virtual_s) + " of virtual time";
    if (report.events_per_s > 0) {
        text += " in " + seconds_text(static_cast<double>(report.events) / report.events_per_s);
    }
    text += "; " + count_text(report.events) + " events";
    if (report.events_per_s > 0) {
        text += ", " + number_text(std::round(report.events_per_s)) + " per s";
    }
    return line("simulated", text + (report.interrupted ? "; INTERRUPTED" : ""));
}

std::string steps_line(const SimReport& report) {
    std::string text = count_text(report.steps);
    if (report.step_s) {
        text += "; mean " + seconds_text(report.step_s->mean) + ", median " +
                seconds_text(report.step_s->p50) + ", 99th percentile " +
                seconds_text(report.step_s->p99);
    }
    return line("steps", text);
}

std::string utilisation_line(const SimReport& report) {
    std::string text = share_text(report.utilisation) + " busy";
    const std::vector<double>& stages = report.utilisation_per_stage;
    if (!stages.empty() && stages.size() <= kStagesShown) {
        text += "; per stage";
        for (const double stage : stages) {
            text += " " + share_text(stage);
        }
    } else if (!stages.empty()) {
        const auto [low, high] = std::minmax_element(stages.begin(), stages.end());
        text += "; stages from " + share_text(*low) + " to " + share_text(*high);
    }
    return line("utilisation", text);
}

std::string optional_count(const std::optional<std::uint64_t>& count) {
    return count ? count_text(*count) : kUnknown;
}

std::string optional_share(const std::optional<double>& share) {
    return share ? share_text(*share) : kUnknown;
}

std::string violation_lines(const SimReport& report) {
    if (report.violations.empty()) {
        return line(
            "violations",
            report.mode == Mode::Exact ? "none" : "none (the fluid mode has no messages to check)"
        );
    }
    std::string text = line("violations", count_text(report.violations.size()));
    for (std::size_t i = 0; i < std::min(kViolationLines, report.violations.size()); ++i) {
        text += "  " + report.violations[i] + "\n";
    }
    if (report.violations.size() > kViolationLines) {
        text += "  ... and more; --json FILE has all of them\n";
    }
    return text;
}

}  // namespace

Row row_names() {
    return {
        "policy",
        "rebalancer",
        "mode",
        "seed",
        "steps",
        "step",
        "p99",
        "busy",
        "of optimum",
        "moves",
        "replayed",
        "fenced",
        "lost",
        "bytes",
        "violations"};
}

Row row_of(const SimReport& report) {
    return {
        report.policy,
        report.rebalancer,
        mode_name(report.mode) + (report.interrupted ? " *" : ""),
        std::to_string(report.seed),
        count_text(report.steps),
        report.step_s ? seconds_text(report.step_s->mean) : kUnknown,
        report.step_s ? seconds_text(report.step_s->p99) : kUnknown,
        share_text(report.utilisation),
        optional_share(report.throughput_of_optimal),
        count_text(report.moves),
        optional_count(report.replayed),
        optional_count(report.fenced),
        optional_share(report.lost_work_share),
        bytes_text(static_cast<double>(report.bytes)),
        count_text(report.violations.size()) + (report.failure ? ", failed" : ""),
    };
}

namespace {

std::string join(const Row& row, const std::vector<std::size_t>& widths) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string fill(widths[i] - row[i].size(), ' ');
        text += (i == 0 ? "" : "  ") + (i < kNameColumns ? row[i] + fill : fill + row[i]);
    }
    return text + "\n";
}

/// Returns the smallest value that at least this share of all values does not exceed.
double percentile(const std::vector<double>& sorted, double share) {
    const double rank = std::ceil(share * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

StepTimes step_times(std::vector<double> seconds) {
    if (seconds.empty()) {
        return {};
    }
    std::sort(seconds.begin(), seconds.end());
    const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    return {
        sum / static_cast<double>(seconds.size()),
        percentile(seconds, 0.50),
        percentile(seconds, 0.99)};
}

std::string to_text(const SimReport& report) {
    std::string text = report.scenario;
    text += report.question.empty() ? "\n" : ": " + report.question + "\n";
    text += line("mode", mode_text(report.mode));
    text += line(
        "fleet",
        count_text(report.peers) + " peers, " + count_text(report.stages) + " stages, policy " +
            report.policy + ", rebalancer " + report.rebalancer + ", seed " +
            std::to_string(report.seed)
    );
    text += speed_line(report) + steps_line(report) + utilisation_line(report);
    text += line("of optimum", optional_share(report.throughput_of_optimal));
    text += line(
        "lost work",
        optional_share(report.lost_work_share) + "; replayed " + optional_count(report.replayed) +
            ", fenced " + optional_count(report.fenced)
    );
    text += line("moves", count_text(report.moves));
    text += line("bytes", bytes_text(static_cast<double>(report.bytes)));
    text += violation_lines(report);
    text += report.failure ? line("failed", *report.failure) : "";
    return text + line("trace hash", hash_text(report.trace_hash));
}

std::string to_table(const std::vector<SimReport>& reports) {
    std::vector<Row> rows{row_names()};
    for (const SimReport& report : reports) {
        rows.push_back(row_of(report));
    }
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const Row& row : rows) {
        text += join(row, widths);
    }
    return text;
}

}  // namespace sim
