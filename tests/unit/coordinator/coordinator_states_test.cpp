// The word of a majority of members makes the state of a stage, and nobody's where the coordinator
// knows the state itself. The run has one stage; its peers answer what a test does not decide.
#include "swarm/coordinator/coordinator.hpp"
#include "tests/unit/run/script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using run::test::Actions;

Digest digest(std::uint8_t value) {
    Digest made;
    made.bytes.fill(static_cast<std::byte>(value));
    return made;
}

PeerId peer(std::uint64_t n) {
    return {{n, 0, 0, 0}};
}

constexpr std::uint8_t kFirst = 1;  // the state from the seed
constexpr std::uint8_t kTrue = 2;   // the state after the first step
constexpr std::uint8_t kJunk = 7;

/// A checkpoint's name without files.
class NoFiles final : public run::CheckpointFormat {
 public:
    [[nodiscard]] Result<run::CheckpointFiles> make_files(run::RunState /*state*/) const override {
        return run::CheckpointFiles{"none", {}, [] { return Digest{}; }};
    }
};

node::Payload zeros(std::uint64_t bytes) {
    const protocol::TensorEnvelope envelope{
        protocol::Dtype::Bytes, protocol::CodecId::None, {static_cast<std::uint32_t>(bytes)}};
    return {envelope, std::vector<std::byte>(bytes)};
}

class CoordinatorStatesTest : public testing::Test {
 protected:
    /// Lives of the coordinator share the log.
    void start(std::uint32_t min_peers, std::optional<run::RunState> resume = std::nullopt) {
        run::RunConfig config;
        config.model = *run::named_model("oracle");
        config.stages = 1;
        config.microbatches = 1;
        config.steps = 9;
        config.min_peers = min_peers;
        start(config, std::move(resume));
    }

    void start(const run::RunConfig& config, std::optional<run::RunState> resume) {
        Coordinator::Options options;
        options.config = config;
        options.checkpoints = std::make_shared<NoFiles>();
        options.resume = std::move(resume);
        options.first_state = [](StageIndex) { return digest(kFirst); };
        coordinator_ = std::make_unique<Coordinator>(std::move(options));
        numbers_.clear();
        tell(node::Woke{});
        tell(node::Loaded{log_});
    }

    void tell(const node::Event& event) {
        Actions actions;
        coordinator_->on(event, now_ += 1ms, actions.out);
        for (const node::Action& action : actions.out.actions) {
            if (const auto* const append = std::get_if<node::Append>(&action)) {
                log_.push_back(append->record);
                if (append->durable) {
                    tell(node::Stored{append->store});
                }
            } else if (const auto* const send = std::get_if<node::Send>(&action)) {
                answer(*send);
            } else if (const auto* const report = std::get_if<node::Tell>(&action)) {
                failed_ = failed_ || std::holds_alternative<node::RunFailed>(report->report);
                const auto* const line = std::get_if<node::LogLine>(&report->report);
                warnings_ += line && line->level == node::LogLine::Level::Warning ? 1 : 0;
            }
        }
    }

    void say(std::uint64_t n, protocol::Body body) {
        tell(node::Received{peer(n), node::Lane::Control, {++numbers_[n], 0, std::move(body)}, {}});
    }

