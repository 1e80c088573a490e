#include "swarm/cli/metrics/step_metrics.hpp"

#include "swarm/cli/common/held_out_json.hpp"

#include <boost/json.hpp>

#include <cmath>
#include <map>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

json::value number_or_null(double value) {
    return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

/// Returns the number of this key; 0 where it is missing or no number.
double number(const json::object& object, std::string_view key) {
    const json::value* const found = object.if_contains(key);
    return found != nullptr && found->is_number() ? found->to_number<double>() : 0.0;
}

template <class Count>
Count count(const json::object& object, std::string_view key) {
    const json::value* const found = object.if_contains(key);
    json::error_code error;
    const Count value = found == nullptr ? 0 : found->to_number<Count>(error);
    return error ? 0 : value;
}

StepMetrics from_object(const json::object& object) {
    StepMetrics metrics;
    metrics.step = count<std::uint64_t>(object, "step");
    metrics.unix_time_s = number(object, "unix_time_s");
    metrics.seconds = number(object, "seconds");
    if (const auto* const loss = object.if_contains("loss"); loss && loss->is_number()) {
        metrics.loss = loss->to_number<double>();
    }
    metrics.tokens_per_s = number(object, "tokens_per_s");
    metrics.learning_rate = number(object, "lr");
    metrics.gradient_norm = number(object, "grad_norm");
    metrics.microbatches = count<std::uint32_t>(object, "microbatches");
    metrics.replayed = count<std::uint32_t>(object, "replayed");
    metrics.fenced = count<std::uint32_t>(object, "fenced");
    if (const auto* const peers = object.if_contains("peers_per_stage");
        peers && peers->is_array()) {
        for (const json::value& stage : peers->get_array()) {
            json::error_code error;
            metrics.peers_per_stage.push_back(stage.to_number<std::uint32_t>(error));
        }
    }
    if (const auto* const bytes = object.if_contains("wire_bytes"); bytes && bytes->is_number()) {
        metrics.wire_bytes = count<std::uint64_t>(object, "wire_bytes");
    }
    const auto* const looped = object.if_contains("looped");
    metrics.looped = looped != nullptr && looped->is_bool() && looped->get_bool();
    if (const auto* const reason = object.if_contains("skipped"); reason && reason->is_string()) {
        metrics.skipped = reason->get_string();
    }
    return metrics;
}

}  // namespace

std::string to_line(const StepMetrics& metrics) {
    json::object object{
        {"step", metrics.step},
        {"unix_time_s", metrics.unix_time_s},
        {"seconds", metrics.seconds},
        {"loss", metrics.loss ? number_or_null(*metrics.loss) : json::value(nullptr)},
        {"tokens_per_s", number_or_null(metrics.tokens_per_s)},
        {"lr", metrics.learning_rate},
        {"grad_norm", number_or_null(metrics.gradient_norm)},
        {"microbatches", metrics.microbatches},
        {"replayed", metrics.replayed},
        {"fenced", metrics.fenced}};
    if (!metrics.peers_per_stage.empty()) {
        object["peers_per_stage"] =
            json::array(metrics.peers_per_stage.begin(), metrics.peers_per_stage.end());
    }
    if (metrics.wire_bytes) {
        object["wire_bytes"] = *metrics.wire_bytes;
    }
    if (metrics.looped) {
        object["looped"] = true;
    }
    if (!metrics.skipped.empty()) {
        object["skipped"] = metrics.skipped;
    }
    return json::serialize(object) + "\n";
}

std::string to_line(const HeldOutFound& found, double unix_time_s) {
    return json::serialize(json::object{
               {"step", found.step},
               {"unix_time_s", unix_time_s},
               {"eval_loss", number_or_null(found.loss)},
               {"eval_best", found.is_best},
               {"eval_texts", held_out_texts_json(found.texts)}}) +
           "\n";
}

Result<std::vector<StepMetrics>> parse_metrics(std::string_view text) {
    std::map<std::uint64_t, StepMetrics> by_step;
    std::uint64_t line_number = 0;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        ++line_number;
        json::error_code error;
        const json::value line = json::parse(text.substr(0, end), error);
        text.remove_prefix(end + 1);
        if (error || !line.is_object() || line.get_object().if_contains("step") == nullptr) {
            return Error{
                ErrorCode::Malformed,
                Reaction::Reject,
                "line " + std::to_string(line_number) + " is no line of metrics.jsonl"};
        }
        StepMetrics metrics = from_object(line.get_object());
        if (const json::value* const held_out = line.get_object().if_contains("eval_loss")) {
            const auto step = by_step.find(metrics.step);
            if (step != by_step.end() && held_out->is_number()) {
                step->second.held_out = held_out->to_number<double>();
            }
            continue;
        }
        // After a rollback the lines of later steps are void.
        by_step.erase(by_step.lower_bound(metrics.step), by_step.end());
        by_step[metrics.step] = std::move(metrics);
    }
    std::vector<StepMetrics> all;
    for (auto& [step, metrics] : by_step) {
        all.push_back(std::move(metrics));
    }
    return all;
}

}  // namespace swarm::cli
