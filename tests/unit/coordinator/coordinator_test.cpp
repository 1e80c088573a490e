// The coordinator before it is open, and under a crowd, which simulated runs do not show.
#include "swarm/coordinator/coordinator.hpp"

#include "swarm/protocol/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace swarm::coordinator {
namespace {

Coordinator::Options options_of_a_test() {
    Coordinator::Options options;
    options.first_state = [](StageIndex) { return sha256({}); };
    return options;
}

class CoordinatorTest : public testing::Test {
 protected:
    CoordinatorTest() {
        Coordinator::Options options = options_of_a_test();
        options.config.model = *run::named_model("oracle");
        options.config.stages = 1;
        coordinator_ = std::make_unique<Coordinator>(std::move(options));
    }

    node::Outbox tell(const node::Event& event) {
        node::Outbox out;
        coordinator_->on(event, now_ += std::chrono::milliseconds(1), out);
        return out;
    }

    /// The coordinator has read its log. Returns the store of its CINC record.
    StoreId start() {
        tell(node::Woke{});
        const node::Outbox out = tell(node::Loaded{});
        return std::get<node::Append>(out.actions.at(0)).store;
    }

    static bool closes(const node::Outbox& out) {
        return std::any_of(out.actions.begin(), out.actions.end(), [](const node::Action& action) {
            return std::holds_alternative<node::Close>(action);
        });
    }

    static node::LinkUp link_of(std::uint64_t peer) {
        return {{{peer, 0, 0, 0}}, node::Lane::Control, {7}};
    }

    static node::Received join_of(std::uint64_t peer) {
        return {{{peer, 0, 0, 0}}, node::Lane::Control, {1, 0, protocol::Join{}}, {}};
    }

    TimePoint now_{};
    std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(CoordinatorTest, HearsNobodyBeforeItsIncarnationIsDurable) {
    const StoreId cinc = start();
    tell(link_of(1));
    EXPECT_TRUE(closes(tell(join_of(1))));
    tell(node::Stored{cinc});
    EXPECT_FALSE(closes(tell(join_of(1))));
}

TEST_F(CoordinatorTest, EndsWhenItsLogCannotBeRead) {
    tell(node::Woke{});
    const node::Outbox out = tell(node::Loaded{{"cinc one"}});
    const auto& report = std::get<node::Tell>(out.actions.at(0)).report;
    EXPECT_EQ(std::get<node::RunFailed>(report).exit_code, 3);
}

TEST_F(CoordinatorTest, TellsWhoTakesItForADirectory) {
    tell(node::Stored{start()});
    tell(link_of(1));
    const node::Outbox out = tell(node::Received{
        {{1, 0, 0, 0}}, node::Lane::Control, {0, 0, protocol::HostOffer{}}, {}});
    ASSERT_EQ(out.actions.size(), 1U);
    const auto& body = std::get<node::Send>(out.actions[0]).message.body;
    EXPECT_EQ(std::get<protocol::Misdirected>(body).here, protocol::HubKind::Coordinator);
}

/// A run may go on with other stages than those in its log.
TEST_F(CoordinatorTest, GoesOnWithTheCodecsOfItsLogWhereTheyFit) {
    for (const std::uint32_t stages : {2U, 3U}) {
        Coordinator::Options options = options_of_a_test();
        options.config.model = *run::named_model("oracle");
        options.config.stages = stages;
        options.config.codec = run::CodecSetting::automatic();
        const run::LegCodecs first = run::first_codecs(options.config);
        coordinator_ = std::make_unique<Coordinator>(std::move(options));
        tell(node::Woke{});
        CommitRecord chosen;
        chosen.version = {1, 0};
        chosen.scalars.clip_factor = 1;
        chosen.result_hashes.resize(2);
        chosen.codecs = {protocol::CodecId::Int4, protocol::CodecId::None};
        tell(node::Loaded{{to_line(chosen)}});
        ASSERT_EQ(coordinator_->context().version, (ParameterVersion{1, 1}));
        EXPECT_EQ(coordinator_->context().codecs, stages == 2 ? chosen.codecs : first);
    }
}

class OtherSplit : public CoordinatorTest {
 protected:
    /// Two stages of three layers each, where the log has stages of two and of four.
    explicit OtherSplit(std::optional<run::RunState> resume = std::nullopt) {
        Coordinator::Options options = options_of_a_test();
        options.config.model = *run::named_model("oracle");
        options.config.stages = 2;
        options.resume = std::move(resume);
        coordinator_ = std::make_unique<Coordinator>(std::move(options));
        tell(node::Woke{});
        CommitRecord commit;
        commit.version = {1, 0};
        commit.scalars.clip_factor = 1;
        commit.result_hashes.resize(2);
        log_ = {to_line(CincRecord{4, {2, 4}}), to_line(commit)};
    }

