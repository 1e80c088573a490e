#include "decode.hpp"

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/any_model.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

namespace swarm::bench {
namespace {

using stacking::CacheId;
using stacking::SessionRow;
using stacking::TokenId;
using stacking::llama::LlamaSessions;
using stacking::llama::WeightChoice;

constexpr const char* kChoices[] = {"fp32", "bf16", "int8", "as-is"};
constexpr std::size_t kLineBytesMax = 4096;  // in the other program's output

constexpr double DecodeRates::*kRates[] = {
    &DecodeRates::decode_tokens_per_s,
    &DecodeRates::prefill_tokens_per_s,
    &DecodeRates::decode_tokens_per_cpu_s,
    &DecodeRates::prefill_tokens_per_cpu_s};

struct Times {
    double wall_s;
    double cpu_s;
};

Times now() {
    timespec cpu{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    const auto wall = std::chrono::steady_clock::now().time_since_epoch();
    return {
        std::chrono::duration<double>(wall).count(),
        static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec)};
}

/// Any tokens serve: their values do not change the cost.
std::vector<TokenId> prompt() {
    std::vector<TokenId> tokens(kDecodePrompt);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = static_cast<TokenId>(100 + i * 37);
    }
    return tokens;
}

}  // namespace

Result<DecodeRun> decode_once(LlamaSessions& sessions) {
    constexpr CacheId kCache{1};
    const std::vector<TokenId> tokens = prompt();
    sessions.drop(kCache);
    if (auto reserved = sessions.reserve(kCache, kDecodePrompt + kDecodeTokens); !reserved) {
        return reserved.error();
    }
    std::vector<SessionRow> rows;
    for (std::uint32_t at = 0; at < kDecodePrompt; ++at) {
        rows.push_back({kCache, at});
    }
    const Times begin = now();
    std::uint32_t wanted = kDecodePrompt - 1;
    auto logits = sessions.forward(rows, std::span<const TokenId>(tokens), std::span(&wanted, 1));
    const Times read = now();
    wanted = 0;
    for (std::uint32_t i = 0; i < kDecodeTokens && logits; ++i) {
        const auto next = static_cast<TokenId>(std::ranges::max_element(*logits) - logits->begin());
        const SessionRow row{kCache, static_cast<std::uint32_t>(kDecodePrompt) + i};
        logits = sessions.forward(
            std::span(&row, 1), std::span<const TokenId>(&next, 1), std::span(&wanted, 1)
        );
    }
    const Times end = now();
    if (!logits) {
        return logits.error();
    }
    const DecodeRates rates{
        .decode_tokens_per_s = kDecodeTokens / (end.wall_s - read.wall_s),
        .prefill_tokens_per_s = kDecodePrompt / (read.wall_s - begin.wall_s),
        .decode_tokens_per_cpu_s = kDecodeTokens / (end.cpu_s - read.cpu_s),
        .prefill_tokens_per_cpu_s = kDecodePrompt / (read.cpu_s - begin.cpu_s)};
    return DecodeRun{rates, std::move(*logits)};
}

namespace {

Result<DecodeRates> rates_of(LlamaSessions& sessions) {
    SWARM_TRY(const DecodeRun run, decode_once(sessions));
    return run.rates;
}

Error bad_answer(const std::string& command) {
    return {ErrorCode::Malformed, Reaction::Fatal, "no JSON line with four rates from: " + command};
}

Result<DecodeRates> run_beside(const std::string& command) {
    FILE* const out = popen(command.c_str(), "r");
    if (out == nullptr) {
        return bad_answer(command);
    }
    std::array<char, kLineBytesMax> buffer{};
    std::string line;
    while (std::fgets(buffer.data(), buffer.size(), out) != nullptr) {
        line = buffer.data();
    }
    const int status = pclose(out);
    const auto answer = stages::parse_strict_json(line);
    if (status != 0 || !answer || !answer->is_object()) {
        return bad_answer(command);
    }
    DecodeRates rates;
    const char* const names[] = {
        "decode_tokens_per_s",
        "prefill_tokens_per_s",
        "decode_tokens_per_cpu_s",
        "prefill_tokens_per_cpu_s"};
    for (std::size_t i = 0; i < std::size(kRates); ++i) {
        const auto* const value = answer->as_object().if_contains(names[i]);
        if (value == nullptr || !value->is_number()) {
            return bad_answer(command);
        }
        rates.*kRates[i] = value->to_number<double>();
    }
    return rates;
}

DecodeRates median_of(const std::vector<DecodeRates>& rounds) {
    DecodeRates median;
    for (const auto rate : kRates) {
        std::vector<double> values;
        for (const DecodeRates& round : rounds) {
            values.push_back(round.*rate);
        }
        std::ranges::sort(values);
        median.*rate = values[values.size() / 2];
    }
    return median;
}

Result<std::unique_ptr<LlamaSessions>> load(
    const stacking::models::ModelSource& model, WeightChoice choice
) {
    const auto layout = split(model.architecture(), 1).front();
    auto weights = stacking::llama::load_stage(model, layout, choice);
    if (!weights) {
        return weights.error();
    }
    return std::make_unique<LlamaSessions>(*weights, LlamaSessions::Options{});
}

}  // namespace

Result<std::vector<DecodeRow>> measure_decode(
    const std::filesystem::path& model, const std::string& beside, std::size_t rounds
) {
    const auto source = stacking::models::open_model(model);
    if (!source) {
        return source.error();
    }
    std::vector<std::unique_ptr<LlamaSessions>> sessions;
    std::vector<DecodeRow> rows;
    for (const char* const choice : kChoices) {
        auto loaded = load(*source, *stacking::llama::parse_weight_choice(choice));
        if (!loaded) {
            return loaded.error();
        }
        sessions.push_back(std::move(*loaded));
        rows.push_back({.name = choice, .median = {}, .ratio = {}});
    }
    if (!beside.empty()) {
        rows.push_back({.name = "beside", .median = {}, .ratio = {}});
    }
    std::vector<std::vector<DecodeRates>> taken(rows.size());
    std::vector<std::vector<DecodeRates>> ratios(rows.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto rates = i < sessions.size() ? rates_of(*sessions[i]) : run_beside(beside);
            if (!rates) {
                return rates.error();
            }
            taken[i].push_back(*rates);
        }
        for (std::size_t i = 0; i < rows.size(); ++i) {
            DecodeRates ratio;
            for (const auto rate : kRates) {
                ratio.*rate =
                    beside.empty() ? 0 : taken[i].back().*rate / taken.back().back().*rate;
            }
            ratios[i].push_back(ratio);
        }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].median = median_of(taken[i]);
        rows[i].ratio = median_of(ratios[i]);
    }
    return rows;
}

}  // namespace swarm::bench
