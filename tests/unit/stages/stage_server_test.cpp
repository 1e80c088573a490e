#include "stages/server/stage_server.hpp"

#include "swarm/protocol/limits.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <utility>

namespace stages {
namespace {

using namespace std::chrono_literals;
using protocol::RefusedReason;
using swarm::make_epoch;

constexpr PeerId kSelf{{2}};
constexpr PeerId kCoordinator{{9}};
constexpr PeerId kBelow{{3}};
constexpr PeerId kOtherBelow{{4}};
constexpr PeerId kReplica{{5}};
constexpr PeerId kStranger{{6}};
constexpr SlotId kSelfSlot{12};
constexpr ParameterVersion kNow{0, 0};
constexpr protocol::LegId kFirstLeg{kNow, {0}, make_epoch(1, 1), protocol::Leg::Forward};

/// The tail of a run of two stages, with two peers below and a replica. Its device works at once.
class StageServerTest : public testing::Test {
 protected:
    StageServerTest() : config_(test::small_run(2)), server_(options()) {
        for (const PeerId peer : {kCoordinator, kBelow, kOtherBelow, kReplica, kStranger}) {
            deliver(node::LinkUp{peer, node::Lane::Control, {1}});
            deliver(node::LinkUp{peer, node::Lane::Bulk, {1}});
        }
        from(kCoordinator, protocol::Assign{{1}, swarm::run::to_toml(config_), kNow});
        constexpr auto kMember = protocol::Standing::Member;
        from(
            kCoordinator,
            protocol::Roster{
                1,
                {{{10}, kBelow, {1}, {0}, {}, kMember, "a:1"},
                 {{11}, kOtherBelow, {1}, {0}, {}, kMember, "a:2"},
                 {kSelfSlot, kSelf, {1}, {1}, {}, kMember, "a:3"},
                 {{13}, kReplica, {1}, {1}, {}, kMember, "a:4"}}}
        );
        take_sends();
    }

    static StageServer::Options options() {
        StageServer::Options options;
        options.self = kSelf;
        options.incarnation = {1};
        options.coordinator = kCoordinator;
        options.make_compute = [](const auto& config, const auto& layout) {
            return swarm::Result<std::unique_ptr<StageCompute>>(
                test::make_noise_compute(config, layout)
            );
        };
        return options;
    }

    void deliver(const node::Event& event) {
        std::deque<node::Event> events{event};
        while (!events.empty()) {
            const node::Event next = std::move(events.front());
            events.pop_front();
            node::Outbox out;
            server_.on(next, now_, out);
            for (node::Action& action : out.actions) {
                if (auto* compute = std::get_if<node::Compute>(&action)) {
                    compute->work->run();
                    if (compute->answered) {
                        events.push_back(node::Computed{compute->job, {}});
                    }
                } else if (auto* send = std::get_if<node::Send>(&action)) {
                    sends_.push_back(std::move(*send));
                }
            }
        }
    }

    void from(PeerId peer, protocol::Body body, node::Payload payload = {}) {
        const node::Lane lane = protocol::lane_of(body);
        deliver(node::Received{peer, lane, {0, 0, std::move(body)}, std::move(payload)});
    }

    [[nodiscard]] protocol::Forward forward(SlotId by = {10}) const {
        return {kNow, {0}, make_epoch(1, 1), swarm::StageMask::first(2), {by}, tokens()};
    }

    [[nodiscard]] std::vector<std::uint32_t> tokens() const {
        return test::leg_of(config_, 0).tokens;
    }

    [[nodiscard]] node::Payload activation(float first = 0) const {
        const std::vector<std::uint32_t> shape = swarm::run::activation_shape(config_, {0});
        std::vector<float> values(std::size_t{shape[0]} * shape[1] * shape[2]);
        values.front() = first;
        const auto bytes = std::as_bytes(std::span(values));
        return {
            {protocol::Dtype::Float32, protocol::CodecId::None, shape},
            std::vector(bytes.begin(), bytes.end())};
    }

    std::vector<node::Send> take_sends() { return std::exchange(sends_, {}); }

