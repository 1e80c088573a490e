#include "swarm/coordinator/checkpointer.hpp"

#include "tests/start.hpp"
#include "tests/unit/run/script.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using run::test::Actions;
using swarm::test::kStart;

constexpr ParameterVersion kVersion{0, 4};

/// Makes one file of the state that it is given.
class OneFile final : public run::CheckpointFormat {
 public:
    [[nodiscard]] Result<run::CheckpointFiles> make_files(run::RunState state) const override {
        if (fails) {
            return Error{ErrorCode::Mismatch, Reaction::Reject, "states that do not fit"};
        }
        run::CheckpointFiles files;
        files.name = "step-" + std::to_string(state.version.step);
        for (const auto& chunks : state.chunks) {
            files.files.push_back({"stage", [chunk = chunks.at(0)] { return chunk; }});
        }
        return files;
    }

    bool fails = false;
};

class CheckpointerTest : public testing::Test {
 protected:
    /// Two stages of one chunk each; the first has two members, the second one.
    CheckpointerTest() {
        for (const auto& [peer, stage] : {std::pair{1U, 0U}, {2U, 0U}, {3U, 1U}}) {
            protocol::SlotInfo info;
            info.peer = {{peer}};
            info.stage = {stage};
            context_.roster.add(info);
        }
    }

    static RunContext make_context() {
        run::RunConfig config;
        config.model = *run::named_model("oracle");
        config.stages = 2;
        return {
            config,
            run::partition(config),
            {},
            0,
            {},
            run::Roster(2),
            {},
            FailureDetector(FailureDetector::Timing{}),
            0,
            {}};
    }

    void begin() {
        checkpointer_.order(context_, kVersion);
        Actions actions;
        checkpointer_.begin(context_, known_of_, actions.at(kStart));
    }

    static node::Payload payload(std::vector<std::byte> bytes) {
        const protocol::TensorEnvelope envelope{
            protocol::Dtype::Bytes, {}, {static_cast<std::uint32_t>(bytes.size())}};
        return {envelope, std::move(bytes)};
    }

    /// The only chunk of a stage.
    [[nodiscard]] node::Payload chunk_of(std::uint32_t stage) const {
        const std::uint64_t bytes = 12 * context_.layouts[stage % 2].elements();
        return payload(std::vector<std::byte>(bytes, std::byte{9}));
    }

    /// Delivers the manifest of a stage, and returns what is asked for then.
    std::size_t deliver_manifest(std::uint64_t from, std::uint32_t stage) {
        const Digest digest = sha256(chunk_of(stage).bytes());
        Actions actions;
        checkpointer_.on(
            {{from}},
            protocol::Chunk{kVersion, {stage}, {}},
            payload({digest.bytes.begin(), digest.bytes.end()}),
            actions.at(kStart)
        );
        return actions.all<node::Send>().size();
    }

    /// Delivers manifest and chunk of a stage.
    void deliver(std::uint64_t from, std::uint32_t stage) {
        deliver_manifest(from, stage);
        Actions actions;
        checkpointer_.on(
            {{from}}, protocol::Chunk{kVersion, {stage}, 0U}, chunk_of(stage), actions.at(kStart)
        );
    }

    std::optional<run::CheckpointFiles> take_files() {
        Actions actions;
        return checkpointer_.take_files(history_, actions.at(kStart));
    }

    RunContext context_ = make_context();
    std::shared_ptr<OneFile> format_ = std::make_shared<OneFile>();
    Checkpointer checkpointer_{format_};
    RunHistory history_;
    Checkpointer::KnownOf known_of_ = [](StageIndex) { return run::KnownChunks{}; };
};

TEST_F(CheckpointerTest, OrdersASnapshotOfTheLastMemberOfEachStage) {
    const auto orders = checkpointer_.order(context_, kVersion);
    ASSERT_EQ(orders.size(), 2U);
    EXPECT_EQ(orders[0].donor, context_.roster.find_peer({{2}})->slot);
    EXPECT_EQ(orders[1].donor, context_.roster.find_peer({{3}})->slot);
    EXPECT_EQ(orders[0].receiver, PeerId{});
}

TEST_F(CheckpointerTest, OrdersNoSnapshotWhileACheckpointIsUnderWay) {
    begin();
    EXPECT_TRUE(checkpointer_.under_way());
    EXPECT_TRUE(checkpointer_.order(context_, kVersion).empty());
}

TEST_F(CheckpointerTest, OrdersNoSnapshotWhileAStageIsEmpty) {
    context_.roster.remove(context_.roster.find_peer({{3}})->slot);
    EXPECT_TRUE(checkpointer_.order(context_, kVersion).empty());
    EXPECT_FALSE(checkpointer_.under_way());
}

TEST_F(CheckpointerTest, AsksTheDonorsForTheVersionTheCommitMakes) {
    checkpointer_.order(context_, kVersion);
    Actions actions;
    checkpointer_.begin(context_, known_of_, actions.at(kStart));
    const auto sends = actions.all<node::Send>();
    ASSERT_EQ(sends.size(), 2U);
    EXPECT_EQ(sends[0].peer, (PeerId{{2}}));
    EXPECT_EQ(std::get<protocol::Fetch>(sends[1].message.body).version, kVersion);
    EXPECT_EQ(std::get<protocol::Fetch>(sends[1].message.body).stage, StageIndex{1});
}