    void link(std::uint64_t n) {
        for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
            tell(node::LinkUp{peer(n), lane, {n}});
        }
    }

    void claim(std::uint64_t n, std::uint8_t hash) {
        protocol::Join join;
        join.stage = StageIndex{0};
        join.version = coordinator_->context().version;
        join.state_hash = digest(hash);
        say(n, join);
    }

    void join(std::uint64_t n, std::uint8_t hash) {
        link(n);
        claim(n, hash);
    }

    void apply(std::uint64_t n, std::uint8_t hash) {
        say(n, protocol::Applied{coordinator_->context().version, digest(hash)});
    }

    void wait(Duration time) {
        for (const TimePoint end = now_ + time; now_ < end;) {
            now_ = std::max(now_, std::min(end, coordinator_->next_deadline()));
            tell(node::Woke{});
            for (auto& [n, number] : numbers_) {
                tell(node::Received{peer(n), node::Lane::Control, {0, 0, protocol::Heartbeat{}}, {}}
                );
            }
        }
    }

    /// Members answer what leads to the next commit; nobody answers COMMIT.
    void answer(const node::Send& send) {
        const std::uint64_t n = send.peer.words[0];
        const RunContext& context = coordinator_->context();
        const protocol::SlotInfo* const info = context.roster.find_peer(send.peer);
        const auto& body = send.message.body;
        if (const auto* const recall = std::get_if<protocol::Recall>(&body)) {
            say(n, protocol::Held{recall->version, recall->epoch, {}, {}});
        } else if (const auto* const forward = std::get_if<protocol::Forward>(&body);
                   forward && info && trains_) {
            say(n,
                protocol::Path{
                    context.version, forward->microbatch, forward->attempt, {info->slot}, 1.0});
        } else if (const auto* const reduce = std::get_if<protocol::Reduce>(&body)) {
            protocol::Reduced reduced{};
            reduced.version = reduce->version;
            reduced.epoch = reduce->epoch;
            reduced.sums_of_squares.assign(context.layouts[0].tensors.size(), 1.0);
            reduced.counted_once = 1;
            say(n, reduced);
        } else if (const auto* const fetch = std::get_if<protocol::Fetch>(&body)) {
            give(send.peer, *fetch);
        } else if (std::holds_alternative<protocol::Commit>(body)) {
            trains_ = false;  // one step is enough
        }
    }

    /// The state of a donor is that of `given_`, in which all bytes are 0.
    void give(const PeerId& donor, const protocol::Fetch& fetch) {
        node::Payload payload = zeros(given_.size() * sizeof(Digest));
        if (fetch.chunk) {
            fetched_.push_back(*fetch.chunk);
            payload = run::pack_chunk(given_.at(*fetch.chunk));
        } else {
            std::vector<std::byte> manifest;
            for (const node::Payload& chunk : given_) {
                const Digest hash = sha256(chunk.bytes());
                manifest.insert(manifest.end(), hash.bytes.begin(), hash.bytes.end());
            }
            payload = node::Payload(payload.envelope(), std::move(manifest));
        }
        const protocol::Chunk chunk{fetch.version, fetch.stage, fetch.chunk};
        tell(node::Received{donor, node::Lane::Bulk, {0, 0, chunk}, std::move(payload)});
    }

    /// Peers 1 to `members` train the first step.
    void train_first_step(std::uint32_t members) {
        trains_ = true;
        start(members);
        for (std::uint64_t n = 1; n <= members; ++n) {
            join(n, kFirst);
        }
        ASSERT_EQ(coordinator_->context().version, (ParameterVersion{0, 1}));
    }

    [[nodiscard]] bool is_member(std::uint64_t n) const {
        const auto* const info = coordinator_->context().roster.find_peer(peer(n));
        return info != nullptr && info->standing != protocol::Standing::Observer;
    }

    /// The hash in the newest record of a version's state.
    [[nodiscard]] std::optional<Digest> recorded(ParameterVersion version) const {
        const Result<RunHistory> history = replay_log(log_);
        const auto found = history->states.find({version, {0}});
        return found == history->states.end() ? std::nullopt : std::optional(found->second);
    }

    static constexpr ParameterVersion kFirstVersion{0, 0};
    static constexpr ParameterVersion kSecondVersion{0, 1};

    TimePoint now_{};
    std::unique_ptr<Coordinator> coordinator_;
    std::map<std::uint64_t, std::uint64_t> numbers_;
    std::vector<std::string> log_;
    std::vector<node::Payload> given_;    // by chunk
    std::vector<std::uint32_t> fetched_;  // the chunks that were asked for, in order
    bool trains_ = false;
    bool failed_ = false;
    int warnings_ = 0;
};

TEST_F(CoordinatorStatesTest, NoStrangerSaysWithWhatTheRunBegins) {
    start(1);
    join(9, kJunk);
    EXPECT_EQ(recorded(kFirstVersion), digest(kFirst));
    EXPECT_FALSE(is_member(9));
    join(1, kFirst);
    EXPECT_TRUE(is_member(1));
}

TEST_F(CoordinatorStatesTest, AWrongStateIsWarnedOfOncePerPeer) {
    start(1);
    link(9);
    for (int i = 0; i < 50; ++i) {
        claim(9, kJunk);
    }
    EXPECT_EQ(warnings_, 1);
}

TEST_F(CoordinatorStatesTest, AnObserversAppliedCountsForNothing) {
    train_first_step(2);
    link(9);
    say(9, protocol::Join{});
    ASSERT_NE(coordinator_->context().roster.find_peer(peer(9)), nullptr);
    apply(9, kJunk);
    EXPECT_FALSE(recorded(kSecondVersion));
    apply(1, kTrue);
    apply(2, kTrue);
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
    EXPECT_FALSE(failed_);
}

TEST_F(CoordinatorStatesTest, AMajorityOfTheMembersMakesTheStateAndTheLiarIsFenced) {
    train_first_step(3);
    apply(1, kJunk);
    EXPECT_FALSE(recorded(kSecondVersion)) << "one of three is no majority";
    apply(2, kTrue);
    EXPECT_FALSE(recorded(kSecondVersion));
    apply(3, kTrue);
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
    EXPECT_FALSE(is_member(1));
    EXPECT_TRUE(is_member(2) && is_member(3));
}

TEST_F(CoordinatorStatesTest, WhoDiffersFromTheRecordLaterIsFenced) {
    train_first_step(3);
    apply(1, kTrue);
    apply(2, kTrue);
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
    apply(3, kJunk);
    EXPECT_FALSE(is_member(3));
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
}

TEST_F(CoordinatorStatesTest, ATieFencesTheNewerHalfAndEndsNothing) {
    train_first_step(2);
    apply(2, kJunk);
    apply(1, kTrue);
    EXPECT_FALSE(failed_);
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
    EXPECT_TRUE(is_member(1));
    EXPECT_FALSE(is_member(2));
}

