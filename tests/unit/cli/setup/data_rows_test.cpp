#include "swarm/cli/setup/data_rows.hpp"

#include "stacking/tokenizers/sentence_piece.hpp"
#include "swarm/cli/data/data_tokenizer.hpp"
#include "swarm/cli/setup/trained_tokenizer.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/data/build.hpp"
#include "swarm/data/text_sample.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::tokenizers::SentencePiece;

class DataRowsTest : public testing::Test {
 protected:
    void SetUp() override {
        for (int i = 0; i < 1500; ++i) {
            text_ += "number " + std::to_string(i * i) + "\n";
        }
        write("in.txt", text_);
        config_.corpus = folder().string();
        config_.model.context = 32;
    }

    void write(const std::string& name, const std::string& bytes) const {
        std::ofstream(scratch_.path() / name, std::ios::binary) << bytes;
    }

    [[nodiscard]] fs::path folder() const { return scratch_.path() / "built"; }

    void build(const std::string& tokenizer) const {
        data::DataFile file;
        file.tokenizer = tokenizer;
        file.shard_tokens = data::kShardTokensLeast;
        file.sources.push_back({"prose", {"in.txt"}});
        const auto opened = open_data_tokenizer(tokenizer, {}, scratch_.path(), [&](std::size_t) {
            return data::text_sample(file, scratch_.path(), 1U << 20);
        });
        ASSERT_TRUE(opened) << opened.error().detail;
        const auto built = data::build_data(file, opened->encoder, {scratch_.path(), folder()}, {});
        ASSERT_TRUE(built) << built.error().detail;
    }

    void name_tokenizer(const std::string& name) {
        config_.tokenizer = name;
        run::follow_tokenizer(config_);
    }

    /// Writes pieces.model, and returns its bytes.
    std::string make_pieces(std::uint32_t tokens) const {
        const auto made = SentencePiece::train(text_, tokens);
        EXPECT_TRUE(made) << made.error().detail;
        write("pieces.model", made->file());
        return made->file();
    }

    void expect_refused(const std::string& why, std::string tokenizer = {}) {
        const auto text = load_text(config_, std::move(tokenizer));
        ASSERT_TRUE(text.has_error()) << why;
        EXPECT_EQ(text.error().reaction, Reaction::Reject);
        EXPECT_NE(text.error().detail.find(why), std::string::npos) << text.error().detail;
    }

    stages::test::ScratchFolder scratch_;
    std::string text_;
    run::RunConfig config_;
};

TEST_F(DataRowsTest, EachOfTwoEpochsHasAllSamplesOnce) {
    build("bytes");
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    EXPECT_TRUE(text->corpus.empty());
    EXPECT_EQ(text->bytes, text_.size());
    EXPECT_EQ(text->tokens, text_.size() + 1);  // the end token
    EXPECT_EQ(config_.corpus_sha256, to_hex(text->rows->data().digest()));

    const std::uint64_t samples = text->rows->samples().per_epoch();
    ASSERT_EQ(samples, text_.size() / 32);
    const run::BatchPlan plan(config_, {}, text->rows.get());
    std::array<std::set<std::vector<std::uint32_t>>, 2> seen;  // by epoch
    std::uint64_t row_number = 0;
    for (std::uint64_t number = 0; row_number < 2 * samples; ++number) {
        const auto step = number / config_.microbatches;
        const MicrobatchId id{static_cast<std::uint32_t>(number % config_.microbatches)};
        const std::vector<std::uint32_t> tokens = plan.tokens(step, id);
        for (std::size_t row = 0; row < config_.batch; ++row, ++row_number) {
            const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(row * 33);
            if (row_number < 2 * samples) {
                seen[row_number / samples].emplace(from, from + 33);
            }
        }
    }
    EXPECT_FALSE(text->rows->failure());
    EXPECT_EQ(seen[0].size(), samples) << "the numbers make each sample differ";
    EXPECT_EQ(seen[1].size(), samples);
}

TEST_F(DataRowsTest, ASourceThatIsReadWholeIsToldOnce) {
    build("bytes");
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    DataRows& rows = *text->rows;
    const std::uint64_t samples = rows.samples().per_epoch();
    std::vector<std::uint32_t> ids(33);
    for (std::uint64_t number = 0; number < samples; ++number) {
        rows.read(number, ids);
    }
    EXPECT_TRUE(rows.take_repeats().empty());
    rows.read(samples, ids);
    rows.read(0, ids);  // a replay
    rows.read(samples + 1, ids);
    EXPECT_EQ(
        rows.take_repeats(),
        std::vector<std::string>{"the data has been read whole; its samples come again, time 2"}
    );
    rows.read(2 * samples + 1, ids);
    EXPECT_EQ(rows.take_repeats().size(), 1U);
    EXPECT_TRUE(rows.take_repeats().empty());
    const auto resumed = load_text(config_);
    ASSERT_TRUE(resumed) << resumed.error().detail;
    resumed->rows->read(3 * samples, ids);
    EXPECT_TRUE(resumed->rows->take_repeats().empty()) << "it was told before";
    resumed->rows->read(4 * samples, ids);
    EXPECT_EQ(resumed->rows->take_repeats().size(), 1U);
}