TEST_F(CheckpointerTest, AChunkThatIsKnownIsNotFetched) {
    known_of_ = [this](StageIndex stage) {
        const node::Payload chunk = chunk_of(stage.value);
        Digest digest = sha256(chunk.bytes());
        if (stage.value == 1) {
            digest = {};  // the donor's state has another chunk here
        }
        return run::KnownChunks{{0, {digest, chunk}}};
    };
    begin();
    EXPECT_EQ(deliver_manifest(2, 0), 0U);
    EXPECT_EQ(deliver_manifest(3, 1), 1U);
    EXPECT_FALSE(take_files());
    deliver(3, 1);
    EXPECT_TRUE(take_files());
}

TEST_F(CheckpointerTest, HandsOutTheFilesOnceAllStagesAreHere) {
    begin();
    deliver(2, 0);
    EXPECT_FALSE(take_files());
    deliver(3, 1);
    const auto files = take_files();
    ASSERT_TRUE(files);
    EXPECT_EQ(files->name, "step-4");
    EXPECT_EQ(files->files.size(), 2U);
    EXPECT_FALSE(take_files());
    EXPECT_FALSE(checkpointer_.under_way());
}

TEST_F(CheckpointerTest, FailsOnceWithItsDonorAndCanStartAnew) {
    begin();
    Actions actions;
    checkpointer_.donor_lost({{3}}, actions.at(kStart));
    EXPECT_TRUE(checkpointer_.take_failure());
    EXPECT_FALSE(checkpointer_.take_failure());
    EXPECT_EQ(checkpointer_.order(context_, kVersion).size(), 2U);
}

TEST_F(CheckpointerTest, ADonorThatRefusesIsLeftOutUntilAllOfItsStageHave) {
    const auto refuse = [&](std::uint64_t donor) {
        Actions actions;
        checkpointer_.on(
            {{donor}}, protocol::ChunkRefused{kVersion, {0}, {}, false}, actions.at(kStart)
        );
        EXPECT_TRUE(checkpointer_.take_failure());
    };
    const auto next_donor = [&] {
        const auto orders = checkpointer_.order(context_, kVersion);
        Actions actions;
        checkpointer_.begin(context_, known_of_, actions.at(kStart));
        return context_.roster.find(orders.at(0).donor)->peer;
    };
    EXPECT_EQ(next_donor(), (PeerId{{2}}));
    refuse(2);
    EXPECT_EQ(next_donor(), (PeerId{{1}})) << "the newest one has refused";
    refuse(1);
    EXPECT_EQ(next_donor(), (PeerId{{2}})) << "nobody else is left";
}

TEST_F(CheckpointerTest, ADonorWhoseStateIsNotTheRunsIsLeftOut) {
    history_.states[{kVersion, {0}}] = Digest{};
    begin();
    deliver(2, 0);
    deliver(3, 1);
    EXPECT_FALSE(take_files());
    EXPECT_TRUE(checkpointer_.take_failure());
    EXPECT_EQ(
        checkpointer_.order(context_, kVersion)[0].donor, context_.roster.find_peer({{1}})->slot
    );
}

TEST_F(CheckpointerTest, ASecondCheckpointSurvivesTheFailureOfTheFirst) {
    begin();
    Actions actions;
    checkpointer_.donor_lost({{3}}, actions.at(kStart));
    EXPECT_EQ(actions.all<node::Tell>().size(), 1U);
    begin();
    deliver(2, 0);
    deliver(3, 1);
    EXPECT_TRUE(take_files());
    EXPECT_FALSE(checkpointer_.take_failure());
}

TEST_F(CheckpointerTest, ADonorThatLeavesOrIsSilentIsTheLastChoice) {
    using protocol::Standing;
    const SlotId first = context_.roster.find_peer({{1}})->slot;
    const SlotId last = context_.roster.find_peer({{2}})->slot;
    for (const Standing standing : {Standing::Draining, Standing::Suspect}) {
        context_.roster.set_standing(last, standing);
        EXPECT_EQ(snapshot_donors(context_.roster, {0}), std::vector<SlotId>{first});
    }
    EXPECT_EQ(checkpointer_.order(context_, kVersion)[0].donor, first);
    context_.roster.set_standing(first, Standing::Draining);
    EXPECT_EQ(snapshot_donors(context_.roster, {0}), (std::vector<SlotId>{first, last}));
}

TEST_F(CheckpointerTest, SurvivesTheLossOfAPeerThatGivesNothing) {
    begin();
    Actions actions;
    checkpointer_.donor_lost({{1}}, actions.at(kStart));
    EXPECT_FALSE(checkpointer_.take_failure());
    EXPECT_TRUE(checkpointer_.under_way());
}

TEST_F(CheckpointerTest, FailsWhenADonorIsLate) {
    begin();
    Actions actions;
    checkpointer_.wake(actions.at(checkpointer_.next_deadline()));
    EXPECT_FALSE(checkpointer_.take_failure()) << "it is asked again first";
    checkpointer_.wake(actions.at(kStart + std::chrono::seconds(10)));
    EXPECT_TRUE(checkpointer_.take_failure());
    EXPECT_EQ(checkpointer_.next_deadline(), kNever);
}

TEST_F(CheckpointerTest, FailsWhenTheStatesMakeNoFiles) {
    format_->fails = true;
    begin();
    deliver(2, 0);
    deliver(3, 1);
    EXPECT_FALSE(take_files());
    EXPECT_TRUE(checkpointer_.take_failure());
    EXPECT_FALSE(checkpointer_.under_way());
}

TEST_F(CheckpointerTest, IgnoresChunksOfStagesItDoesNotFetch) {
    begin();
    deliver(2, 63);
    EXPECT_TRUE(checkpointer_.under_way());
    EXPECT_FALSE(take_files());
}

}  // namespace
}  // namespace swarm::coordinator
