// Held-out texts of a run that are folders of `swarm data build`, with texts or with chats.
#include "stacking/tokenizers/sentence_piece.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/cli/data/chat_encoder.hpp"
#include "swarm/cli/data/data_tokenizer.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/data/build.hpp"
#include "swarm/data/text_sample.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::tokenizers::SentencePiece;

/// With a context of 1 each token but the first is the target of exactly one row.
constexpr std::uint32_t kOneTarget = 1;
constexpr int kChats = 60;

class HeldOutFolder : public testing::Test {
 protected:
    void SetUp() override {
        std::ofstream chats(scratch_.path() / "chats.jsonl");
        for (int i = 0; i < kChats; ++i) {
            const std::string number = std::to_string(i * i);
            const std::string answer = "It is " + number + " today.";
            text_ += "number " + number + "\n";
            chats << R"({"messages":[{"role":"user","content":"Which number?"},)"
                  << R"({"role":"assistant","content":")" << answer << R"("},)"
                  << R"({"role":"user","content":"Thanks )" << number << R"("},)"
                  << R"({"role":"assistant","content":"Welcome"}]})"
                  << "\n";
            // Behind each answer its end token, which is byte 0, counts, too.
            answer_bytes_ += (" " + answer).size() + 1 + std::string(" Welcome").size() + 1;
        }
        std::ofstream(scratch_.path() / "text.txt") << text_;
        config_.model.context = kOneTarget;
        config_.batch = 1;
        config_.eval.batches = 100'000;  // all rows, each once
    }

    /// Builds a folder and returns its path.
    fs::path build(const std::string& tokenizer, data::RowKind rows, const std::string& to) {
        const bool chats = rows == data::RowKind::Chat;
        data::DataFile file;
        file.tokenizer = tokenizer;
        file.shard_tokens = data::kShardTokensLeast;
        file.chat_template = data::ChatTemplateName::Lines;
        file.sources.push_back({"held", {chats ? "chats.jsonl" : "text.txt"}});
        file.sources[0].rows = rows;
        file.sources[0].field = chats ? "messages" : "text";
        const fs::path folder = scratch_.path() / to;
        auto opened = open_data_tokenizer(tokenizer, {}, scratch_.path(), [&](std::size_t) {
            return data::text_sample(file, scratch_.path(), 1U << 20);
        });
        EXPECT_TRUE(opened) << opened.error().detail;
        if (opened && chats) {
            EXPECT_TRUE(add_chat_template(file.chat_template, *opened));
        }
        if (opened) {
            const auto built =
                data::build_data(file, opened->encoder, {scratch_.path(), folder}, {});
            EXPECT_TRUE(built) << built.error().detail;
        }
        return folder;
    }

    /// Gives the run a tokenizer of `tokens` pieces and returns its file, which is NAME.model, too.
    std::string use_pieces(const std::string& name, std::uint32_t tokens) {
        const auto made = SentencePiece::train(text_ + "Which It is today. Welcome: AUT", tokens);
        EXPECT_TRUE(made) << made.error().detail;
        std::ofstream(scratch_.path() / (name + ".model"), std::ios::binary) << made->file();
        config_.tokenizer = "spm:" + std::to_string(tokens);
        run::follow_tokenizer(config_);
        return made->file();
    }

    run::HeldOutText load(const fs::path& folder, const std::string& tokenizer = {}) {
        auto texts = load_held_out(config_, {folder}, tokenizer);
        EXPECT_TRUE(texts) << texts.error().detail;
        return texts ? std::move(texts->front()) : run::HeldOutText{};
    }

    void expect_refused(
        const std::string& why, const fs::path& folder, const std::string& tokenizer = {}
    ) {
        const auto texts = load_held_out(config_, {folder}, tokenizer);
        ASSERT_TRUE(texts.has_error()) << why;
        EXPECT_EQ(texts.error().reaction, Reaction::Reject);
        EXPECT_NE(texts.error().detail.find(why), std::string::npos) << texts.error().detail;
        EXPECT_NE(texts.error().detail.find(folder.string()), std::string::npos)
            << texts.error().detail;
        EXPECT_EQ(texts.error().detail.find('\n'), std::string::npos) << texts.error().detail;
    }

