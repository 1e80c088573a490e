#include "swarm/cli/setup/document_end.hpp"

#include "swarm/cli/data/data_tokenizer.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/data/build.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace swarm::cli {
namespace {

using Ids = std::vector<std::uint32_t>;

class DocumentEndTest : public testing::Test {
 protected:
    void SetUp() override {
        std::string text;
        for (int i = 0; i < 900; ++i) {
            text += "number " + std::to_string(i * i) + "\n";
        }
        std::ofstream(file(), std::ios::binary) << text;
        config_.corpus = file();
        config_.model.context = 32;
        config_.train.separate_documents = true;
    }

    [[nodiscard]] std::string file() const { return (scratch_.path() / "in.txt").string(); }

    void use_folder(std::uint32_t end) {
        data::DataFile data;
        data.tokenizer = "bytes";
        data.sources.push_back({"prose", {"in.txt"}});
        const auto opened = open_data_tokenizer("bytes", end, scratch_.path(), {});
        ASSERT_TRUE(opened) << opened.error().detail;
        const auto folder = scratch_.path() / "built";
        const auto built = data::build_data(data, opened->encoder, {scratch_.path(), folder}, {});
        ASSERT_TRUE(built) << built.error().detail;
        config_.corpus = folder.string();
    }

    void expect_end(const Ids& wanted) {
        const auto text = load_text(config_);
        ASSERT_TRUE(text) << text.error().detail;
        EXPECT_EQ(config_.train.document_end, wanted);
        EXPECT_TRUE(load_text(config_, text->tokenizer)) << "as --resume does";
        EXPECT_EQ(config_.train.document_end, wanted);
    }

    stages::test::ScratchFolder scratch_;
    run::RunConfig config_;
};

TEST_F(DocumentEndTest, ABuiltFolderSaysIt) {
    use_folder(3);
    config_.model.end_tokens = {7};
    expect_end({3});
    config_.train.document_end = {4};
    const auto refused = load_text(config_);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
}

TEST_F(DocumentEndTest, ATextHasThatOfTheModelOrOfItsTokenizer) {
    config_.model.end_tokens = {7, 8};
    expect_end({7});
    config_.model.end_tokens.clear();
    config_.train.document_end.clear();
    config_.tokenizer = "spm:300";
    run::follow_tokenizer(config_);
    const auto text = load_text(config_);
    ASSERT_TRUE(text) << text.error().detail;
    ASSERT_EQ(config_.train.document_end.size(), 1U);
    EXPECT_LT(config_.train.document_end.front(), 300U);
}

TEST_F(DocumentEndTest, IsRefusedWhereNothingSaysIt) {
    const auto refused = load_text(config_);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_NE(refused.error().detail.find("train.document_end"), std::string::npos);
    config_.train.document_end = {10};
    expect_end({10});
}

TEST_F(DocumentEndTest, IsLeftAloneWhereDocumentsAreNotSeparated) {
    config_.train.separate_documents = false;
    use_folder(3);
    expect_end({});
}

}  // namespace
}  // namespace swarm::cli
