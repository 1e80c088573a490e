#include "swarm/cli/setup/training_text.hpp"

#include "stacking/tokenizers/sentence_piece.hpp"
#include "swarm/base/digest.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>

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

    /// Writes another text and forgets that the run was begun with the former one.
    void replace(const std::string& text) {
        write(text);
        config_.corpus_sha256.clear();
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

TEST_F(LoadText, PinsTheTextByItsDigest) {
    write(
        "a text of more than one hundred and thirty bytes, because a sequence has 128 tokens "
        "and one more, and a run needs one sequence at least\n"
    );
    const std::string digest = *digest_of_file(config_.corpus);
    ASSERT_TRUE(load_text(config_));
    EXPECT_EQ(config_.corpus_sha256, digest);
    EXPECT_TRUE(load_text(config_)) << "it is the same text";
    write(std::string(1000, 'b'));
    const std::string other = *digest_of_file(config_.corpus);
    const auto refused = load_text(config_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
    for (const std::string& part : {config_.corpus, other, digest}) {
        EXPECT_NE(refused.error().detail.find(part), std::string::npos) << refused.error().detail;
    }
    EXPECT_EQ(config_.corpus_sha256, digest);
}

TEST_F(LoadText, ReadsAFileOfAnySizeForItsDigest) {
    write("");  // the digests are those of `sha256sum`
    EXPECT_EQ(
        *digest_of_file(config_.corpus),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    const std::string large((std::size_t{3} << 20) + 7, 'a');
    write(large);
    EXPECT_EQ(*digest_of_file(config_.corpus), to_hex(sha256(std::as_bytes(std::span(large)))));
    EXPECT_FALSE(digest_of_file("/nowhere"));
}

TEST(FindCorpus, LooksBesideTheRunFileAndThenInTheCurrentFolder) {
    namespace fs = std::filesystem;
    const ScratchFolder scratch;
    const fs::path before = fs::current_path();
    fs::create_directories(scratch.path() / "here");
    fs::create_directories(scratch.path() / "there");
    fs::current_path(scratch.path() / "here");
    const auto found = [&] { return find_corpus("text.txt", scratch.path() / "there"); };
    EXPECT_EQ(found().path, scratch.path() / "there" / "text.txt") << "it is named in the error";
    std::ofstream("text.txt") << "x";
    EXPECT_EQ(found().path, "text.txt");
    EXPECT_NE(
        found().notice.find((scratch.path() / "here" / "text.txt").string()), std::string::npos
    ) << found().notice;
    std::ofstream(scratch.path() / "there" / "text.txt") << "y";
    EXPECT_EQ(found().path, scratch.path() / "there" / "text.txt");
    EXPECT_EQ(found().notice, "");
    EXPECT_EQ(find_corpus("/a/text.txt", scratch.path()).path, "/a/text.txt");
    fs::current_path(before);
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
    replace("Another text, which alone would give another tokenizer.\n" + numbers());
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

TEST_F(LoadText, CountsTheBytesBehindHeldOutTargets) {
    write(numbers());
    config_.model.context = 16;
    config_.batch = 2;
    config_.eval.batches = 3;
    const auto bytes = load_held_out(config_, {config_.corpus}, {});
    ASSERT_TRUE(bytes) << bytes.error().detail;
    ASSERT_EQ(bytes->size(), 1U);
    EXPECT_EQ(bytes->front().name, "corpus.txt");
    EXPECT_EQ(bytes->front().tokens.size(), 6U * 17);
    EXPECT_EQ(bytes->front().bytes, 6U * 16);
    name_tokenizer("spm:300");
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    const auto pieces = load_held_out(config_, {config_.corpus}, text->tokenizer);
    ASSERT_TRUE(pieces) << pieces.error().detail;
    EXPECT_EQ(pieces->front().tokens.size(), 6U * 17);
    EXPECT_GT(pieces->front().bytes, 6U * 16);  // a piece has more than one byte
}

TEST_F(LoadText, RefusesHeldOutTextsThatDoNotFit) {
    write("short");
    const auto detail = [&](const std::filesystem::path& path) {
        const auto texts = load_held_out(config_, {path}, {});
        return texts ? "" : texts.error().detail;
    };
    EXPECT_NE(detail("/nowhere").find("no held-out text: "), std::string::npos);
    EXPECT_NE(detail(config_.corpus).find("has 5 tokens; one window has "), std::string::npos);
    write(numbers());
    config_.model.vocabulary = 'n';
    EXPECT_NE(detail(config_.corpus).find("model.vocabulary is 110"), std::string::npos);
    EXPECT_FALSE(detail(scratch_.path()).empty());  // a folder without data
}

TEST_F(LoadText, TellsHeldOutTextsOfOneNameApart) {
    write(numbers());
    const std::filesystem::path other = scratch_.path() / "other" / "corpus.txt";
    std::filesystem::create_directories(other.parent_path());
    std::filesystem::copy_file(config_.corpus, other);
    const auto texts = load_held_out(config_, {config_.corpus, other}, {});
    ASSERT_TRUE(texts) << texts.error().detail;
    EXPECT_EQ((*texts)[0].name, config_.corpus);
    EXPECT_EQ((*texts)[1].name, other.string());
}

}  // namespace
}  // namespace swarm::cli
