#include "sim/report/figures.hpp"
#include "sim/report/page.hpp"
#include "sim/report/report_plots.hpp"
#include "sim/report/sim_report.hpp"

#include <algorithm>

namespace sim {
namespace {

constexpr std::size_t kNotesShown = 500;
constexpr std::size_t kViolationsShown = 200;

std::string tile(const char* name, const std::string& figure) {
    return std::string("<div><dt>") + name + "</dt><dd>" + breakable(figure) + "</dd></div>";
}

std::string share_or_dash(const std::optional<double>& share) {
    return share ? share_text(*share) : "-";
}

std::string count_or_dash(const std::optional<std::uint64_t>& count) {
    return count ? count_text(*count) : "-";
}

std::string tiles(const SimReport& report) {
    const std::optional<StepTimes>& step = report.step_s;
    std::string out = "<dl class=\"tiles\">";
    out += tile("utilisation", share_text(report.utilisation));
    out += tile("of the optimum", share_or_dash(report.throughput_of_optimal));
    out += tile("steps", count_text(report.steps));
    out += tile("step, mean", step ? seconds_text(step->mean) : "-");
    out += tile("step, median", step ? seconds_text(step->p50) : "-");
    out += tile("step, 99th percentile", step ? seconds_text(step->p99) : "-");
    out += tile("lost work", share_or_dash(report.lost_work_share));
    out += tile("microbatches replayed", count_or_dash(report.replayed));
    out += tile("peers fenced", count_or_dash(report.fenced));
    out += tile("moves between stages", count_text(report.moves));
    out += tile("bytes sent", bytes_text(static_cast<double>(report.bytes)));
    out += tile("simulated", seconds_text(report.virtual_s));
    out += tile("peers / stages", count_text(report.peers) + " / " + count_text(report.stages));
    out += tile("policy", report.policy);
    out += tile("rebalancer", report.rebalancer);
    out += tile("events", count_text(report.events));
    return out + "</dl>\n";
}

std::string violations(const SimReport& report) {
    std::string out =
        "<section class=\"wide\" id=\"violations\"><h2>Violations of the protocol</h2>"
        "<div class=\"scroll\"><table><tr><th scope=\"col\">number</th>"
        "<th scope=\"col\">what</th></tr>";
    if (report.violations.empty()) {
        out += "<tr><td>0</td><td>none";
        out += report.mode == Mode::Fluid ? " (the fluid mode has no messages to check)" : "";
        out += "</td></tr>";
    }
    const std::size_t shown = std::min(kViolationsShown, report.violations.size());
    for (std::size_t i = 0; i < shown; ++i) {
        out += "<tr><td>" + std::to_string(i + 1) + "</td><td>" + escaped(report.violations[i]) +
               "</td></tr>";
    }
    out += "</table></div>";
    if (shown < report.violations.size()) {
        out += "<p class=\"soft\">The first " + count_text(shown) + " of " +
               count_text(report.violations.size()) + "; --json has all.</p>";
    }
    return out + "</section>\n";
}

std::string notes(const SimReport& report) {
    if (report.notes.empty()) {
        return "";
    }
    std::string out =
        "<details class=\"wide\"><summary>Events, one by one</summary>"
        "<div class=\"scroll\"><table><tr><th scope=\"col\">at</th>"
        "<th scope=\"col\">kind</th><th scope=\"col\">what</th></tr>";
    const std::size_t shown = std::min(kNotesShown, report.notes.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const Note& note = report.notes[i];
        out += "<tr><td>" + seconds_text(note.at_s) + "</td><td>" +
               std::string(to_text(note.kind)) + "</td><td>" + escaped(note.text) + "</td></tr>";
    }
    out += "</table></div>";
    if (shown < report.notes.size()) {
        out += "<p class=\"soft\">The first " + count_text(shown) + " of " +
               count_text(report.notes.size()) + ".</p>";
    }
    return out + "</details>\n";
}

}  // namespace

std::string to_html(const SimReport& report) {
    std::string page = page_head(report.scenario + ", seed " + std::to_string(report.seed)) +
                       "<body><header><h1>" + escaped(report.scenario) + "</h1>";
    page += "<p>" + escaped(report.question) + "</p>";
    page += "<p class=\"mode\"><strong>Mode</strong> " + escaped(mode_text(report.mode)) + "</p>";
    if (report.interrupted) {
        page += "<p class=\"warning\"><strong>Interrupted</strong> after " +
                seconds_text(report.virtual_s) +
                " of virtual time: the figures are of what ran so far.</p>";
    }
    if (report.failure) {
        page += "<p class=\"warning\"><strong>The run failed</strong> after " +
                seconds_text(report.virtual_s) + " of virtual time: " + escaped(*report.failure) +
                "</p>";
    }
    page += "</header>\n" + tiles(report) + "<main>\n" + violations(report) + plots_of(report) +
            notes(report) + "</main>\n";
    page += "<footer class=\"soft\"><p>Seed " + std::to_string(report.seed) +
            ", trace hash <code>" + hash_text(report.trace_hash) +
            "</code>: the same scenario, seed and program give the same hash.</p></footer>";
    return page + "</body></html>\n";
}

}  // namespace sim
