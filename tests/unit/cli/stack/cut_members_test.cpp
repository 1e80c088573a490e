// Chains of parts of models, in one process: the scores of each token, bit for bit.
#include "stages/files/checkpoint.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <string>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::StackFile;
using stacking::composition::StackMember;
using stacking::composition::StackMode;
using stacking::composition::TextReader;
using stages::StageState;
using Bits = std::vector<std::uint32_t>;

constexpr std::uint32_t kLayers = 4;
constexpr std::uint32_t kTokens = 12;

class CutMembersTest : public testing::TestWithParam<bool> {
 protected:
    void SetUp() override {
        write("a", 1);
        write("b", 2);
    }

    /// The first weights of a run, whose tokens are bytes, as a model of this name.
    void write(const std::string& name, std::uint64_t seed) {
        run::RunConfig config;
        config.name = name;
        config.seed = seed;
        config.stages = 1;
        config.model.layers = kLayers;
        config.model.width = 16;
        config.model.heads = 2;
        config.model.kv_heads = 1;
        config.model.ffn_width = 24;
        config.model.context = kTokens;
        config.model.tied_embeddings = GetParam();
        const auto state = StageState::from_seed(config, run::partition(config).front());
        const StageState* const view = &state;
        const auto written =
            stages::write_checkpoint(scratch_.path() / name, config, std::span(&view, 1));
        ASSERT_TRUE(written.has_value()) << written.error().detail;
        models_[name] = *written;
    }

    /// "a", or "a@1-2".
    [[nodiscard]] StackMember member(const std::string& text) const {
        const std::string_view range = std::string_view(text).substr(1);
        const auto layers =
            range.empty() ? std::nullopt : stacking::composition::parse_layers(range.substr(1));
        return {models_.at(text.substr(0, 1)).string(), 1, layers};
    }

    [[nodiscard]] StackFile stack_of(const std::vector<std::string>& members) const {
        StackFile stack;
        stack.mode = StackMode::Chain;
        for (const std::string& one : members) {
            stack.members.push_back(member(one));
        }
        return stack;
    }

    [[nodiscard]] Result<OpenStack> open(StackFile stack) const {
        const auto choice = stacking::llama::WeightChoice::as_is();
        return OpenStack::open(scratch_.path() / "stack.toml", std::move(stack), choice);
    }

    /// The scores after each token of a text.
    static Bits scores_of(Result<std::unique_ptr<TextReader>> reader) {
        Bits bits;
        if (!reader) {
            ADD_FAILURE() << reader.error().detail;
            return bits;
        }
        std::vector<stacking::TokenId> text(kTokens);
        std::iota(text.begin(), text.end(), 100U);
        EXPECT_TRUE((*reader)->begin(kTokens));
        const auto scores = (*reader)->read(text, TextReader::Wanted::AfterEach);
        EXPECT_TRUE(scores.has_value());
        for (const float score : *scores) {
            bits.push_back(std::bit_cast<std::uint32_t>(score));
        }
        return bits;
    }

    [[nodiscard]] Bits chain(const std::vector<std::string>& members) const {
        auto stack = open(stack_of(members));
        EXPECT_TRUE(stack.has_value()) << stack.error().detail;
        return scores_of(stack->reader());
    }

    /// Expects one line that has the text.
    static void expect_refused(const Result<OpenStack>& opened, const std::string& why) {
        ASSERT_TRUE(opened.has_error());
        EXPECT_NE(opened.error().detail.find(why), std::string::npos) << opened.error().detail;
        EXPECT_EQ(opened.error().detail.find('\n'), std::string::npos) << opened.error().detail;
    }

    stages::test::ScratchFolder scratch_;
    std::map<std::string, fs::path> models_;
};

