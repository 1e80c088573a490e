#include "decode.hpp"

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/any_model.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"
#include "swarm/net/device/worker_pool.hpp"

#include <boost/json/object.hpp>

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
std::vector<TokenId> prompt(std::uint32_t count, std::uint32_t vocabulary) {
    std::vector<TokenId> tokens(count);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = static_cast<TokenId>((100 + i * 37) % vocabulary);
    }
    return tokens;
}

TokenId most_probable(std::span<const float> logits) {
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

/// Reads the prompt into an empty cache, and returns the logits after it.
Result<std::vector<float>> read_prompt(
    LlamaSessions& sessions, CacheId cache, const DecodeOptions& options
) {
    sessions.drop(cache);
    SWARM_TRY(sessions.reserve(cache, options.prompt + options.tokens));
    std::vector<SessionRow> rows;
    for (std::uint32_t at = 0; at < options.prompt; ++at) {
        rows.push_back({cache, at});
    }
    const std::vector<TokenId> tokens = prompt(options.prompt, sessions.shape().vocabulary);
    const std::uint32_t wanted = options.prompt - 1;
    return sessions.forward(rows, std::span<const TokenId>(tokens), std::span(&wanted, 1));
}

}  // namespace

Result<DecodeRun> decode_once(LlamaSessions& sessions, const DecodeOptions& options) {
    std::vector<float> logits;
    Times begin{};
    for (std::uint32_t text = 0; text < options.texts; ++text) {
        begin = now();
        SWARM_TRY(logits, read_prompt(sessions, CacheId{text}, options));
    }
    const Times read = now();
    const std::size_t vocabulary = logits.size();
    std::vector<TokenId> last(options.texts, most_probable(logits));  // all texts are the same
    std::vector<std::uint32_t> wanted(options.texts);
    std::iota(wanted.begin(), wanted.end(), 0U);
    for (std::uint32_t i = 0; i < options.tokens; ++i) {
        std::vector<SessionRow> rows;
        for (std::uint32_t text = 0; text < options.texts; ++text) {
            rows.push_back({CacheId{text}, options.prompt + i});
        }
        SWARM_TRY(logits, sessions.forward(rows, std::span<const TokenId>(last), wanted));
        for (std::uint32_t text = 0; text < options.texts; ++text) {
            last[text] = most_probable(std::span(logits).subspan(text * vocabulary, vocabulary));
        }
    }
    const Times end = now();
    const double made = static_cast<double>(options.tokens) * options.texts;
    const DecodeRates rates{
        .decode_tokens_per_s = made / (end.wall_s - read.wall_s),
        .prefill_tokens_per_s = options.prompt / (read.wall_s - begin.wall_s),
        .decode_tokens_per_cpu_s = made / (end.cpu_s - read.cpu_s),
        .prefill_tokens_per_cpu_s = options.prompt / (read.cpu_s - begin.cpu_s)};
    return DecodeRun{rates, std::move(logits)};
}

namespace {

Result<DecodeRates> rates_of(LlamaSessions& sessions, const DecodeOptions& options) {
    SWARM_TRY(const DecodeRun run, decode_once(sessions, options));
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

using Loaded = std::vector<std::unique_ptr<LlamaSessions>>;  // by row

/// Loads the model with each of the choices.
Result<Loaded> load(const DecodeOptions& options, const std::vector<std::string>& choices) {
    SWARM_TRY(const auto source, stacking::models::open_model(options.model));
    const auto layout = split(source.architecture(), 1).front();
    LlamaSessions::Options with;
    if (options.threads > 1) {
        with.workers = std::make_shared<net::WorkerPool>(options.threads);
    }
    Loaded loaded;
    for (const std::string& choice : choices) {
        SWARM_TRY(
            const auto weights,
            stacking::llama::load_stage(
                source, layout, *stacking::llama::parse_weight_choice(choice)
            )
        );
        loaded.push_back(std::make_unique<LlamaSessions>(weights, with));
    }
    return loaded;
}

DecodeRates over(const DecodeRates& rates, const DecodeRates& base) {
    DecodeRates ratio;
    for (const auto rate : kRates) {
        ratio.*rate = rates.*rate / base.*rate;
    }
    return ratio;
}

}  // namespace

Result<std::vector<DecodeRow>> measure_decode(const DecodeOptions& options, std::size_t rounds) {
    std::vector<std::string> names{options.weights};
    if (options.weights.empty()) {
        names.assign(std::begin(kChoices), std::end(kChoices));
    }
    SWARM_TRY(const Loaded sessions, load(options, names));
    if (!options.beside.empty()) {
        names.emplace_back("beside");
    }
    std::vector<std::vector<DecodeRates>> taken(names.size());
    std::vector<std::vector<DecodeRates>> ratios(names.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            auto rates =
                i < sessions.size() ? rates_of(*sessions[i], options) : run_beside(options.beside);
            if (!rates) {
                return rates.error();
            }
            taken[i].push_back(*rates);
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
            const bool alone = options.beside.empty();
            ratios[i].push_back(alone ? DecodeRates{} : over(taken[i].back(), taken.back().back()));
        }
    }
    std::vector<DecodeRow> rows;
    for (std::size_t i = 0; i < names.size(); ++i) {
        rows.push_back(
            {.name = names[i], .median = median_of(taken[i]), .ratio = median_of(ratios[i])}
        );
    }
    return rows;
}

namespace {

boost::json::object to_json(const DecodeRates& rates) {
    return {
        {"decode_tokens_per_s", rates.decode_tokens_per_s},
        {"prefill_tokens_per_s", rates.prefill_tokens_per_s},
        {"decode_tokens_per_cpu_s", rates.decode_tokens_per_cpu_s},
        {"prefill_tokens_per_cpu_s", rates.prefill_tokens_per_cpu_s}};
}

}  // namespace

boost::json::array tell(const std::vector<DecodeRow>& rows) {
    boost::json::array report;
    for (const DecodeRow& row : rows) {
        std::printf(
            "%-6s decode %6.1f tokens/s, %.2f of the other program; prefill %7.1f, %.2f; per CPU "
            "second %.1f, %.2f; %.1f, %.2f\n",
            row.name.c_str(),
            row.median.decode_tokens_per_s,
            row.ratio.decode_tokens_per_s,
            row.median.prefill_tokens_per_s,
            row.ratio.prefill_tokens_per_s,
            row.median.decode_tokens_per_cpu_s,
            row.ratio.decode_tokens_per_cpu_s,
            row.median.prefill_tokens_per_cpu_s,
            row.ratio.prefill_tokens_per_cpu_s
        );
        const bool alone = row.ratio.decode_tokens_per_s == 0;
        boost::json::object one{{"weights", row.name}, {"median", to_json(row.median)}};
        one["ratio"] = alone ? boost::json::value() : to_json(row.ratio);
        report.push_back(std::move(one));
    }
    return report;
}

}  // namespace swarm::bench
