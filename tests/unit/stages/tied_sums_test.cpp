#include "stages/server/tied_sums.hpp"

#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace stages {
namespace {

using swarm::Epoch;
using test::bodies;

constexpr Epoch kEpoch{5};

/// The slices of both stages that hold each element of the matrix, by element.
std::map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> holders(
    const TiedSums::Matrix& first, const TiedSums::Matrix& last
) {
    const auto slice_of = [](const TiedSums::Matrix& matrix, std::uint64_t element) {
        std::uint32_t slice = 0;
        while (matrix.slices.range(slice).end <= matrix.begin + element) {
            ++slice;
        }
        return slice;
    };
    std::map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> found;
    for (std::uint64_t element = 0; element < first.elements; ++element) {
        found[element] = {slice_of(first, element), slice_of(last, element)};
    }
    return found;
}

/// The cuts of one stage cover the matrix once, and equal the cuts of the other stage.
TEST(TiedSums, CutsTheMatrixAlikeFromBothStages) {
    constexpr std::uint64_t kMatrix = 23;
    for (const std::uint32_t members : {1U, 2U, 3U}) {
        for (const std::uint32_t others : {1U, 4U}) {
            for (const std::uint64_t slice_bytes : {8U, 40U, 4096U}) {
                const TiedSums::Matrix first{Slices(61, members, slice_bytes), 0, kMatrix};
                const TiedSums::Matrix last{Slices(40, others, slice_bytes), 12, kMatrix};
                auto left = holders(first, last);
                for (std::uint32_t slice = 0; slice < first.slices.count(); ++slice) {
                    for (const TiedSums::Cut& cut : TiedSums::cuts(first, slice, last)) {
                        EXPECT_EQ(cut.own, slice);
                        for (std::uint64_t at = cut.range.begin; at < cut.range.end; ++at) {
                            ASSERT_EQ(left.at(at), std::pair(slice, cut.other));
                            left.erase(at);
                        }
                        const SliceRange there{12 + cut.range.begin, 12 + cut.range.end};
                        const auto back = TiedSums::cuts(last, cut.other, first);
                        EXPECT_EQ(
                            std::ranges::count(back, TiedSums::Cut{cut.other, slice, there}), 1
                        );
                    }
                }
                EXPECT_TRUE(left.empty());
            }
        }
    }
}

/// The only member of the first of two stages; the other one has two.
class TiedSumsTest : public testing::Test {
 protected:
    static constexpr PeerId kSelf{{100}};
    static constexpr std::uint64_t kOthers = 2;

    TiedSumsTest() {
        bed_.context.tied = ServerContext::TiedStage{{1}, layouts_[1].elements()};
        std::vector<protocol::SlotInfo> slots;
        for (std::uint64_t i = 0; i <= kOthers; ++i) {
            protocol::SlotInfo info;
            info.slot = {1 + i};
            info.peer = {{100 + i}};
            info.stage = {i == 0 ? 0U : 1U};
            slots.push_back(info);
        }
        bed_.context.roster.replace({1, slots});
        reduce_.epoch = kEpoch;
        reduce_.group = {{1}};
        reduce_.tied_group = {{2}, {3}};
    }

    static swarm::run::RunConfig config() {
        auto config = test::small_run(2);
        config.model.tied_embeddings = true;
        return config;
    }

    [[nodiscard]] std::vector<node::Payload> ours() const {
        return std::vector<node::Payload>(tied_.cuts(0U).size());
    }

    [[nodiscard]] PeerId owner(const TiedSums::Cut& cut) const {
        const Slices theirs = bed_.context.slices_of(layouts_[1].elements(), kOthers);
        return {{101ULL + theirs.owner(cut.other)}};
    }

    static protocol::Part part_of(const TiedSums::Cut& cut) {
        return {{}, kEpoch, cut.other, false, cut.own};
    }

