#include "sim/report/figures.hpp"
#include "sim/report/sim_report.hpp"

#include <boost/json.hpp>

#include <cmath>

namespace sim {
namespace {

namespace json = boost::json;

/// Writes null for NaN and infinity, which JSON does not have.
json::value number_or_null(double value) {
    return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

json::value number_or_null(const std::optional<double>& value) {
    return value ? number_or_null(*value) : json::value(nullptr);
}

json::value count_or_null(const std::optional<std::uint64_t>& value) {
    return value ? json::value(*value) : json::value(nullptr);
}

json::array numbers(const std::vector<double>& values) {
    json::array array;
    for (const double value : values) {
        array.push_back(number_or_null(value));
    }
    return array;
}

json::value step_object(const std::optional<StepTimes>& step) {
    if (!step) {
        return nullptr;
    }
    return {
        {"mean", number_or_null(step->mean)},
        {"p50", number_or_null(step->p50)},
        {"p99", number_or_null(step->p99)}};
}

json::value share_array(const SimReport& report) {
    if (report.mode == Mode::Fluid) {
        return nullptr;
    }
    json::array array;
    for (const PeerShare& share : report.shares) {
        array.push_back(
            {{"peer", share.peer},
             {"stage", share.stage},
             {"microbatches", share.microbatches},
             {"share", number_or_null(share.share)}}
        );
    }
    return array;
}

json::array sample_array(const std::vector<Sample>& samples) {
    json::array array;
    for (const Sample& sample : samples) {
        array.push_back(
            {{"at_s", number_or_null(sample.at_s)},
             {"peers_per_stage", json::value_from(sample.peers_per_stage)},
             {"utilisation_per_stage", numbers(sample.utilisation_per_stage)},
             {"steps", sample.steps},
             {"bytes", sample.bytes}}
        );
    }
    return array;
}

json::array note_array(const std::vector<Note>& notes) {
    json::array array;
    for (const Note& note : notes) {
        array.push_back(
            {{"at_s", number_or_null(note.at_s)}, {"kind", to_text(note.kind)}, {"text", note.text}}
        );
    }
    return array;
}

}  // namespace

std::string to_json(const SimReport& report) {
    json::object whole{{"scenario", report.scenario}, {"mode", mode_name(report.mode)}};
    whole["seed"] = report.seed;
    whole["peers"] = report.peers;
    whole["stages"] = report.stages;
    whole["policy"] = report.policy;
    whole["rebalancer"] = report.rebalancer;
    whole["events"] = report.events;
    whole["events_per_s"] = number_or_null(report.events_per_s);
    whole["virtual_s"] = number_or_null(report.virtual_s);
    whole["interrupted"] = report.interrupted;
    whole["steps"] = report.steps;
    whole["step_s"] = step_object(report.step_s);
    whole["step_seconds"] =
        report.mode == Mode::Fluid ? json::value(nullptr) : numbers(report.step_seconds);
    whole["shares"] = share_array(report);
    whole["utilisation"] = number_or_null(report.utilisation);
    whole["utilisation_per_stage"] = numbers(report.utilisation_per_stage);
    whole["throughput_of_optimal"] = number_or_null(report.throughput_of_optimal);
    whole["moves"] = report.moves;
    whole["replayed"] = count_or_null(report.replayed);
    whole["fenced"] = count_or_null(report.fenced);
    whole["lost_work_share"] = number_or_null(report.lost_work_share);
    whole["bytes"] = report.bytes;
    whole["violations"] = json::value_from(report.violations);
    whole["failure"] = report.failure ? json::value(*report.failure) : json::value(nullptr);
    // The hash is text: 64 bits do not fit a JSON number.
    whole["trace_hash"] = hash_text(report.trace_hash);
    whole["samples"] = sample_array(report.samples);
    whole["notes"] = note_array(report.notes);
    return json::serialize(whole) + "\n";
}

}  // namespace sim