    /// The messages of one kind to a peer since the last take_sends().
    template <class Body>
    std::vector<Body> sent(PeerId to) {
        std::vector<Body> found;
        for (const node::Send& send : sends_) {
            if (const auto* body = std::get_if<Body>(&send.message.body); body && send.peer == to) {
                found.push_back(*body);
            }
        }
        return found;
    }

    void expect_refused(PeerId by, RefusedReason reason) {
        const auto answers = sent<protocol::Refused>(by);
        ASSERT_EQ(answers.size(), 1U);
        EXPECT_EQ(answers.front().reason, reason);
        EXPECT_TRUE(sent<protocol::Accepted>(by).empty());
        expect_counts_nothing();
    }

    void expect_counts_nothing() {
        EXPECT_TRUE(sent<protocol::Path>(kCoordinator).empty());
        EXPECT_TRUE(held(make_epoch(1, 9)).empty());
    }

    std::vector<MicrobatchId> held(swarm::Epoch epoch) {
        from(kCoordinator, protocol::Recall{kNow, epoch, {{0}}});
        const auto answers = sent<protocol::Held>(kCoordinator);
        EXPECT_FALSE(answers.empty());
        return answers.empty() ? std::vector<MicrobatchId>{} : answers.back().ids;
    }

    /// Expects that a later attempt of the same microbatch is taken and counted.
    void expect_takes_a_replay() {
        take_sends();
        protocol::Forward replay = forward();
        replay.attempt = make_epoch(1, 9);
        from(kBelow, replay, activation());
        EXPECT_EQ(sent<protocol::Accepted>(kBelow).size(), 1U);
        EXPECT_EQ(sent<protocol::Path>(kCoordinator).size(), 1U);
        EXPECT_EQ(held(make_epoch(1, 10)).size(), 1U);
    }

    /// Expects that the tensor was reported and not counted, and that the microbatch may be tried
    /// again.
    void expect_dropped() {
        EXPECT_EQ(sent<protocol::Accepted>(kBelow).size(), 1U);
        const auto fails = sent<protocol::Fail>(kCoordinator);
        ASSERT_EQ(fails.size(), 1U);
        EXPECT_EQ(fails.front().about, SlotId{10});
        EXPECT_EQ(fails.front().reason, protocol::FailReason::NotFinite);
        expect_counts_nothing();
        expect_takes_a_replay();
    }

