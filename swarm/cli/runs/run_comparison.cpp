#include "swarm/cli/runs/run_comparison.hpp"

#include "swarm/cli/terminal/printable.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

std::string compared_row(const ComparedLoss& row) {
    std::array<char, 128> line{};
    std::snprintf(
        line.data(),
        line.size(),
        "%10llu  %10.4f  %10.4f  %+10.4f\n",
        static_cast<unsigned long long>(row.step),
        row.first,
        row.second,
        row.second - row.first
    );
    return line.data();
}

/// Indices of at most kComparedRowsMax rows at equal distances; the last one is among them.
std::vector<std::size_t> shown_rows(std::size_t count) {
    std::vector<std::size_t> rows;
    const std::size_t shown = std::min(count, kComparedRowsMax);
    for (std::size_t i = 1; i <= shown; ++i) {
        rows.push_back(i * count / shown - 1);
    }
    return rows;
}

}  // namespace

RunComparison compare_runs(const RunFiles& first, const RunFiles& second) {
    RunComparison comparison;
    comparison.keys = run::changes_between(first.config, second.config);
    auto other = second.steps.begin();
    for (const StepMetrics& step : first.steps) {
        while (other != second.steps.end() && other->step < step.step) {
            ++other;
        }
        if (other == second.steps.end()) {
            break;
        }
        if (other->step == step.step && step.loss && other->loss) {
            comparison.losses.push_back({step.step, *step.loss, *other->loss});
        }
    }
    return comparison;
}

std::string comparison_text(const RunComparison& comparison) {
    std::string text = "A: " + printable(comparison.first.string()) +
                       "\nB: " + printable(comparison.second.string()) + "\n";
    if (comparison.keys.empty()) {
        text += "all keys of both run files are equal\n";
    }
    for (const run::KeyChange& key : comparison.keys) {
        text += "  " + key.key + ": A " + printable(key.was) + ", B " + printable(key.now) + "\n";
    }
    if (comparison.losses.empty()) {
        return text + "no step has a loss in both runs\n";
    }
    text += "      step      loss A      loss B       B - A\n";
    for (const std::size_t row : shown_rows(comparison.losses.size())) {
        text += compared_row(comparison.losses[row]);
    }
    return text;
}

std::string comparison_json(const RunComparison& comparison) {
    json::array keys;
    for (const run::KeyChange& key : comparison.keys) {
        keys.push_back(json::object{{"key", key.key}, {"a", key.was}, {"b", key.now}});
    }
    json::array losses;
    for (const ComparedLoss& row : comparison.losses) {
        losses.push_back(json::object{{"step", row.step}, {"a", row.first}, {"b", row.second}});
    }
    const json::object document{
        {"a", comparison.first.string()},
        {"b", comparison.second.string()},
        {"keys", std::move(keys)},
        {"losses", std::move(losses)}};
    return json::serialize(document) + "\n";
}

}  // namespace swarm::cli