    std::vector<swarm::run::StageLayout> layouts_ = swarm::run::partition(config());
    test::Bed bed_{kSelf, config(), 0};
    protocol::Reduce reduce_;
    TiedSums tied_{bed_.context};
};

TEST_F(TiedSumsTest, NeedTheOtherStagesMembers) {
    reduce_.tied_group.clear();
    EXPECT_FALSE(tied_.start(reduce_, 0));
    bed_.context.tied.reset();
    EXPECT_TRUE(tied_.start(reduce_, 0));
    EXPECT_TRUE(tied_.cuts(0U).empty());
    EXPECT_TRUE(tied_.is_complete(0));
}

TEST_F(TiedSumsTest, GiveNothingToAddBeforeTheOwnSumsAreMade) {
    ASSERT_TRUE(tied_.start(reduce_, 0));
    const std::vector<TiedSums::Cut> cuts = tied_.cuts(0U);
    ASSERT_EQ(cuts.size(), 2U) << "the matrix lies in both slices of the other stage";
    EXPECT_TRUE(tied_.take(cuts[1], {}));
    EXPECT_FALSE(tied_.take(cuts[1], {})) << "it came before";
    EXPECT_TRUE(tied_.take_addable(0).empty());
    tied_.made(0, ours(), bed_.at());
    EXPECT_EQ(tied_.take_addable(0).size(), 1U);
    EXPECT_TRUE(tied_.take_addable(0).empty()) << "each is added once";
    EXPECT_FALSE(tied_.is_complete(0));
    EXPECT_TRUE(tied_.take(cuts[0], {}));
    EXPECT_TRUE(tied_.is_complete(0));
    EXPECT_EQ(tied_.take_addable(0).size(), 1U);
}

TEST_F(TiedSumsTest, TakeNothingFromAPeerThatDoesNotOwnTheSlice) {
    ASSERT_TRUE(tied_.start(reduce_, 0));
    const TiedSums::Cut cut = tied_.cuts(0U).at(0);
    const protocol::Part part = part_of(cut);
    EXPECT_EQ(tied_.find(owner(cut), part), cut);
    for (const std::uint64_t other : {100U, 101U, 102U, 103U}) {
        if (const PeerId peer{{other}}; peer != owner(cut)) {
            EXPECT_FALSE(tied_.find(peer, part)) << other;
        }
    }
    auto wrong = part;
    wrong.tied_into = 1;
    EXPECT_FALSE(tied_.find(owner(cut), wrong)) << "of a slice that is not there";
    wrong = part;
    wrong.slice = 2;
    EXPECT_FALSE(tied_.find(owner(cut), wrong));
    wrong = part;
    wrong.tied_into.reset();
    EXPECT_FALSE(tied_.find(owner(cut), wrong));
}

TEST_F(TiedSumsTest, WaitForSumsThatWereRefused) {
    ASSERT_TRUE(tied_.start(reduce_, 0));
    const std::vector<TiedSums::Cut> cuts = tied_.cuts(0U);
    EXPECT_TRUE(tied_.awaited().empty()) << "theirs are not asked for before ours are there";
    tied_.made(0, ours(), bed_.at());
    EXPECT_EQ(tied_.awaited(), (std::vector<SlotId>{{2}, {3}}));
    EXPECT_TRUE(tied_.take(cuts[0], {}));
    EXPECT_EQ(tied_.awaited(), std::vector<SlotId>{{3}});
    EXPECT_TRUE(tied_.take(cuts[1], {}));
    EXPECT_TRUE(tied_.awaited().empty());
    tied_.refuse(cuts[0]);
    EXPECT_EQ(tied_.awaited(), std::vector<SlotId>{{2}});
    EXPECT_TRUE(tied_.take(cuts[0], {}));
    EXPECT_TRUE(tied_.is_complete(0));
}

TEST_F(TiedSumsTest, AreSentAgainToAPeerThatIsBack) {
    ASSERT_TRUE(tied_.start(reduce_, 0));
    const TiedSums::Cut cut = tied_.cuts(0U).at(0);
    const auto sent = [&] { return bodies<protocol::Part>(bed_.settle(), owner(cut)); };
    tied_.made(0, ours(), bed_.at());
    const std::vector<protocol::Part> first = sent();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].slice, cut.own);
    EXPECT_EQ(first[0].tied_into, cut.other);
    tied_.resend(kSelf, bed_.at());
    EXPECT_TRUE(sent().empty());
    tied_.resend(owner(cut), bed_.at());
    EXPECT_EQ(sent(), first);
}

}  // namespace
}  // namespace stages