    swarm::run::RunConfig config_;
    StageServer server_;
    TimePoint now_{};
    std::vector<node::Send> sends_;
};

TEST_F(StageServerTest, JoinTellsTheSmallerOfWhatIsLentAndWhatIsThere) {
    const auto told = [&](std::uint64_t lent, std::uint64_t machine) {
        StageServer::Options options = StageServerTest::options();
        options.memory_bytes = lent;
        options.machine_bytes = machine;
        StageServer server(std::move(options));
        node::Outbox out;
        server.on(node::LinkUp{kCoordinator, node::Lane::Control, {1}, true}, now_, out);
        const auto& join = std::get<node::Send>(out.actions.back()).message.body;
        return std::get<protocol::Join>(join).lent_memory_bytes;
    };
    EXPECT_EQ(told(0, 0), 0U);
    EXPECT_EQ(told(5, 0), 5U);
    EXPECT_EQ(told(0, 7), 7U);
    EXPECT_EQ(told(5, 7), 5U);
    EXPECT_EQ(told(9, 7), 7U);
}

TEST_F(StageServerTest, AStageThatIsLargerThanTheMachineEndsItBeforeAnythingIsMade) {
    swarm::run::RunConfig large;
    large.model = *swarm::run::named_model("oracle");
    large.model.layers = 448;
    large.model.width = 1U << 28;
    StageServer::Options options = StageServerTest::options();
    options.machine_bytes = 1ULL << 40;
    options.make_compute = [](const auto&, const auto&) {
        ADD_FAILURE() << "made something of a stage that does not fit";
        return swarm::Result<std::unique_ptr<StageCompute>>(swarm::Error{});
    };
    StageServer server(std::move(options));
    node::Outbox out;
    server.on(node::LinkUp{kCoordinator, node::Lane::Control, {1}, true}, now_, out);
    const auto* const join = std::get_if<node::Send>(&out.actions.back());
    ASSERT_NE(join, nullptr);
    EXPECT_EQ(std::get<protocol::Join>(join->message.body).lent_memory_bytes, 1ULL << 40);
    out.actions.clear();
    const protocol::Assign assign{{0}, swarm::run::to_toml(large), kNow};
    server.on(node::Received{kCoordinator, node::Lane::Control, {1, 0, assign}, {}}, now_, out);
    std::string reason;
    for (const node::Action& action : out.actions) {
        if (const auto* const told = std::get_if<node::Tell>(&action)) {
            if (const auto* const failed = std::get_if<node::RunFailed>(&told->report)) {
                EXPECT_EQ(failed->exit_code, 3);
                reason = failed->text;
            }
        }
    }
    EXPECT_NE(reason.find("and this machine has 1048576 MiB for this process"), std::string::npos)
        << reason;
}

TEST_F(StageServerTest, TakesAndCountsATensorOfThePeerBelow) {
    from(kBelow, forward(), activation());
    EXPECT_EQ(sent<protocol::Accepted>(kBelow).size(), 1U);
    EXPECT_EQ(sent<protocol::Path>(kCoordinator).size(), 1U);
    EXPECT_EQ(sent<protocol::Backward>(kBelow).size(), 1U);
    EXPECT_EQ(held(make_epoch(1, 9)).size(), 1U);
}

TEST_F(StageServerTest, RefusesATensorOfAnotherRun) {
    from(kStranger, forward(), activation());  // the roster does not list it
    expect_refused(kStranger, RefusedReason::Invalid);
    protocol::Forward wider = forward();
    wider.microbatch = {config_.microbatches};
    from(kBelow, wider, activation());
    expect_refused(kBelow, RefusedReason::Invalid);
    expect_takes_a_replay();
}

TEST_F(StageServerTest, RefusesATensorForAnotherStage) {
    from(kReplica, forward({13}), activation());
    expect_refused(kReplica, RefusedReason::Invalid);
    const protocol::Backward backward{
        kNow, {0}, make_epoch(1, 1), swarm::StageMask::first(2), {{10}, kSelfSlot}};
    from(kBelow, backward, activation());
    expect_refused(kBelow, RefusedReason::Invalid);
    expect_takes_a_replay();
}

TEST_F(StageServerTest, RefusesAPathThatItsSenderIsNotOn) {
    from(kBelow, forward({11}), activation());
    expect_refused(kBelow, RefusedReason::Invalid);
    expect_takes_a_replay();
}

TEST_F(StageServerTest, RefusesTheTokensOfAnotherBatch) {
    protocol::Forward longer = forward();
    longer.tokens.push_back(0);
    from(kBelow, longer, activation());
    expect_refused(kBelow, RefusedReason::Invalid);
    expect_takes_a_replay();
}

TEST_F(StageServerTest, RefusesCodecsThatItsRunDoesNotChoose) {
    protocol::Forward coded = forward();
    coded.codecs.assign(2, protocol::CodecId::Int4);
    from(kBelow, coded, activation());
    expect_refused(kBelow, RefusedReason::Invalid);
    expect_takes_a_replay();
}

TEST_F(StageServerTest, RefusesATensorOfANextStepThatDoesNotCome) {
    protocol::Forward early = forward();
    early.version = {0, 1};
    from(kBelow, early, activation());
    EXPECT_TRUE(sent<protocol::Refused>(kBelow).empty());
    now_ += 2s;
    deliver(node::Woke{});
    expect_refused(kBelow, RefusedReason::Behind);
    expect_takes_a_replay();
}

TEST_F(StageServerTest, RefusesATensorOfAStepThatIsOver) {
    from(kCoordinator, protocol::Reduce{kNow, make_epoch(1, 1), {}, {kSelfSlot}, {}});
    protocol::Commit commit;
    commit.epoch = make_epoch(1, 1);
    commit.result_hashes.resize(2);
    from(kCoordinator, commit);
    ASSERT_EQ(server_.context().version, (ParameterVersion{0, 1}));
    from(kBelow, forward(), activation());
    const protocol::Refused late{kFirstLeg, RefusedReason::Stale};
    EXPECT_EQ(sent<protocol::Refused>(kBelow), std::vector{late});
    EXPECT_TRUE(sent<protocol::Path>(kCoordinator).empty());
}

TEST_F(StageServerTest, SaysAtOnceThatAListedMicrobatchNeverCame) {
    from(kCoordinator, protocol::Reduce{kNow, make_epoch(1, 1), {{0}}, {kSelfSlot}, {}});
    EXPECT_EQ(sent<protocol::Mismatch>(kCoordinator).at(0).never_came.size(), 1U);
}

TEST_F(StageServerTest, RefusesAnAttemptBelowTheFloor) {
    EXPECT_TRUE(held(make_epoch(1, 2)).empty());
    from(kBelow, forward(), activation());
    expect_refused(kBelow, RefusedReason::Stale);
    expect_takes_a_replay();
}

TEST_F(StageServerTest, AnswersADuplicateAndCountsItOnce) {
    from(kBelow, forward(), activation());
    from(kBelow, forward(), activation());
    EXPECT_EQ(sent<protocol::Accepted>(kBelow).size(), 2U);
    EXPECT_EQ(sent<protocol::Path>(kCoordinator).size(), 1U);
    EXPECT_EQ(sent<protocol::Backward>(kBelow).size(), 1U);
    EXPECT_EQ(held(make_epoch(1, 9)).size(), 1U);
}

TEST_F(StageServerTest, RefusesTheSameAttemptFromAnotherPeer) {
    from(kBelow, forward(), activation());
    from(kOtherBelow, forward({11}), activation());
    EXPECT_TRUE(sent<protocol::Accepted>(kOtherBelow).empty());
    const protocol::Refused second{kFirstLeg, RefusedReason::Stale};
    EXPECT_EQ(sent<protocol::Refused>(kOtherBelow), std::vector{second});
    EXPECT_EQ(sent<protocol::Path>(kCoordinator).size(), 1U);
}

TEST_F(StageServerTest, DropsATensorThatIsNotFinite) {
    from(kBelow, forward(), activation(std::numeric_limits<float>::quiet_NaN()));
    expect_dropped();
}

TEST_F(StageServerTest, DropsATensorOfAnotherShape) {
    node::Payload flat = activation();
    protocol::TensorEnvelope envelope = flat.envelope();
    envelope.shape = {envelope.shape[0] * envelope.shape[1], 1, envelope.shape[2]};
    const std::vector<std::byte> bytes(flat.bytes().begin(), flat.bytes().end());
    from(kBelow, forward(), node::Payload(envelope, bytes));
    expect_dropped();
}

TEST_F(StageServerTest, DropsATensorOfAnotherType) {
    protocol::TensorEnvelope envelope = activation().envelope();
    envelope.dtype = protocol::Dtype::Int64;
    const std::vector<std::byte> bytes(2 * activation().bytes().size());
    from(kBelow, forward(), node::Payload(envelope, bytes));
    expect_dropped();
}

TEST_F(StageServerTest, DropsATokenOutsideTheVocabulary) {
    protocol::Forward strange = forward();
    strange.tokens[1] = config_.model.vocabulary;
    from(kBelow, strange, activation());
    expect_dropped();
}

TEST_F(StageServerTest, IgnoresLateAnswers) {
    const protocol::LegId leg{kNow, {0}, make_epoch(1, 1), protocol::Leg::Backward};
    from(kBelow, forward(), activation());
    from(kBelow, protocol::Accepted{leg});
    from(kBelow, protocol::Passed{leg});
    take_sends();
    from(kBelow, protocol::Accepted{leg});
    from(kBelow, protocol::Passed{leg});
    from(kBelow, protocol::Refused{leg, RefusedReason::Busy});
    from(kOtherBelow, protocol::Refused{leg, RefusedReason::Busy});
    EXPECT_TRUE(take_sends().empty());
    EXPECT_EQ(held(make_epoch(1, 9)).size(), 1U);
}

TEST_F(StageServerTest, SendsPeersThatTakeItForAHubAway) {
    from(kStranger, protocol::Join{});
    const protocol::Misdirected here{protocol::HubKind::StageServer};
    EXPECT_EQ(sent<protocol::Misdirected>(kStranger), std::vector{here});
}

TEST_F(StageServerTest, GivesItsStateToPeersOfTheRosterAlone) {
    from(kCoordinator, protocol::Commit{kNow, make_epoch(1, 1), {0}, {}, {{kSelfSlot, kStranger}}});
    const protocol::Fetch manifest{{0, 1}, {1}, std::nullopt};
    from(kStranger, manifest);
    EXPECT_TRUE(sent<protocol::Chunk>(kStranger).empty());
    const auto refused = sent<protocol::ChunkRefused>(kStranger);
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_TRUE(refused[0].busy);  // a newcomer may be ahead of its roster
    take_sends();
    constexpr auto kMember = protocol::Standing::Member;
    from(
        kCoordinator,
        protocol::Roster{
            2,
            {{kSelfSlot, kSelf, {1}, {1}, {}, kMember, "a:3"},
             {{14}, kStranger, {1}, {1}, {}, protocol::Standing::Observer, "a:5"}}}
    );
    from(kStranger, manifest);
    EXPECT_EQ(sent<protocol::Chunk>(kStranger).size(), 1U);
}

TEST_F(StageServerTest, TakesTensorsFromPeersOfTheRosterAlone) {
    using node::Acquaintance;
    EXPECT_EQ(server_.allowance(kStranger).acquaintance, Acquaintance::Stranger);
    EXPECT_EQ(server_.allowance(kStranger).tensor_bytes, 0U);
    EXPECT_EQ(server_.allowance(kBelow).acquaintance, Acquaintance::Partner);
    EXPECT_GE(server_.allowance(kBelow).tensor_bytes, activation().bytes().size());
    EXPECT_EQ(server_.allowance(kBelow).control_bytes, protocol::kControlBytesMax);
    EXPECT_EQ(server_.allowance(kCoordinator).control_bytes, protocol::kRosterBytesMax);
}

/// Plays a commit that orders a snapshot, `pause`, and a commit that may change it in place.
class SnapshotThenCommit : public StageServerTest {
 protected:
    bool changes_in_place(swarm::Duration pause) {
        from(
            kCoordinator,
            protocol::Commit{kNow, make_epoch(1, 1), {0}, {}, {{kSelfSlot, kStranger}}}
        );
        const float* const before = weights();
        now_ += pause;
        const ParameterVersion next{0, 1};
        from(kCoordinator, protocol::Reduce{next, make_epoch(1, 2), {}, {kSelfSlot}, {}});
        from(kCoordinator, protocol::Commit{next, make_epoch(1, 2), {}, {{}, {}}, {}});
        EXPECT_EQ(server_.context().version, (ParameterVersion{0, 2}));
        return weights() == before;
    }