TEST_P(CutMembersTest, AModelCutAnywhereIsThatModel) {
    const Bits whole = chain({"a"});
    EXPECT_EQ(whole.size(), kTokens * 256U);
    EXPECT_EQ(chain({"a@0-3"}), whole);
    for (const char* const cut : {"0-0 1-3", "0-1 2-3", "0-2 3-3"}) {
        const std::string text = cut;
        EXPECT_EQ(chain({"a@" + text.substr(0, 3), "a@" + text.substr(4)}), whole) << cut;
    }
    EXPECT_EQ(chain({"a@0-0", "a@1-1", "a@2-2", "a@3-3"}), whole);
    EXPECT_NE(chain({"a@0-1", "a@3-3"}), whole);
    EXPECT_NE(chain({"a@2-3", "a@0-1"}), whole);
}

TEST_P(CutMembersTest, ALaterMemberMayLeaveOutItsFirstLayers) {
    const Bits cut = chain({"a", "b@1-3"});
    EXPECT_EQ(chain({"a@0-2", "a@3-3", "b@1-1", "b@2-3"}), cut);
    EXPECT_NE(cut, chain({"a", "b"}));
    EXPECT_NE(cut, chain({"a", "b@2-3"}));
    EXPECT_NE(cut, chain({"a@0-2", "b@1-3"}));
}

/// Otherwise a chain of crippled parts would pass the gate that a whole model would not.
TEST_P(CutMembersTest, AMemberOfAChainIsComparedAsItsWholeModel) {
    auto stack = open(stack_of({"a@0-2", "b@1-3", "a"}));
    ASSERT_TRUE(stack.has_value()) << stack.error().detail;
    const Bits one = chain({"a"});
    EXPECT_EQ(scores_of(stack->member_reader(2)), one);
    EXPECT_EQ(scores_of(stack->member_reader(0)), one);
    EXPECT_EQ(scores_of(stack->member_reader(1)), chain({"b"}));
}

TEST_P(CutMembersTest, AMemberOfAnEnsembleIsComparedAsItIs) {
    StackFile file = stack_of({"a@0-2", "a"});
    file.mode = StackMode::Ensemble;
    auto stack = open(file);
    ASSERT_TRUE(stack.has_value()) << stack.error().detail;
    EXPECT_EQ(scores_of(stack->member_reader(0)), chain({"a@0-2"}));
    EXPECT_EQ(scores_of(stack->member_reader(1)), chain({"a"}));
}

TEST_P(CutMembersTest, LayersThatAModelLacksAreRefused) {
    expect_refused(open(stack_of({"a", "b@1-4"})), "has the layers 0 to 3, not 4");
    expect_refused(open(stack_of({"a@4294967295-4294967295"})), "not 4294967295");
}

TEST_P(CutMembersTest, PeersServeEachPartOnceWithTheHeadWhereThePathEnds) {
    const auto parts_of = [&](const std::vector<std::string>& members) {
        const fs::path file = scratch_.path() / "stack.toml";
        EXPECT_TRUE(write_stack(file, stack_of(members)));
        const auto parts = parts_of_stack(file);
        EXPECT_TRUE(parts.has_value());
        return *parts;
    };
    const std::string a = models_.at("a").string();
    const std::string b = models_.at("b").string();
    using Parts = std::vector<ServedPart>;
    EXPECT_EQ(parts_of({"a", "b@1-3"}), (Parts{{a}, {b, "1-3"}}));
    EXPECT_EQ(parts_of({"a", "b@1-2", "a", "b@1-3"}), (Parts{{a}, {b, "1-2"}, {b, "1-3"}}));
    EXPECT_EQ(parts_of({"a", "b@1-2"}), (Parts{{a}, {b, "1-2", "", true}}));
    EXPECT_EQ(parts_of({"a@1-2", "a@1-2"}), (Parts{{a, "1-2", "", true}}));
    // A first layer of a tied model comes with the matrix that is the head, too.
    const bool tied = GetParam();
    EXPECT_EQ(parts_of({"a", "b@0-2"}), (Parts{{a}, {b, "0-2", "", !tied}}));
}

INSTANTIATE_TEST_SUITE_P(Heads, CutMembersTest, testing::Bool());

}  // namespace
}  // namespace swarm::cli
