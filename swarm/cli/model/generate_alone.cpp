#include "swarm/cli/model/generate_alone.hpp"

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/model_path.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/model/answer.hpp"
#include "swarm/cli/model/answer_text.hpp"
#include "swarm/cli/model/question.hpp"
#include "swarm/cli/stack/open_stack.hpp"
#include "swarm/cli/train.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;
using stacking::TokenId;
using stacking::llama::LlamaSessions;
using stacking::models::ModelSource;
using stacking::stack::ModelReader;
using stacking::stack::TextReader;
using stacking::tokenizers::ModelTokenizer;

stacking::kernels::WeightFormat format_of(const GenerateOptions& options) {
    return *stacking::kernels::parse_weight_format(options.weights);
}

double seconds_now() {
    return std::chrono::duration<double>(clock_now().time_since_epoch()).count();
}

/// The stages of the path, each one's weights once. Where tokens may exit, all have the head.
Result<ModelReader::Stages> stages_of(const ModelSource& model, const GenerateOptions& options) {
    const auto& architecture = model.architecture();
    if (options.stages > architecture.model.layers) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--stages is " + std::to_string(options.stages) + "; the model has " +
                std::to_string(architecture.model.layers) + " layers"};
    }
    std::vector<std::uint32_t> path = options.path;
    if (path.empty()) {
        path.resize(options.stages);
        std::iota(path.begin(), path.end(), 0U);
    }
    std::string refusal =
        stacking::path_refusal(path, options.stages, architecture.tied_embeddings);
    if (!refusal.empty()) {
        return Error{ErrorCode::Usage, Reaction::Reject, std::move(refusal)};
    }
    const auto layouts = split(architecture, options.stages);
    std::map<std::uint32_t, std::shared_ptr<const stacking::llama::StageWeights>> weights;
    ModelReader::Stages stages;
    for (const std::uint32_t stage : path) {
        if (weights[stage] == nullptr) {
            auto read = stacking::llama::load_stage(
                model, layouts[stage], format_of(options), options.exit_threshold <= 1
            );
            if (!read) {
                return read.error();
            }
            weights[stage] = std::move(*read);
        }
        // The only session: it reserves what it needs and no more.
        const LlamaSessions::Options unbounded{
            .kv_budget_bytes = std::numeric_limits<std::size_t>::max()};
        stages.push_back(std::make_unique<LlamaSessions>(weights[stage], unbounded));
    }
    return stages;
}

Result<std::unique_ptr<TextReader>> reader_of(
    const ModelSource& model, const GenerateOptions& options
) {
    auto stages = stages_of(model, options);
    if (!stages) {
        return stages.error();
    }
    auto reader = ModelReader::make(std::move(*stages), options.exit_threshold, options.codecs);
    if (!reader) {
        return reader.error();
    }
    return std::unique_ptr<TextReader>(std::move(*reader));
}

/// What answers, and what it is asked.
struct Asked {
    std::unique_ptr<TextReader> reader;
    ModelTokenizer tokenizer;
    Question question;
};

Result<Asked> ask_model(const GenerateOptions& options, Console& console) {
    Result<ModelQuestion> asked = read_model_question(options, console);
    if (!asked) {
        return asked.error();
    }
    auto reader = reader_of(asked->model.source, options);
    if (!reader) {
        return reader.error();
    }
    return Asked{std::move(*reader), std::move(asked->tokenizer), std::move(asked->question)};
}

Result<Asked> ask_stack(const GenerateOptions& options, Console& console) {
    auto stack = open_to_generate(options, console);
    if (!stack) {
        return stack.error();
    }
    auto reader = stack->reader();
    if (!reader) {
        return reader.error();
    }
    Result<Question> question = read_question(
        options, stack->tokenizer(), (*reader)->context(), stack->end_tokens(), console
    );
    if (!question) {
        return question.error();
    }
    return Asked{std::move(*reader), stack->take_tokenizer(), std::move(*question)};
}

Result<Asked> ask(const GenerateOptions& options, Console& console) {
    return options.stack.empty() ? ask_model(options, console) : ask_stack(options, console);
}

Result<Answer> run(const Asked& asked, const GenerateOptions& options, const AnswerHooks& hooks) {
    const AnswerOptions wanted{
        asked.question.tokens_max, asked.question.end_tokens, {options.temperature, options.seed}};
    return answer(*asked.reader, asked.question.prompt, wanted, hooks);
}

std::string to_json(
    const GenerateOptions& options, std::size_t prompt, const Answer& answer, std::string text
) {
    const json::object report{
        {"model", options.stack.empty() ? options.model : options.stack},
        {"weights", options.weights},
        {"prompt_tokens", prompt},
        {"ids", json::array(answer.ids.begin(), answer.ids.end())},
        {"text", std::move(text)},
        {"prefill_tokens_per_s", rate_as_json(prompt, answer.prefill_s)},
        {"decode_tokens_per_s", rate_as_json(answer.decoded, answer.decode_s)}};
    return json::serialize(report) + "\n";
}

}  // namespace

int generate_alone(const GenerateOptions& options, Console& console) {
    const Result<Asked> asked = ask(options, console);
    if (!asked) {
        return end_with(console, asked.error());
    }
    TextStream text(asked->tokenizer, asked->question.before);
    const AnswerHooks hooks{seconds_now, [&](TokenId token) { text.add(token); }};
    const Result<Answer> answered = run(*asked, options, hooks);
    std::string written = text.finish();
    if (!answered) {
        return end_with(console, answered.error());
    }
    const std::size_t read = asked->question.prompt.size();
    std::cerr << timing_line("prompt", read, answered->prefill_s)
              << timing_line("decode", answered->decoded, answered->decode_s);
    const std::string report = to_json(options, read, *answered, std::move(written));
    const bool kept = options.json_file.empty() || write_text(console, options.json_file, report);
    return kept ? kDone : kRunFailed;
}

Result<std::vector<std::uint32_t>> ids_alone(const GenerateOptions& options, Console& console) {
    const Result<Asked> asked = ask(options, console);
    if (!asked) {
        return asked.error();
    }
    const AnswerHooks hooks{seconds_now, [](TokenId) {}};
    Result<Answer> answered = run(*asked, options, hooks);
    if (!answered) {
        return answered.error();
    }
    return std::move(answered->ids);
}

}  // namespace swarm::cli
