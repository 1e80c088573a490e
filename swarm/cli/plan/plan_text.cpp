// The text and the JSON of a RunPlan.
#include "swarm/cli/plan/run_plan.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstdio>

namespace swarm::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t kTextMax = 160;

template <class... Values>
std::string print(const char* format, Values... values) {
    char text[kTextMax];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

json::array numbers(const std::vector<std::uint32_t>& values) {
    json::array array;
    for (const std::uint32_t value : values) {
        array.push_back(value);
    }
    return array;
}

/// Tells what of the model changes the work of a stage, or what crosses a boundary.
std::string model_lines(const RunPlan& plan) {
    std::string text;
    if (plan.repeat > 1) {
        text += print(
            "each layer is computed %u times in a row, with one set of weights: its work counts so "
            "often, its memory once\n",
            plan.repeat
        );
    }
    if (!plan.path_layers.empty()) {
        text += print(
            "the layers %u-%u are computed %.4g times per microbatch, on average\n",
            plan.path_layers.front(),
            plan.path_layers.back(),
            plan.path_passes
        );
    }
    std::uint64_t frozen = 0;
    for (const RunPlan::Stage& stage : plan.stages) {
        frozen += stage.frozen_parameters;
    }
    if (frozen > 0) {
        text += print(
            "%llu parameters more are frozen: each stage keeps their weights alone\n",
            static_cast<unsigned long long>(frozen)
        );
    }
    if (plan.values_per_token < plan.width) {
        text += print(
            "%u of %u values per token cross a boundary between stages\n",
            plan.values_per_token,
            plan.width
        );
    }
    return text;
}

}  // namespace

std::string to_text(const RunPlan& plan, WorkUnit unit) {
    std::string text = print(
        "%5s %8s %12s %10s %10s %6s %14s %6s\n",
        "stage",
        "layers",
        "parameters",
        "memory",
        unit == WorkUnit::Milliseconds ? "ms" : "GFLOP",
        "peers",
        "microbatches/s",
        "busy"
    );
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        const RunPlan::Stage& stage = plan.stages[s];
        text += print(
            "%5zu %8s %12llu %6llu MiB %10.4g %6zu %14.4g %4.0f %%\n",
            s,
            run::layers_text(stage.first_layer, stage.layers, stage.part).c_str(),
            static_cast<unsigned long long>(stage.parameters),
            static_cast<unsigned long long>((stage.memory_bytes >> 20) + 1),
            stage.units,
            stage.peers.size(),
            stage.per_s,
            100 * stage.busy
        );
    }
    text += model_lines(plan);
    text += print(
        "a step of %u microbatches, at best: %.4g s, %.4g tokens/s, peers busy %.0f %%\n",
        plan.microbatches,
        plan.step_s,
        plan.tokens_per_s,
        100 * plan.utilisation
    );
    if (plan.sync_bytes > 0) {
        text += plan.sync_s > 0 ? print("of it %.4g s in which ", plan.sync_s) : "in it ";
        text += print("the replicas of a stage exchange %.4g MB each\n", plan.sync_bytes / 1e6);
    }
    for (std::size_t leg = 0; leg + 1 < plan.codecs.size(); leg += 2) {
        if (plan.passing_s[leg] + plan.passing_s[leg + 1] > 0) {
            const std::string pair = run::to_text({plan.codecs[leg], plan.codecs[leg + 1]});
            text += print(
                "between the stages %zu and %zu: %s, %.4g s up and %.4g s down\n",
                leg / 2,
                leg / 2 + 1,
                pair.c_str(),
                plan.passing_s[leg],
                plan.passing_s[leg + 1]
            );
        }
    }
    if (!plan.idle_peers.empty()) {
        text += print("%zu peers lend too little memory for any stage\n", plan.idle_peers.size());
    }
    return text + "limited by: " + plan.limit + "\n";
}

std::string to_json(const RunPlan& plan, const std::vector<std::uint32_t>& better) {
    json::array stages;
    for (const RunPlan::Stage& stage : plan.stages) {
        stages.push_back(json::object{
            {"first_layer", stage.first_layer},
            {"layers", stage.layers},
            {"part", stage.part.index},
            {"parts", stage.part.parts},
            {"parameters", stage.parameters},
            {"frozen_parameters", stage.frozen_parameters},
            {"memory_bytes", stage.memory_bytes},
            {"units", stage.units},
            {"peers", numbers(stage.peers)},
            {"microbatches_per_s", stage.per_s},
            {"busy", stage.busy}});
    }
    const json::object object{
        {"stages", std::move(stages)},
        {"idle_peers", numbers(plan.idle_peers)},
        {"microbatches", plan.microbatches},
        {"repeat", plan.repeat},
        {"path_passes", plan.path_passes},
        {"values_per_token", plan.values_per_token},
        {"step_s", plan.step_s},
        {"sync_s", plan.sync_s},
        {"sync_bytes", plan.sync_bytes},
        {"tokens_per_s", plan.tokens_per_s},
        {"utilisation", plan.utilisation},
        {"limit", plan.limit},
        {"codecs", run::to_text(plan.codecs)},
        {"passing_s", json::array(plan.passing_s.begin(), plan.passing_s.end())},
        {"better_layers_per_stage", numbers(better)}};
    return json::serialize(object) + "\n";
}

}  // namespace swarm::cli
