#include "swarm/cli/model/generate_alone.hpp"

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/model/answer.hpp"
#include "swarm/cli/model/model_store.hpp"
#include "swarm/cli/train.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using stacking::TokenId;
using stacking::llama::LlamaSessions;
using stacking::models::ModelSource;
using stacking::tokenizers::ModelTokenizer;

double seconds_now() {
    return std::chrono::duration<double>(clock_now().time_since_epoch()).count();
}

struct OpenModel {
    ModelSource source;
    ModelTokenizer tokenizer;
};

Result<OpenModel> open(const GenerateOptions& options) {
    const Result<fs::path> path = find_model(options.model);
    if (!path) {
        return path.error();
    }
    Result<ModelSource> source = stacking::models::open_model(*path);
    if (!source) {
        return source.error();
    }
    Result<ModelTokenizer> tokenizer = stacking::tokenizers::open_tokenizer(*path);
    if (!tokenizer) {
        return tokenizer.error();
    }
    const std::uint32_t vocabulary = source->architecture().model.vocabulary;
    if (auto fits = check_fits(tokenizer->bpe, vocabulary); !fits) {
        return fits.error();
    }
    return OpenModel{std::move(*source), std::move(*tokenizer)};
}

Result<Answer> run(
    const OpenModel& model,
    const GenerateOptions& options,
    const std::vector<TokenId>& prompt,
    const AnswerHooks& hooks
) {
    const auto& architecture = model.source.architecture();
    const auto weights = stacking::llama::load_stage(
        model.source,
        split(architecture, 1).front(),
        *stacking::kernels::parse_weight_format(options.weights)
    );
    if (!weights) {
        return weights.error();
    }
    // The only session: it reserves what it needs and no more.
    const LlamaSessions::Options unbounded{
        .kv_budget_bytes = std::numeric_limits<std::size_t>::max()};
    LlamaSessions compute(*weights, unbounded);
    AnswerOptions wanted{
        options.tokens, architecture.end_tokens, {options.temperature, options.seed}};
    if (options.ignore_eos) {
        wanted.end_tokens.clear();
    }
    return answer(compute, prompt, wanted, hooks);
}

/// Writes text as its tokens come, and keeps it. Nothing is written before the first one.
class TextStream {
 public:
    /// `before`: stands before what is generated.
    TextStream(const ModelTokenizer& tokenizer, std::string before)
        : tokenizer_(tokenizer), before_(std::move(before)) {}

    void add(TokenId token) {
        // A model may have more tokens than its tokenizer: padding, which has no text.
        if (const auto bytes = tokenizer_.bpe.decode(std::span(&token, 1))) {
            write(stream_.push(*bytes));
        }
    }

    std::string finish() {
        write(stream_.finish());
        if (!text_.empty()) {
            std::cout << std::endl;
        }
        return std::move(text_);
    }

 private:
    void write(const std::string& text) {
        if (text.empty()) {
            return;
        }
        std::cout << std::exchange(before_, "") << text << std::flush;
        text_ += text;
    }

    const ModelTokenizer& tokenizer_;
    stacking::tokenizers::Utf8Stream stream_;
    std::string before_;
    std::string text_;
};

std::string timing_line(const char* what, std::size_t tokens, double seconds) {
    char line[96];
    std::snprintf(
        line,
        sizeof line,
        "%-8s%6zu tokens %8.2f s %8.1f tokens/s\n",
        what,
        tokens,
        seconds,
        rate_of(tokens, seconds).value_or(0)
    );
    return line;
}

json::value or_null(std::optional<double> rate) {
    return rate ? json::value(*rate) : json::value(nullptr);
}

std::string to_json(
    const GenerateOptions& options, std::size_t prompt, const Answer& answer, std::string text
) {
    const json::object report{
        {"model", options.model},
        {"weights", options.weights},
        {"prompt_tokens", prompt},
        {"ids", json::array(answer.ids.begin(), answer.ids.end())},
        {"text", std::move(text)},
        {"prefill_tokens_per_s", or_null(rate_of(prompt, answer.prefill_s))},
        {"decode_tokens_per_s", or_null(rate_of(answer.decoded, answer.decode_s))}};
    return json::serialize(report) + "\n";
}

}  // namespace

int generate_alone(const GenerateOptions& options, Console& console) {
    const Result<OpenModel> model = open(options);
    if (!model) {
        return end_with(console, model.error());
    }
    const auto kind = options.raw ? PromptKind::Raw : PromptKind::Chat;
    const Result<PromptTokens> prompt = encode_prompt(model->tokenizer, options.prompt, kind);
    if (!prompt) {
        return end_with(console, prompt.error());
    }
    if (prompt->lost_bytes) {
        console.warn("some bytes of the prompt have no token in this model and are left out");
    }
    TextStream text(model->tokenizer, options.raw ? options.prompt : "");
    const AnswerHooks hooks{seconds_now, [&](TokenId token) { text.add(token); }};
    const Result<Answer> answered = run(*model, options, prompt->ids, hooks);
    std::string written = text.finish();
    if (!answered) {
        return end_with(console, answered.error());
    }
    const std::size_t read = prompt->ids.size();
    std::cerr << timing_line("prompt", read, answered->prefill_s)
              << timing_line("decode", answered->decoded, answered->decode_s);
    const std::string report = to_json(options, read, *answered, std::move(written));
    const bool kept = options.json_file.empty() || write_text(console, options.json_file, report);
    return kept ? kDone : kRunFailed;
}

}  // namespace swarm::cli