    std::vector<std::string> log_;
};

class OtherSplitWithCheckpoint : public OtherSplit {
 protected:
    OtherSplitWithCheckpoint() : OtherSplit(run::RunState{{1, 0}, {}}) {}
};

TEST_F(OtherSplitWithCheckpoint, StatesOfTheOldSplitCountForNothing) {
    const node::Outbox out = tell(node::Loaded{log_});
    EXPECT_EQ(coordinator_->context().version, (ParameterVersion{2, 0}));
    std::vector<std::string> lines;
    for (const node::Action& action : out.actions) {
        if (const auto* const append = std::get_if<node::Append>(&action)) {
            lines.push_back(append->record);
            EXPECT_TRUE(append->durable);
        }
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"rollback 2 0", "cinc 5 layers=3,3"}));
}

TEST_F(OtherSplit, WithoutACheckpointThereIsNothingToCut) {
    const node::Outbox out = tell(node::Loaded{log_});
    const auto& failed = std::get<node::RunFailed>(std::get<node::Tell>(out.actions.at(0)).report);
    EXPECT_EQ(failed.exit_code, 3);
    EXPECT_NE(failed.text.find("2, 4 layers, not 3, 3"), std::string::npos) << failed.text;
}

/// The log was written with other settings than those of this process.
class OtherSettings : public CoordinatorTest {
 protected:
    /// `commits`: steps that the log has.
    std::vector<std::string> begin(int commits, std::optional<run::RunState> resume) {
        Coordinator::Options options = options_of_a_test();
        options.config.model = *run::named_model("oracle");
        options.config.stages = 1;
        options.settings = sha256({});
        options.resume = std::move(resume);
        coordinator_ = std::make_unique<Coordinator>(std::move(options));
        tell(node::Woke{});
        std::vector<std::string> log{to_line(CincRecord{4, {6}, Digest{}})};
        for (int step = 0; step < commits; ++step) {
            CommitRecord commit;
            commit.version = {0, static_cast<std::uint64_t>(step)};
            commit.scalars.clip_factor = 1;
            commit.result_hashes.resize(1);
            log.push_back(to_line(commit));
        }
        opened_ = tell(node::Loaded{log});
        std::vector<std::string> lines;
        for (const node::Action& action : opened_.actions) {
            if (const auto* const append = std::get_if<node::Append>(&action)) {
                lines.push_back(append->record);
            }
        }
        return lines;
    }

    node::Outbox opened_;
    const std::string cinc_ = "cinc 5 layers=6 settings=" + to_hex(sha256({}));
};

TEST_F(OtherSettings, SendAllPeersBackToTheCheckpoint) {
    EXPECT_EQ(
        begin(3, run::RunState{{0, 2}, {{}}}), (std::vector<std::string>{"rollback 1 2", cinc_})
    );
    EXPECT_EQ(coordinator_->context().version, (ParameterVersion{1, 2}));
}

TEST_F(OtherSettings, WithoutACheckpointEndTheRun) {
    EXPECT_TRUE(begin(3, std::nullopt).empty());
    const auto& report = std::get<node::Tell>(opened_.actions.at(0)).report;
    EXPECT_EQ(std::get<node::RunFailed>(report).exit_code, 3);
}

TEST_F(OtherSettings, BeforeTheFirstStepEachPeerBeginsFromTheSeedOnce) {
    ASSERT_EQ(begin(0, std::nullopt), std::vector<std::string>{cinc_});
    tell(node::Stored{std::get<node::Append>(opened_.actions.at(0)).store});
    tell(link_of(1));
    protocol::Join join;
    join.stage = StageIndex{0};
    join.version = {0, 0};
    join.state_hash = sha256({});
    const auto assigns = [&](std::uint64_t sequence) {
        const node::Outbox out =
            tell(node::Received{{{1, 0, 0, 0}}, node::Lane::Control, {sequence, 0, join}, {}});
        return std::ranges::any_of(out.actions, [](const node::Action& action) {
            const auto* const send = std::get_if<node::Send>(&action);
            return send != nullptr && std::holds_alternative<protocol::Assign>(send->message.body);
        });
    };
    EXPECT_TRUE(assigns(1)) << "the peer was to begin with the new settings";
    EXPECT_FALSE(assigns(2)) << "it has them";
}

