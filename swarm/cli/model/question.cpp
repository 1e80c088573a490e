#include "swarm/cli/model/question.hpp"

#include <utility>

namespace swarm::cli {

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
    Result<PromptTokens> prompt = encode_prompt(tokenizer, options.prompt, kind);
    if (!prompt) {
        return prompt.error();
    }
    if (prompt->lost_bytes) {
        console.warn("some bytes of the prompt have no token in this model and are left out");
    }
    const auto room = room_for_answer(prompt->ids.size(), options.tokens, context);
    if (!room) {
        return room.error();
    }
    Question question{std::move(prompt->ids), *room, {}, raw ? options.prompt : ""};
    if (!options.ignore_eos) {
        question.end_tokens = end_tokens;
    }
    return question;
}

Result<ModelQuestion> read_model_question(const GenerateOptions& options, Console& console) {
    Result<OpenModel> model = open_model(options.model);
    if (!model) {
        return model.error();
    }
    auto tokenizer = open_tokenizer(*model);
    if (!tokenizer) {
        return tokenizer.error();
    }
    const auto& architecture = model->source.architecture();
    Result<Question> question = read_question(
        options, *tokenizer, architecture.model.context, architecture.end_tokens, console
    );
    if (!question) {
        return question.error();
    }
    return ModelQuestion{std::move(*model), std::move(*tokenizer), std::move(*question)};
}

}  // namespace swarm::cli
