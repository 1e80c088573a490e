#include "swarm/cli/common/training_text.hpp"

#include "stacking/tokenizers/sentence_piece.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace swarm::cli {
namespace {

using stacking::tokenizers::SentencePiece;
using stages::test::ScratchFolder;

/// A run that trains on a text of the test.
class LoadText : public testing::Test {
 protected:
    void write(const std::string& text) {
        config_.corpus = scratch_.path() / "corpus.txt";
        std::ofstream(config_.corpus, std::ios::binary) << text;
    }

    /// Returns 21 KB of lines, each with another number.
    static std::string numbers() {
        std::string text;
        for (int i = 0; i < 1500; ++i) {
            text += "number " + std::to_string(i * i) + "\n";
        }
        return text;
    }

    void name_tokenizer(const std::string& name) {
        config_.tokenizer = name;
        run::follow_tokenizer(config_);
    }

    ScratchFolder scratch_;
    run::RunConfig config_;
};

TEST_F(LoadText, TheOracleModelNeedsNone) {
    config_.model = *run::named_model("oracle");
    config_.corpus = "/nowhere";
    const auto text = load_text(config_);
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->corpus.empty());
}

TEST_F(LoadText, RefusesAMissingOrShortText) {
    config_.corpus = "/nowhere";
    EXPECT_FALSE(load_text(config_));
    write("short");
    const auto text = load_text(config_);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().reaction, Reaction::Reject);
}

TEST_F(LoadText, ReadsEveryByte) {
    write(std::string(1000, '\xff'));
    const auto text = load_text(config_);
    ASSERT_TRUE(text);
    EXPECT_EQ(text->corpus, run::Corpus(1000, 0xff));
    EXPECT_EQ(text->tokenizer, "");
    EXPECT_EQ(config_.tokenizer_sha256, "");
}

TEST_F(LoadText, TrainsTheTokenizerAndWritesItsHash) {
    write(numbers());
    name_tokenizer("spm:300");
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    const auto tokenizer = SentencePiece::parse(text->tokenizer);
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(tokenizer->size(), 300U);
    EXPECT_EQ(config_.tokenizer_sha256, to_hex(tokenizer->sha256()));
    const std::vector<std::uint32_t> ids(text->corpus.begin(), text->corpus.end());
    EXPECT_EQ(*tokenizer->decode(ids), numbers());

    const auto again = load_text(config_);  // the hash now names this tokenizer
    ASSERT_TRUE(again);
    EXPECT_EQ(again->tokenizer, text->tokenizer);
}

TEST_F(LoadText, TakesAndChecksAGivenTokenizer) {
    write(numbers());
    name_tokenizer("spm:300");
    const auto text = load_text(config_);
    ASSERT_TRUE(text);
    const std::string mine = config_.tokenizer_sha256;
    write("Another text, which alone would give another tokenizer.\n" + numbers());
    const auto kept = load_text(config_, text->tokenizer);
    ASSERT_TRUE(kept) << kept.error().detail;
    EXPECT_EQ(kept->tokenizer, text->tokenizer);

    EXPECT_EQ(load_text(config_).error().code, ErrorCode::Mismatch);
    EXPECT_EQ(load_text(config_, "garbage").error().code, ErrorCode::Malformed);
    const auto foreign = SentencePiece::train(numbers() + numbers() + "x", 301);
    ASSERT_TRUE(foreign);
    EXPECT_EQ(load_text(config_, foreign->file()).error().code, ErrorCode::Mismatch);
    EXPECT_EQ(config_.tokenizer_sha256, mine);
}

TEST_F(LoadText, RefusesATextWithTooFewTokens) {
    write(numbers());
    name_tokenizer("spm:60000");
    const auto refused = load_text(config_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
    EXPECT_NE(refused.error().detail.find("spm:60000"), std::string::npos);
    config_.model.context = 1'000'000;
    name_tokenizer("spm:300");
    const auto text = load_text(config_);
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().detail.find(" tokens; a context"), std::string::npos);
}

}  // namespace
}  // namespace swarm::cli