TEST_F(DataRowsTest, AMixtureTellsWhichSourceItIs) {
    write("few.txt", text_.substr(0, 100));
    data::DataFile file;
    file.tokenizer = "bytes";
    file.shard_tokens = data::kShardTokensLeast;
    file.sources.push_back({"prose", {"in.txt"}});
    file.sources.push_back({"few", {"few.txt"}});
    file.sources[0].weight = 1;
    file.sources[1].weight = 1;
    const auto opened = open_data_tokenizer("bytes", {}, scratch_.path(), nullptr);
    ASSERT_TRUE(opened) << opened.error().detail;
    ASSERT_TRUE(data::build_data(file, opened->encoder, {scratch_.path(), folder()}, {}));
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    std::vector<std::uint32_t> ids(33);
    for (std::uint64_t number = 0; number < 8; ++number) {
        text->rows->read(number, ids);
    }
    EXPECT_EQ(
        text->rows->take_repeats(),
        std::vector<std::string>{"source few has been read whole; its samples come again, time 2"}
    );
}

TEST_F(DataRowsTest, TheFolderBringsItsTokenizer) {
    const std::string pieces = make_pieces(300);
    build("spm:pieces.model");
    fs::remove(scratch_.path() / "pieces.model");
    expect_refused("add --tokenizer spm:300");
    name_tokenizer("spm:301");
    expect_refused("which is not spm:301");
    name_tokenizer("spm:300");
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    EXPECT_EQ(text->tokenizer, pieces);
    EXPECT_EQ(config_.tokenizer_sha256, to_hex(sha256(std::as_bytes(std::span(pieces)))));
    EXPECT_TRUE(load_text(config_, pieces)) << "as --resume gives it";
    expect_refused("is not that of the run", SentencePiece::train(text_ + "x", 299)->file());
    fs::remove(folder() / data::kTokenizerName);
    expect_refused("tokenizer");
}

TEST_F(DataRowsTest, ATokenizerIsTrainedOnTheData) {
    EXPECT_EQ(train_tokenizer(text_, "bytes").error().code, ErrorCode::Usage);
    std::string words;
    for (const char letter : text_) {
        const bool is_digit = letter >= '0' && letter <= '9';
        words += is_digit ? static_cast<char>(letter - '0' + 'a') : letter;
    }
    write("in.txt", words);
    build("bpe:300");
    expect_refused("add --tokenizer bpe:300");
    name_tokenizer("bpe:300");
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    EXPECT_TRUE(text->tokenizer.starts_with('{')) << "it is a tokenizer.json";
    EXPECT_LT(text->tokens, text->bytes * 3 / 4);
    EXPECT_EQ(text->rows->data().manifest().end_token, 0U);
    const auto kept = open_kept_tokenizer(folder(), "bpe:300", 0);
    ASSERT_TRUE(kept) << kept.error().detail;
    EXPECT_EQ(kept->encoder.digest, text->rows->data().manifest().tokenizer_digest);
}

TEST_F(DataRowsTest, WhatDoesNotFitIsOneLine) {
    expect_refused("no text to train on");
    fs::create_directories(folder());
    expect_refused("manifest.json");
    fs::remove(folder());
    build("bytes");
    name_tokenizer("spm:300");
    expect_refused("add --tokenizer bytes");
    name_tokenizer("bytes");
    config_.corpus_sha256 = std::string(64, 'a');
    expect_refused("is not the text of run.corpus_sha256");
    config_.corpus_sha256.clear();
    config_.model.context = 1U << 20;
    expect_refused("a context of 1048576 needs");
    config_.model.context = 32;
    config_.model.vocabulary = 100;
    expect_refused("the model has 100");
    config_.model.vocabulary = 256;
    const fs::path shard = folder() / data::shard_name("prose", 0);
    std::fstream(shard, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
        << '\x7f';
    expect_refused(shard.string());
}

TEST_F(DataRowsTest, ARowThatCannotBeReadIsAFailure) {
    make_pieces(300);
    build("spm:pieces.model");
    name_tokenizer("spm:300");
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    const fs::path shard = folder() / data::shard_name("prose", 0);
    std::fstream damage(shard, std::ios::in | std::ios::out | std::ios::binary);
    damage.seekp(static_cast<std::streamoff>(fs::file_size(shard) / 2));
    damage << std::string(fs::file_size(shard) / 2, '\xff') << std::flush;
    std::vector<std::uint32_t> ids(33, 1);
    for (std::uint64_t n = 0; !text->rows->failure() && n < 10'000; ++n) {
        text->rows->read(n, ids);
    }
    ASSERT_TRUE(text->rows->failure());
    EXPECT_EQ(ids, std::vector<std::uint32_t>(33, 0));
    EXPECT_NE(text->rows->failure()->detail.find("is damaged"), std::string::npos);
}

}  // namespace
}  // namespace swarm::cli