TEST_F(CoordinatorStatesTest, AStageOfTwoWhoseSecondDiedHasItsStateByTheFirst) {
    train_first_step(2);
    apply(1, kTrue);
    EXPECT_FALSE(recorded(kSecondVersion));
    tell(node::LinkUp{peer(2), node::Lane::Control, {77}});  // its process died and came again
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
}

TEST_F(CoordinatorStatesTest, TheLogNamesTheMembersOnce) {
    train_first_step(2);
    const auto is_members = [](const std::string& line) { return line.starts_with("members "); };
    EXPECT_EQ(std::ranges::count_if(log_, is_members), 1);
    const Result<RunHistory> history = replay_log(log_);
    ASSERT_TRUE(history);
    EXPECT_EQ(history->members.at({0}), (std::vector<PeerId>{peer(1), peer(2)}));
}

TEST_F(CoordinatorStatesTest, AfterARestartStrangersWaitForTheMembersOfTheLog) {
    train_first_step(3);
    start(1);  // no state of the second version is in the log
    join(9, kJunk);
    EXPECT_FALSE(recorded(kSecondVersion));
    join(1, kTrue);
    EXPECT_FALSE(recorded(kSecondVersion)) << "one of three members";
    join(2, kTrue);
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
    EXPECT_FALSE(is_member(9));
}

TEST_F(CoordinatorStatesTest, AfterAWhileTheMembersThatCameDecide) {
    train_first_step(3);
    start(1);
    join(9, kJunk);
    join(3, kTrue);
    wait(4s);
    EXPECT_FALSE(recorded(kSecondVersion));
    wait(2s);
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
    EXPECT_FALSE(is_member(9));
}

TEST_F(CoordinatorStatesTest, AnOlderLogBelievesTheFirstJoin) {
    train_first_step(2);
    std::erase_if(log_, [](const std::string& line) { return line.starts_with("members"); });
    start(1);
    join(2, kTrue);
    EXPECT_EQ(recorded(kSecondVersion), digest(kTrue));
}

TEST_F(CoordinatorStatesTest, TheStateOfACheckpointIsTheCoordinatorsOwn) {
    train_first_step(1);
    const std::vector<std::byte> bytes(100, std::byte{3});
    const node::Payload chunk(
        {protocol::Dtype::Bytes, protocol::CodecId::None, {100}}, std::vector<std::byte>(bytes)
    );
    const Digest manifest = sha256(bytes);
    start(1, run::RunState{{0, 1}, {{chunk}}});
    wait(11s);  // nobody comes, so the run goes back to the checkpoint
    const ParameterVersion version{1, 1};
    ASSERT_EQ(coordinator_->context().version, version);
    join(9, kJunk);
    EXPECT_EQ(recorded(version), sha256(manifest.bytes));
    EXPECT_FALSE(is_member(9));
}

/// A checkpoint fetches what is trained. Once it is written, of the state that the run began with
/// only the frozen chunks stay in memory, and nobody is given that state any more.
TEST_F(CoordinatorStatesTest, AWrittenCheckpointTakesThePlaceOfTheFirstState) {
    run::RunConfig config;
    config.model = *run::named_model("demo");
    config.stages = 1;
    config.microbatches = 1;
    config.steps = 9;
    config.min_peers = 1;
    config.train.freeze = {"layers.1-5"};
    config.checkpoint_every = 1;
    const run::StageLayout layout = run::partition(config)[0];
    const std::uint64_t trained = layout.state_bytes() - 4 * layout.frozen_elements();
    std::vector<std::byte> manifest;
    std::vector<std::weak_ptr<const void>> chunks;
    run::RunState first{{}, {{}}};
    for (std::uint32_t i = 0; i < run::chunk_count(layout.state_bytes()); ++i) {
        given_.push_back(zeros(run::chunk_bytes(layout.state_bytes(), i)));
        first.chunks[0].push_back(zeros(run::chunk_bytes(layout.state_bytes(), i)));
        chunks.emplace_back(first.chunks[0].back().owner());
        const Digest hash = sha256(given_.back().bytes());
        manifest.insert(manifest.end(), hash.bytes.begin(), hash.bytes.end());
    }
    trains_ = true;
    start(config, std::move(first));
    link(1);
    protocol::Join join;
    join.stage = StageIndex{0};
    join.version = ParameterVersion{};
    join.state_hash = sha256(manifest);
    say(1, join);
    wait(1s);
    ASSERT_EQ(coordinator_->context().version, kSecondVersion);

    const std::size_t first_frozen = (trained + protocol::kChunkBytes - 1) / protocol::kChunkBytes;
    ASSERT_LT(first_frozen, chunks.size());
    ASSERT_EQ(fetched_.size(), first_frozen);
    for (std::uint32_t i = 0; i < chunks.size(); ++i) {
        EXPECT_EQ(chunks[i].expired(), i < first_frozen) << "chunk " << i;
    }
}

}  // namespace
}  // namespace swarm::coordinator