    /// The targets of all rows.
    [[nodiscard]] std::vector<std::uint32_t> targets_of(const run::HeldOutText& held) const {
        std::vector<std::uint32_t> targets;
        const std::size_t row = std::size_t{config_.model.context} + 1;
        for (std::size_t i = 0; i < held.tokens.size(); ++i) {
            if (i % row != 0) {
                targets.push_back(held.tokens[i]);
            }
        }
        return targets;
    }

    stages::test::ScratchFolder scratch_;
    std::string text_;
    std::uint64_t answer_bytes_ = 0;  // bytes that count, in all chats
    run::RunConfig config_;
};

TEST_F(HeldOutFolder, GivesWholeRowsOfItsTexts) {
    config_.model.context = 16;
    config_.batch = 2;
    config_.eval.batches = 3;
    const run::HeldOutText held = load(build("bytes", data::RowKind::Text, "built"));
    EXPECT_EQ(held.name, "built");
    ASSERT_EQ(held.tokens.size(), 6U * 17);
    EXPECT_EQ(held.bytes, 6U * 16);
    for (std::size_t row = 0; row < 6; ++row) {
        const auto begin = held.tokens.begin() + static_cast<std::ptrdiff_t>(row * 17);
        const std::string text(begin, begin + 17);
        EXPECT_NE((text_ + '\0').find(text), std::string::npos) << text;
    }
    config_.seed = 7;
    EXPECT_EQ(load(scratch_.path() / "built").tokens, held.tokens)
        << "runs with other seeds are compared by the same rows";
}

TEST_F(HeldOutFolder, CountsTheBytesOfItsPieces) {
    const std::string file = use_pieces("pieces", 300);
    const fs::path folder = build("spm:pieces.model", data::RowKind::Text, "built");
    const auto pieces = SentencePiece::parse(file);
    ASSERT_TRUE(pieces);
    const std::uint32_t first = pieces->encode(text_)->front();
    const run::HeldOutText held = load(folder, file);
    EXPECT_LT(targets_of(held).size(), text_.size());  // a piece has more than one byte
    // The end token is that of byte 0; the first token is the target of no row.
    EXPECT_EQ(held.bytes, text_.size() + 1 - pieces->decode(std::span(&first, 1))->size());
}

TEST_F(HeldOutFolder, CountsTheAnswersOfChatsAlone) {
    const run::HeldOutText held = load(build("bytes", data::RowKind::Chat, "chats"));
    const std::vector<std::uint32_t> targets = targets_of(held);
    EXPECT_EQ(std::ranges::count_if(targets, counts_for_loss), answer_bytes_);
    EXPECT_GT(targets.size(), answer_bytes_);
    EXPECT_EQ(held.bytes, answer_bytes_);
}

TEST_F(HeldOutFolder, CountsTheBytesOfAnswersInPieces) {
    const std::string file = use_pieces("pieces", 300);
    const run::HeldOutText held =
        load(build("spm:pieces.model", data::RowKind::Chat, "chats"), file);
    const std::vector<std::uint32_t> targets = targets_of(held);
    EXPECT_LT(std::ranges::count_if(targets, counts_for_loss), answer_bytes_);
    EXPECT_EQ(held.bytes, answer_bytes_);
}

TEST_F(HeldOutFolder, OfChatsIsRefusedByTheIdsBelowItsFlags) {
    const fs::path folder = build("bytes", data::RowKind::Chat, "chats");
    config_.model.vocabulary = 'y';  // "y" is the largest byte of "today"
    expect_refused("has the token 121, and model.vocabulary is 121", folder);
    config_.model.vocabulary = 'y' + 1;
    EXPECT_EQ(load(folder).bytes, answer_bytes_);
}

TEST_F(HeldOutFolder, OfAnotherTokenizerIsRefusedInOneLine) {
    const fs::path bytes = build("bytes", data::RowKind::Chat, "bytes");
    const std::string other = use_pieces("other", 301);
    const std::string mine = use_pieces("pieces", 300);
    const fs::path pieces = build("spm:pieces.model", data::RowKind::Text, "pieces");
    EXPECT_GT(load(pieces, mine).bytes, 0U);
    expect_refused("was built with the tokenizer bytes; run.tokenizer is spm:300", bytes, mine);
    expect_refused("which is not that of the run", pieces, other);
    config_.tokenizer = "bytes";
    run::follow_tokenizer(config_);
    expect_refused("was built with the tokenizer spm:pieces.model; run.tokenizer is bytes", pieces);
}

}  // namespace
}  // namespace swarm::cli
