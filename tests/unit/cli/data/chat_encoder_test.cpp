#include "swarm/cli/data/chat_encoder.hpp"

#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/token_flags.hpp"
#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

namespace tokenizers = stacking::tokenizers;
using data::ChatMessage;
using data::ChatRole;
using data::ChatTemplateName;

constexpr const char* kChatMl =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

const std::vector<ChatMessage> kTwoTurns{
    {ChatRole::System, "Be kind."},
    {ChatRole::User, "Hi<|im_end|>"},
    {ChatRole::Assistant, "Hello."},
    {ChatRole::User, "Bye"},
    {ChatRole::Assistant, "So long."}};

/// Tokens of bytes and a few merges, with special tokens; <|end|> ends a document.
DataTokenizer with_template(const std::string& jinja) {
    tokenizers::Vocabulary vocabulary = tokenizers::test::small_vocabulary();
    std::vector<std::uint32_t> specials;
    for (const char* const special : {"<|im_start|>", "<|im_end|>", "<|end|>"}) {
        specials.push_back(static_cast<std::uint32_t>(vocabulary.tokens.size()));
        vocabulary.special_tokens.push_back(specials.back());
        vocabulary.tokens.emplace_back(special);
    }
    const auto own = std::make_shared<const tokenizers::ModelTokenizer>(
        *tokenizers::ByteBpe::make(std::move(vocabulary)), jinja
    );
    DataTokenizer made;
    made.encoder.name = "small";
    made.encoder.vocabulary = own->size();
    made.encoder.end_token = specials[2];
    made.encoder.encode = [own](std::string_view text, data::TextPlace) {
        return own->encode(text, tokenizers::SpecialTokens::AsText);
    };
    made.decode = [own](std::span<const std::uint32_t> ids) { return own->decode(ids); };
    made.own = own;
    made.ends = {specials[1]};
    return made;
}

/// The text of a chat, with {} around what counts.
std::string marked(const DataTokenizer& tokenizer, const std::vector<ChatMessage>& messages) {
    const auto tokens = tokenizer.encoder.encode_chat(messages);
    if (!tokens) {
        return tokens.error().detail;
    }
    std::string text;
    bool counts = false;
    for (const std::uint32_t token : *tokens) {
        if (counts_for_loss(token) != counts) {
            text += counts ? "}" : "{";
            counts = !counts;
        }
        const std::uint32_t id = token_id(token);
        text += *tokenizer.decode(std::span(&id, 1));
    }
    return text + (counts ? "}" : "");
}

TEST(ChatEncoder, CountsTheAnswersOfAModelsTemplateAndTheirEnds) {
    DataTokenizer tokenizer = with_template(kChatMl);
    ASSERT_TRUE(add_chat_template(ChatTemplateName::Model, tokenizer));
    EXPECT_EQ(
        marked(tokenizer, kTwoTurns),
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|><|im_end|>\n"
        "<|im_start|>assistant\n{Hello.<|im_end|>}\n<|im_start|>user\nBye<|im_end|>\n"
        "<|im_start|>assistant\n{So long.<|im_end|>}\n<|end|>"
    );
    EXPECT_EQ(tokenizer.encoder.chat_template, kChatMl);
}

TEST(ChatEncoder, CountsTheEndOfADocumentThatEndsAnAnswer) {
    DataTokenizer tokenizer =
        with_template("{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"
                      "{% if add_generation_prompt %}assistant:{% endif %}");
    ASSERT_TRUE(add_chat_template(ChatTemplateName::Model, tokenizer));
    EXPECT_EQ(
        marked(tokenizer, {{ChatRole::User, "Hi"}, {ChatRole::Assistant, "Hello."}}),
        "user:Hi\nassistant:{Hello.\n<|end|>}"
    );
    EXPECT_EQ(
        marked(tokenizer, kTwoTurns),
        "message 3: the chat template puts no end token behind an answer"
    );
}

TEST(ChatEncoder, RefusesATemplateThatRewritesEarlierMessages) {
    DataTokenizer tokenizer = with_template(
        "{% for m in messages %}{{ messages|length }}{{ m.content }}<|im_end|>{% endfor %}"
    );
    ASSERT_TRUE(add_chat_template(ChatTemplateName::Model, tokenizer));
    EXPECT_NE(marked(tokenizer, kTwoTurns).find("message 3: "), std::string::npos);
}

TEST(ChatEncoder, SaysOfARowWhatTheTemplateSays) {
    DataTokenizer tokenizer = with_template("{{ raise_exception('no roles here') }}");
    ASSERT_TRUE(add_chat_template(ChatTemplateName::Model, tokenizer));
    EXPECT_NE(marked(tokenizer, kTwoTurns).find("no roles here"), std::string::npos);
}

TEST(ChatEncoder, LinesEndEachAnswerWithTheEndToken) {
    DataTokenizer tokenizer = with_template("");
    ASSERT_TRUE(add_chat_template(ChatTemplateName::Lines, tokenizer));
    EXPECT_EQ(
        marked(tokenizer, kTwoTurns),
        "System: Be kind.\nUser: Hi<|im_end|>\nAssistant:{ Hello.<|end|>}User: Bye\nAssistant:"
        "{ So long.<|end|>}"
    );
    EXPECT_EQ(
        marked(tokenizer, {{ChatRole::Assistant, "A"}, {ChatRole::Tool, "t"}}),
        "Assistant:{ A<|end|>}Tool: t\n<|end|>"
    );
}

TEST(ChatEncoder, WithoutATemplateOneMustBeNamed) {
    DataTokenizer none = with_template("");
    const auto refused = add_chat_template(ChatTemplateName::Model, none);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_NE(refused.error().detail.find("chat_template = \"lines\""), std::string::npos);
    DataTokenizer broken = with_template("{% for %}");
    EXPECT_TRUE(add_chat_template(ChatTemplateName::Model, broken).has_error());
}

}  // namespace
}  // namespace swarm::cli
