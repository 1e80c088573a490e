#include "stacking/tokenizers/tokenizer_file.hpp"

#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stacking::tokenizers {
namespace {

using swarm::ErrorCode;

ModelTokenizer small_tokenizer(std::string chat_template) {
    auto bpe = ByteBpe::make(test::small_vocabulary());
    EXPECT_TRUE(bpe.has_value()) << bpe.error().detail;
    return ModelTokenizer(std::move(*bpe), std::move(chat_template));
}

TEST(TokenizerFile, KeepsTokensAndChatTemplate) {
    ModelTokenizer tokenizer = small_tokenizer("{{ bos_token }}\n{% for m in messages %}\xC3\xA9");
    tokenizer.set_chat_variables({{"bos_token", "<s>"}, {"eos_token", "\"quoted\""}});
    const std::string file = make_tokenizer_file(tokenizer);
    const auto again = parse_tokenizer_file(file);
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    EXPECT_TRUE(again->has_tokens_of(tokenizer));
    EXPECT_EQ(again->chat_template(), tokenizer.chat_template());
    EXPECT_EQ(again->chat_variables(), tokenizer.chat_variables());
    EXPECT_EQ(
        *again->encode("abc <s> x", SpecialTokens::Recognised),
        *tokenizer.encode("abc <s> x", SpecialTokens::Recognised)
    );
    EXPECT_EQ(make_tokenizer_file(*again), file) << "a file has one digest";
}

TEST(TokenizerFile, IsAPlainTokenizerJsonWithoutATemplate) {
    const ModelTokenizer tokenizer = small_tokenizer("");
    const auto again = parse_tokenizer_file(make_tokenizer_file(tokenizer));
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    EXPECT_EQ(again->chat_template(), "");
    EXPECT_TRUE(again->chat_variables().empty());
}

TEST(TokenizerFile, RefusesWhatIsNoTokenizer) {
    for (const char* const text : {"", "{", "{}", "garbage", R"({"swarm": 3})"}) {
        const auto made = parse_tokenizer_file(text);
        ASSERT_TRUE(made.has_error()) << text;
        EXPECT_TRUE(
            made.error().code == ErrorCode::Malformed || made.error().code == ErrorCode::Unsupported
        ) << text;
    }
}

}  // namespace
}  // namespace stacking::tokenizers
