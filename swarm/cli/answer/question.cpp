#include "swarm/cli/answer/question.hpp"

#include "swarm/base/try.hpp"

#include <utility>

namespace swarm::cli {

void tell_full_context(
    const Question& question, std::size_t answered, std::uint32_t wanted, Console& console
) {
    if (question.tokens_max < wanted && answered == question.tokens_max) {
        console.warn(
            "the answer stops after " + std::to_string(answered) +
            " tokens: the model's context of " + std::to_string(question.prompt.size() + answered) +
            " tokens is full"
        );
    }
}

Result<Question> read_question(
    const GenerateOptions& options,
    const stacking::tokenizers::ModelTokenizer& tokenizer,
    std::uint32_t context,
    const std::vector<std::uint32_t>& end_tokens,
    Console& console
) {
    // A model without a template was taught to continue texts, not to answer.
    const bool raw = options.raw || tokenizer.chat_template().empty();
    const auto kind = raw ? PromptKind::Raw : PromptKind::Chat;
    if (raw && options.system && options.messages.empty()) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "the model has no chat template, so it knows no system message; leave --system out"};
    }
    SWARM_TRY(
        PromptTokens prompt,
        options.messages.empty() ? encode_prompt(tokenizer, options.prompt, kind, options.system)
                                 : encode_chat(tokenizer, options.messages)
    );
    if (prompt.lost_bytes) {
        console.warn("some bytes of the prompt have no token in this model and are left out");
    }
    SWARM_TRY(const auto room, room_for_answer(prompt.ids.size(), options.tokens, context));
    Question question{std::move(prompt.ids), room, {}, raw ? options.prompt : ""};
    if (!options.ignore_eos) {
        question.end_tokens = end_tokens;
    }
    return question;
}

Result<ModelQuestion> read_model_question(const GenerateOptions& options, Console& console) {
    SWARM_TRY(OpenModel model, open_model(options.model, options.adapter));
    SWARM_TRY(auto tokenizer, open_tokenizer(model));
    const auto& architecture = model.source.architecture();
    SWARM_TRY(
        Question question,
        read_question(
            options, tokenizer, architecture.model.context, architecture.end_tokens, console
        )
    );
    return ModelQuestion{std::move(model), std::move(tokenizer), std::move(question)};
}

}  // namespace swarm::cli
