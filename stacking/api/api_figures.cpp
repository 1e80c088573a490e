#include "stacking/api/api_figures.hpp"

#include <array>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace stacking::api {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using Labels = prometheus::Labels;

// Seconds. The bounds are those that vLLM's dashboards draw.
const Histogram::BucketBoundaries kFirstTokenBounds{
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
const Histogram::BucketBoundaries kTokenBounds{
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5};
const Histogram::BucketBoundaries kRequestBounds{0.5, 1, 2.5, 5, 10, 30, 60, 120, 300};

Counter& counter(
    prometheus::Registry& registry, const char* name, const char* help, const Labels& labels
) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

Gauge& gauge(
    prometheus::Registry& registry, const char* name, const char* help, const Labels& labels
) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

Histogram& histogram(
    prometheus::Registry& registry,
    const char* name,
    const char* help,
    const Labels& labels,
    const Histogram::BucketBoundaries& bounds
) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(
        labels, bounds
    );
}

Labels with(Labels labels, const char* name, const char* value) {
    labels.emplace(name, value);
    return labels;
}

}  // namespace

struct ApiFigures::Families {
    explicit Families(const Labels& all) : labels(all) {}

    prometheus::Registry registry{};
    Labels labels;

    std::array<Counter*, 2> prompt_tokens{
        &counter(registry, "vllm:prompt_tokens_total", "Tokens of prompts.", labels),
        &counter(registry, "llamacpp:prompt_tokens_total", "Tokens of prompts.", labels)};
    std::array<Counter*, 2> generation_tokens{
        &counter(registry, "vllm:generation_tokens_total", "Tokens of answers.", labels),
        &counter(registry, "llamacpp:tokens_predicted_total", "Tokens of answers.", labels)};
    std::array<Gauge*, 2> running{
        &gauge(registry, "vllm:num_requests_running", "Answers under way.", labels),
        &gauge(registry, "llamacpp:requests_processing", "Answers under way.", labels)};
    std::array<Gauge*, 2> waiting{
        &gauge(registry, "vllm:num_requests_waiting", "Answers that wait for a place.", labels),
        &gauge(registry, "llamacpp:requests_deferred", "Answers that wait for a place.", labels)};
    Histogram& first{histogram(
        registry,
        "vllm:time_to_first_token_seconds",
        "From the request to its first token.",
        labels,
        kFirstTokenBounds
    )};
    Histogram& between{histogram(
        registry,
        "vllm:time_per_output_token_seconds",
        "From a token to the next one.",
        labels,
        kTokenBounds
    )};
    Histogram& whole{histogram(
        registry,
        "vllm:e2e_request_latency_seconds",
        "From the request to the end of its answer.",
        labels,
        kRequestBounds
    )};
    prometheus::Family<Counter>& outcomes{prometheus::BuildCounter()
                                              .Name("vllm:request_success_total")
                                              .Help("Answers that ended, by the reason.")
                                              .Register(registry)};
    std::array<Counter*, 4> ended{
        &outcomes.Add(with(labels, "finished_reason", "stop")),
        &outcomes.Add(with(labels, "finished_reason", "length")),
        &outcomes.Add(with(labels, "finished_reason", "error")),
        &outcomes.Add(with(labels, "finished_reason", "abort"))};
    Counter& sought{counter(
        registry, "vllm:prefix_cache_queries_total", "Tokens of prompts sought at peers.", labels
    )};
    Counter& found{counter(
        registry, "vllm:prefix_cache_hits_total", "Of these, tokens that peers had read.", labels
    )};
    Counter& guesses{
        counter(registry, "vllm:spec_decode_num_draft_tokens_total", "Guesses of tokens.", labels)};
    Counter& right{counter(
        registry, "vllm:spec_decode_num_accepted_tokens_total", "Of these, right ones.", labels
    )};
    Counter& refused{
        counter(registry, "swarm_requests_refused_total", "Requests without an answer.", labels)};
    Counter& moved{counter(
        registry, "swarm_failovers_total", "Answers that went on with other peers.", labels
    )};
    Counter& refilled{counter(
        registry, "swarm_refilled_rows_total", "Rows that peers read again after failovers.", labels
    )};
    Counter& left{counter(
        registry,
        "swarm_refills_shared_rows_total",
        "Rows that the new peers had read for another answer.",
        labels
    )};
};

ApiFigures::ApiFigures(const std::string& model)
    : families_(std::make_unique<Families>(Labels{{"model_name", model}})) {}

ApiFigures::~ApiFigures() = default;

void ApiFigures::prompt_read(std::size_t tokens) {
    for (Counter* const one : families_->prompt_tokens) {
        one->Increment(static_cast<double>(tokens));
    }
}

void ApiFigures::prompt_found(std::size_t tokens, std::size_t reused) {
    families_->sought.Increment(static_cast<double>(tokens));
    families_->found.Increment(static_cast<double>(reused));
}

void ApiFigures::guessed(std::size_t guesses, std::size_t right) {
    families_->guesses.Increment(static_cast<double>(guesses));
    families_->right.Increment(static_cast<double>(right));
}

void ApiFigures::first_token(swarm::Duration since_asked) {
    families_->first.Observe(swarm::in_seconds(since_asked));
    for (Counter* const one : families_->generation_tokens) {
        one->Increment();
    }
}

void ApiFigures::next_token(swarm::Duration since_token) {
    families_->between.Observe(swarm::in_seconds(since_token));
    for (Counter* const one : families_->generation_tokens) {
        one->Increment();
    }
}

void ApiFigures::ended(Outcome outcome, swarm::Duration since_asked) {
    families_->ended[static_cast<std::size_t>(outcome)]->Increment();
    families_->whole.Observe(swarm::in_seconds(since_asked));
}

void ApiFigures::refused() {
    families_->refused.Increment();
}

void ApiFigures::moved() {
    families_->moved.Increment();
}

void ApiFigures::refilled(std::uint64_t rows, std::uint64_t found) {
    families_->refilled.Increment(static_cast<double>(rows));
    families_->left.Increment(static_cast<double>(found));
}

void ApiFigures::set_load(std::size_t running, std::size_t waiting) {
    for (Gauge* const one : families_->running) {
        one->Set(static_cast<double>(running));
    }
    for (Gauge* const one : families_->waiting) {
        one->Set(static_cast<double>(waiting));
    }
}

std::string ApiFigures::to_text() const {
    return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace stacking::api
