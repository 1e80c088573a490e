#include "swarm/cli/answer/generate_alone.hpp"

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/model_path.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/answer.hpp"
#include "swarm/cli/answer/answer_report.hpp"
#include "swarm/cli/answer/answer_text.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/answer/prompt_progress.hpp"
#include "swarm/cli/answer/question.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/usage.hpp"

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

using stacking::TokenId;
using stacking::composition::ModelReader;
using stacking::composition::TextReader;
using stacking::llama::LlamaSessions;
using stacking::models::ModelSource;
using stacking::tokenizers::ModelTokenizer;

stacking::llama::WeightChoice choice_of(const GenerateOptions& options) {
    return *stacking::llama::parse_weight_choice(options.weights);
}

double seconds_now() {
    return std::chrono::duration<double>(clock_now().time_since_epoch()).count();
}

/// The layers of the stages: about equal numbers, or those between exits.
Result<std::vector<run::StageLayout>> layouts_of(
    const stacking::models::Architecture& architecture, const GenerateOptions& options
) {
    const std::uint32_t layers = architecture.model.layers;
    const auto stages = static_cast<std::uint32_t>(options.exits_at.size() + 1);
    SWARM_TRY(check_stages(architecture, options.exits_at.empty() ? options.stages : stages));
    if (options.exits_at.empty()) {
        return split(architecture, options.stages);
    }
    std::vector<std::uint32_t> ends = options.exits_at;
    ends.push_back(layers);
    std::vector<run::StageLayout> layouts;
    std::uint32_t first = 0;
    for (const std::uint32_t end : ends) {
        if (end <= first || end > layers) {
            return usage(
                "--exits-at wants rising numbers from 1 to " + std::to_string(layers - 1) +
                ": the model has " + std::to_string(layers) + " layers"
            );
        }
        layouts.push_back(layers_of(architecture, first, end));
        layouts.back().stage = {static_cast<std::uint32_t>(layouts.size() - 1)};
        first = end;
    }
    return layouts;
}

/// Makes the stages of the path; a stage that comes twice has its weights once. Where tokens may
/// exit early, all stages have the head.
Result<ModelReader::Stages> stages_of(const ModelSource& model, const GenerateOptions& options) {
    const auto& architecture = model.architecture();
    SWARM_TRY(const auto layouts, layouts_of(architecture, options));
    std::vector<std::uint32_t> path = options.path;
    if (path.empty()) {
        path.resize(layouts.size());
        std::iota(path.begin(), path.end(), 0U);
    }
    const auto embeddings =
        architecture.tied_embeddings ? stacking::Embeddings::Tied : stacking::Embeddings::Untied;
    const auto stage_count = static_cast<std::uint32_t>(layouts.size());
    std::string refusal = stacking::path_refusal(path, stage_count, embeddings);
    if (!refusal.empty()) {
        return Error{ErrorCode::Usage, Reaction::Reject, std::move(refusal)};
    }
    using stacking::llama::Exits;
    const bool may_exit = options.exit_threshold <= 1 || !options.exits_at.empty();
    const Exits exits = may_exit ? Exits::EveryStage : Exits::None;
    // There is one session, which reserves the pages that it needs and no more.
    const LlamaSessions::Options means{
        .kv_budget_bytes = std::numeric_limits<std::size_t>::max(),
        .workers = make_workers(threads_to_answer(options.threads))};
    std::map<std::uint32_t, std::shared_ptr<const stacking::llama::StageWeights>> weights;
    ModelReader::Stages stages;
    for (const std::uint32_t stage : path) {
        if (weights[stage] == nullptr) {
            SWARM_TRY(
                weights[stage],
                stacking::llama::load_stage(
                    model, layouts[stage], choice_of(options), exits, {}, means.workers.get()
                )
            );
        }
        stages.push_back(std::make_unique<LlamaSessions>(weights[stage], means));
    }
    return stages;
}

/// The options, with the exits that the model was trained with where a token may exit and nobody
/// has said where.
Result<GenerateOptions> with_exits(GenerateOptions options, Console& console) {
    const bool has_stages = options.stages > 1 || !options.path.empty();
    if (options.exit_threshold <= 1 && options.exits_at.empty() && !has_stages) {
        SWARM_TRY(options.exits_at, trained_exits(options.model));
        tell_trained_exits(options.exits_at, console);
    }
    return options;
}

Result<std::unique_ptr<ModelReader>> reader_of(
    const ModelSource& model, const GenerateOptions& asked, Console& console
) {
    SWARM_TRY(const GenerateOptions options, with_exits(asked, console));
    SWARM_TRY(ModelReader::Stages stages, stages_of(model, options));
    return ModelReader::make(std::move(stages), options.exit_threshold, options.codecs);
}

/// A reader, and the question that it is asked.
struct Asked {
    std::unique_ptr<TextReader> reader;
    ModelTokenizer tokenizer;
    Question question;
};

Result<Asked> ask_model(const GenerateOptions& options, Console& console) {
    SWARM_TRY(ModelQuestion asked, read_model_question(options, console));
    SWARM_TRY(std::unique_ptr<ModelReader> reader, reader_of(asked.model.source, options, console));
    return Asked{std::move(reader), std::move(asked.tokenizer), std::move(asked.question)};
}

Result<Asked> ask_stack(const GenerateOptions& options, Console& console) {
    SWARM_TRY(OpenStack stack, open_to_generate(options, console));
    stack.compute_with(make_workers(threads_to_answer(options.threads)));
    SWARM_TRY(
        Question question,
        read_question(options, stack.tokenizer(), stack.context(), stack.end_tokens(), console)
    );
    SWARM_TRY(std::unique_ptr<TextReader> reader, stack.reader(question.prompt));
    return Asked{std::move(reader), stack.take_tokenizer(), std::move(question)};
}

