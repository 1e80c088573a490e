// swarm-bench: the figures that the documents promise, measured on this machine. For developers;
// never installed. A figure taken under foreign load is withheld: null in the file.
#include "tests/bench/link.hpp"
#include "tests/bench/machine_load.hpp"
#include "tests/bench/pick.hpp"
#include "tests/bench/world.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace bench = swarm::bench;
using Figures = std::vector<std::pair<std::string, double>>;  // by key of the JSON file

constexpr int kRuns = 5;
constexpr std::size_t kSimulatedPeers = 1000;

/// The median of each figure over kRuns runs.
Figures medians(const std::function<Figures()>& measure) {
    std::vector<Figures> runs;
    for (int run = 0; run < kRuns; ++run) {
        runs.push_back(measure());
    }
    Figures result = runs.front();
    for (std::size_t figure = 0; figure < result.size(); ++figure) {
        std::vector<double> values;
        for (const Figures& one : runs) {
            values.push_back(one[figure].second);
        }
        std::nth_element(values.begin(), values.begin() + kRuns / 2, values.end());
        result[figure].second = values[kRuns / 2];
    }
    return result;
}

Figures pick_figures() {
    const bench::PickFigures figures = bench::measure_pick();
    return {{"ns_per_pick", std::max(figures.iwrr_ns, figures.expected_finish_ns)}};
}

Figures sim_figures() {
    return {{"events_per_s", bench::measure_world(kSimulatedPeers).events_per_s}};
}

Figures link_figures() {
    const bench::LinkFigures figures = bench::measure_link();
    return {{"ratio", figures.framed_to_raw}, {"heartbeat_p99_ms", figures.heartbeat_p99_ms}};
}

bool write_json(const std::string& file, const boost::json::object& report) {
    if (file.empty()) {
        return true;
    }
    std::ofstream out(file);
    out << boost::json::serialize(report) << '\n';
    out.close();
    if (!out) {
        std::fprintf(stderr, "cannot write %s: does its folder exist?\n", file.c_str());
    }
    return static_cast<bool>(out);
}

/// One measurement, printed and put into the report.
boost::json::object measure(const std::string& name, const std::function<Figures()>& run) {
    const bench::LoadMeter load;
    const Figures figures = medians(run);
    const double foreign = load.foreign().value_or(0);
    const bool skipped = foreign > bench::kForeignLoadMax;
    boost::json::object report{{"name", name}, {"foreign_load", foreign}};
    for (const auto& [key, value] : figures) {
        if (skipped) {
            report[key] = nullptr;
            std::printf("%s: skipped: foreign load (%.0f %%)\n", key.c_str(), 100 * foreign);
        } else {
            report[key] = value;
            std::printf("%s: %.4g\n", key.c_str(), value);
        }
    }
    return report;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Measures one part of swarm: medians of 5 runs, withheld when others used more than 15 % "
        "of the machine meanwhile.\n"
        "  pick  slower of two router policies among 1,000 peers: ns_per_pick\n"
        "  sim   simulated world of 1,000 peers: events_per_s\n"
        "  link  frames over loopback against plain TLS: ratio, heartbeat_p99_ms",
        "swarm-bench"};
    const std::map<std::string, std::function<Figures()>> benches{
        {"pick", pick_figures}, {"sim", sim_figures}, {"link", link_figures}};
    std::string name;
    std::string json_file;
    app.add_option("NAME", name, "pick, sim or link")
        ->required()
        ->check(CLI::IsMember({"pick", "sim", "link"}));
    app.add_option("--json", json_file, "Write the figures to this file");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return write_json(json_file, measure(name, benches.at(name))) ? 0 : 1;
}
