#include "sim/report/figures.hpp"
#include "sim/report/page.hpp"
#include "sim/report/plot.hpp"
#include "sim/report/report_plots.hpp"
#include "sim/report/report_rows.hpp"
#include "sim/report/sim_report.hpp"

namespace sim {
namespace {

std::string figures_table(const std::vector<SimReport>& reports) {
    std::string out =
        "<section class=\"wide\" id=\"figures\"><h2>The figures</h2><div class=\"scroll\"><table>"
        "<tr>";
    for (const std::string& name : row_names()) {
        out += "<th scope=\"col\">" + escaped(name) + "</th>";
    }
    out += "</tr>";
    for (const SimReport& report : reports) {
        const Row row = row_of(report);
        out += "<tr><th scope=\"row\">" + escaped(row.front()) + "</th>";
        for (std::size_t i = 1; i < row.size(); ++i) {
            out += "<td>" + escaped(row[i]) + "</td>";
        }
        out += "</tr>";
    }
    return out + "</table></div></section>\n";
}

/// Violations and failures of all runs; empty when there is none.
std::string troubles(const std::vector<SimReport>& reports) {
    std::string out;
    const auto add = [&out](const SimReport& report, const std::string& text) {
        out += "<p class=\"warning\"><strong>" + escaped(report.policy) +
               "</strong>: " + escaped(text) + "</p>";
    };
    for (const SimReport& report : reports) {
        if (!report.violations.empty()) {
            add(report,
                count_text(report.violations.size()) +
                    " violations, the first: " + report.violations.front());
        }
        if (report.failure) {
            add(report, "the run failed: " + *report.failure);
        }
        if (report.interrupted) {
            add(report, "interrupted: the figures are of what ran so far");
        }
    }
    return out;
}

}  // namespace

std::string to_html(const std::vector<SimReport>& reports) {
    const SimReport& first = reports.front();
    std::string page = page_head(first.scenario + ", policies compared");
    page += "<body><header><h1>" + escaped(first.scenario) + ": policies compared</h1>";
    page += "<p>" + escaped(first.question) + "</p>";
    page += "<p class=\"mode\"><strong>Mode</strong> " + escaped(mode_text(first.mode)) + "</p>";
    page += troubles(reports) + "</header>\n<main>\n" + figures_table(reports);
    page += compared_plots_of(reports) + "</main>\n<footer class=\"soft\"><p>Seed " +
            std::to_string(first.seed) + "; trace hashes";
    for (const SimReport& report : reports) {
        page += " <code>" + hash_text(report.trace_hash) + "</code>";
    }
    return page +
           ": the same scenario, policy, seed and program give the same hash.</p></footer>"
           "</body></html>\n";
}

}  // namespace sim