TEST_F(CoordinatorTest, EndsWhenAStageHasNoPeerInTime) {
    tell(node::Stored{start()});
    const TimePoint begin = now_;
    std::optional<node::RunFailed> failed;
    while (!failed && coordinator_->next_deadline() < begin + std::chrono::seconds(200)) {
        now_ = std::max(now_, coordinator_->next_deadline());
        for (const node::Action& action : tell(node::Woke{}).actions) {
            const auto* const told = std::get_if<node::Tell>(&action);
            if (told != nullptr && std::holds_alternative<node::RunFailed>(told->report)) {
                failed = std::get<node::RunFailed>(told->report);
            }
        }
    }
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->exit_code, 4);
    EXPECT_NE(failed->text.find("swarm serve"), std::string::npos) << failed->text;
    EXPECT_GE(now_ - begin, std::chrono::seconds(120));
}

TEST_F(CoordinatorTest, KnowsGuestsFromStrangersAndTakesTensorsFromNeither) {
    using node::Acquaintance;
    tell(node::Stored{start()});
    tell(link_of(1));
    EXPECT_EQ(coordinator_->allowance({{1, 0, 0, 0}}).acquaintance, Acquaintance::Stranger);
    protocol::Join client;
    client.client = true;
    tell(node::Received{{{1, 0, 0, 0}}, node::Lane::Control, {1, 0, client}, {}});
    EXPECT_EQ(coordinator_->allowance({{1, 0, 0, 0}}).acquaintance, Acquaintance::Guest);
    EXPECT_EQ(coordinator_->allowance({{1, 0, 0, 0}}).tensor_bytes, 0U);
    tell(node::LinkDown{{{1, 0, 0, 0}}, node::Lane::Control});
    EXPECT_EQ(coordinator_->allowance({{1, 0, 0, 0}}).acquaintance, Acquaintance::Stranger);
    EXPECT_EQ(coordinator_->context().peer_streams.size(), 0U);  // nothing is kept for a client
}

TEST_F(CoordinatorTest, RemembersABoundedCrowd) {
    tell(node::Stored{start()});
    for (std::uint64_t peer = 1; peer <= protocol::kRosterMax; ++peer) {
        ASSERT_FALSE(closes(tell(link_of(peer)))) << peer;
    }
    EXPECT_TRUE(closes(tell(link_of(protocol::kRosterMax + 1))));
    EXPECT_FALSE(closes(tell(link_of(1))));  // a known peer may come again
}

TEST_F(CoordinatorTest, ACrowdThatCameAndWentLocksNobodyOut) {
    tell(node::Stored{start()});
    for (std::uint64_t peer = 1; peer <= protocol::kRosterMax; ++peer) {
        tell(link_of(peer));
        tell(node::LinkDown{{{peer, 0, 0, 0}}, node::Lane::Control});
    }
    EXPECT_EQ(coordinator_->context().peer_streams.size(), 0U);
    EXPECT_FALSE(closes(tell(link_of(protocol::kRosterMax + 1))));
}

TEST_F(CoordinatorTest, RemembersTheLastOfACrowdThatSpokeAndWent) {
    tell(node::Stored{start()});
    constexpr std::uint64_t kCrowd = protocol::kGoneNewcomersMax + 1;
    for (std::uint64_t peer = 1; peer <= kCrowd; ++peer) {
        tell(link_of(peer));
        tell(join_of(peer));
        tell(node::LinkDown{{{peer, 0, 0, 0}}, node::Lane::Control});
    }
    const PeerStreams& peer_streams = coordinator_->context().peer_streams;
    EXPECT_EQ(peer_streams.size(), protocol::kGoneNewcomersMax);
    EXPECT_EQ(peer_streams.find({{1, 0, 0, 0}}), nullptr);
    EXPECT_NE(peer_streams.find({{2, 0, 0, 0}}), nullptr);
}

}  // namespace
}  // namespace swarm::coordinator