    [[nodiscard]] const float* weights() const {
        return server_.context().worker->state().weights().data();
    }
};

TEST_F(SnapshotThenCommit, LeavesASnapshotInUseAsItIs) {
    EXPECT_FALSE(changes_in_place(59s));
}

TEST_F(SnapshotThenCommit, CopiesNoSnapshotThatNobodyFetches) {
    EXPECT_TRUE(changes_in_place(60s));
}

TEST_F(StageServerTest, AnswersAHeldOutMicrobatchOfThePeerBelow) {
    from(kBelow, protocol::Evaluate{kNow, 5, tokens()}, activation());
    EXPECT_FALSE(sent<protocol::Evaluated>(kBelow).at(0).refused);
}

TEST_F(StageServerTest, HoldsAHeldOutMicrobatchOfANewerVersionForTwoSeconds) {
    from(kBelow, protocol::Evaluate{{0, 1}, 5, tokens()}, activation());
    EXPECT_TRUE(sent<protocol::Evaluated>(kBelow).empty());
    EXPECT_EQ(server_.held_for_version(), 1U);
    now_ += 2s;
    deliver(node::Woke{});
    EXPECT_TRUE(sent<protocol::Evaluated>(kBelow).at(0).refused);
}

}  // namespace
}  // namespace stages