Result<Asked> ask(const GenerateOptions& options, Console& console) {
    return options.stack.empty() ? ask_model(options, console) : ask_stack(options, console);
}

AnswerOptions wanted_of(const Question& question, const GenerateOptions& options) {
    return {
        question.tokens_max,
        question.end_tokens,
        {options.temperature, options.seed, options.top_p, options.top_k}};
}

Result<Answer> run(
    TextReader& reader,
    const Question& question,
    const GenerateOptions& options,
    const AnswerHooks& hooks
) {
    return answer(reader, question.prompt, wanted_of(question, options), hooks);
}

}  // namespace

void tell_trained_exits(const std::vector<std::uint32_t>& exits, Console& console) {
    if (exits.empty()) {
        return;
    }
    std::string text;
    for (const std::uint32_t exit : exits) {
        text += (text.empty() ? "" : ", ") + std::to_string(exit);
    }
    console.info("exits behind layers " + text + ": the run was trained with them");
}

int generate_alone(const GenerateOptions& options, Console& console) {
    const Result<Asked> asked = ask(options, console);
    if (!asked) {
        return end_with(console, asked.error());
    }
    TextStream text(asked->tokenizer, asked->question.before, options.stops);
    PromptStatus status(console);
    const auto add = [&](TokenId token) {
        status.end();
        return text.add(token);
    };
    const auto show = [&](std::size_t tokens) {
        status.show(tokens, asked->question.prompt.size());
        return true;
    };
    const AnswerHooks hooks{seconds_now, add, show};
    const Result<Answer> answered = run(*asked->reader, asked->question, options, hooks);
    std::string written = text.finish();
    if (!answered) {
        return end_with(console, answered.error());
    }
    if (!text.is_stopped()) {
        tell_full_context(asked->question, answered->ids.size(), options.tokens, console);
    }
    const std::size_t read = asked->question.prompt.size();
    std::cerr << timing_line("prompt", read, answered->prefill_s)
              << timing_line("decode", answered->decoded, answered->decode_s);
    const std::string report = to_json(options, read, *answered, written);
    const bool kept = options.json_file.empty() || write_text(console, options.json_file, report);
    return kept ? kDone : kRunFailed;
}

Result<AloneModel> open_alone(const GenerateOptions& options, Console& console) {
    if (options.stack.empty()) {
        SWARM_TRY(OpenModel model, open_model(options.model, options.adapter));
        SWARM_TRY(auto tokenizer, open_tokenizer(model));
        SWARM_TRY(std::unique_ptr<ModelReader> reader, reader_of(model.source, options, console));
        const auto& ends = model.source.architecture().end_tokens;
        ModelReader* const stages = reader.get();
        return AloneModel{
            std::move(reader),
            std::make_shared<const ModelTokenizer>(std::move(tokenizer)),
            ends,
            {},
            stages};
    }
    SWARM_TRY(OpenStack opened, open_to_generate(options, console));
    const auto stack = std::make_shared<OpenStack>(std::move(opened));
    stack->compute_with(make_workers(threads_to_answer(options.threads)));
    SWARM_TRY(std::unique_ptr<TextReader> reader, stack->reader());
    AloneModel model{
        std::move(reader),
        std::shared_ptr<const ModelTokenizer>(stack, &stack->tokenizer()),
        stack->end_tokens()};
    model.by_text = stack->priors().depend_on_text() ? stack : nullptr;
    return model;
}

Result<std::string> answer_alone(
    AloneModel& model,
    const GenerateOptions& options,
    const std::function<bool()>& goes_on,
    Console& console
) {
    SWARM_TRY(
        const Question question,
        read_question(options, *model.tokenizer, model.reader->context(), model.end_tokens, console)
    );
    if (model.by_text != nullptr) {  // other words may need other members
        SWARM_TRY(model.reader, model.by_text->reader(question.prompt));
        model.read_before.clear();
    }
    TextStream text(*model.tokenizer, question.before, options.stops);
    PromptStatus status(console);
    const auto add = [&](TokenId token) {
        status.end();
        return text.add(token) && goes_on();
    };
    const auto show = [&](std::size_t tokens) {
        status.show(tokens, question.prompt.size());
        return goes_on();
    };
    AnswerOptions wanted = wanted_of(question, options);
    const std::vector<TokenId> before = std::exchange(model.read_before, {});
    wanted.read_before = before;
    const auto answered = answer(*model.reader, question.prompt, wanted, {seconds_now, add, show});
    status.end();
    std::string written = text.finish();
    if (!answered) {
        return answered.error();
    }
    model.read_before = question.prompt;
    model.read_before.insert(model.read_before.end(), answered->ids.begin(), answered->ids.end());
    model.read_before.resize(answered->read);
    if (!text.is_stopped()) {
        tell_full_context(question, answered->ids.size(), options.tokens, console);
    }
    return written;
}

Result<std::vector<std::uint32_t>> ids_alone(const GenerateOptions& options, Console& console) {
    SWARM_TRY(const Asked asked, ask(options, console));
    stacking::tokenizers::AnswerText text(asked.tokenizer, options.stops);
    const auto go_on = [&text](TokenId token) {
        static_cast<void>(text.add(token));
        return !text.is_stopped();
    };
    const AnswerHooks hooks{seconds_now, go_on};
    SWARM_TRY(Answer answered, run(*asked.reader, asked.question, options, hooks));
    return std::move(answered.ids);
}

}  // namespace swarm::cli
