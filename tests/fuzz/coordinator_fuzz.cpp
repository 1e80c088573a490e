// A coordinator that trains with three honest members, fed by bytes: every message that decodes is
// said by a stranger, a client, an observer, or, where the first byte of the input allows it, by a
// fourth member. None of them ends the run or makes it commit what the honest members do not hold,
// and when they have said all of it the run goes on.
// Input: one byte of standing, then the pieces of role_bench.hpp.
#include "swarm/base/check.hpp"
#include "swarm/coordinator/coordinator.hpp"
#include "tests/fuzz/role_bench.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace node = swarm::node;
namespace protocol = swarm::protocol;

/// The peers' numbers; honest members come first.
constexpr std::uint64_t kHonest = 3;
constexpr std::uint64_t kFourth = 4;
constexpr std::uint64_t kStranger = 5;
constexpr std::uint64_t kClient = 6;
constexpr std::uint64_t kObserver = 7;

/// A run has its next commit within this time once nobody disturbs it: a fenced member comes back,
/// and an epoch that was spoiled is begun anew.
constexpr swarm::Duration kCalmWithin = 60s;

swarm::PeerId peer(std::uint64_t n) {
    return {{n, 0, 0, 0}};
}

/// All peers hold this state at a step.
swarm::Digest state_at(std::uint64_t step) {
    swarm::Digest digest;
    digest.bytes.fill(static_cast<std::byte>(step + 1));
    return digest;
}

class Run {
 public:
    Run() {
        swarm::coordinator::Coordinator::Options options;
        options.config.model = *swarm::run::named_model("oracle");
        options.config.stages = 1;
        options.config.microbatches = 2;
        options.config.steps = 1'000'000;
        options.config.min_peers = kHonest;
        options.first_state = [](swarm::StageIndex) { return state_at(0); };
        coordinator_ = std::make_unique<swarm::coordinator::Coordinator>(std::move(options));
        deliver(node::Woke{});
        for (std::uint64_t n = 1; n <= kObserver; ++n) {
            come(n);
        }
        while (step() < 1) {
            tick();
        }
    }

    /// Says the message as the next one of the peer's stream, if it has a number.
    void say(std::uint64_t n, protocol::Message message, node::Payload payload) {
        if (message.number != 0) {
            message.number = ++peers_[n].said;
        }
        const auto lane = protocol::lane_of(message.body);
        deliver(node::Received{peer(n), lane, std::move(message), std::move(payload)});
    }

    /// Lets 100 ms pass, in which honest members say that they live and do what they were given.
    void tick() {
        now_ += 100ms;
        for (std::uint64_t n = 1; n <= kHonest; ++n) {
            deliver(node::Received{peer(n), node::Lane::Control, {0, 0, protocol::Heartbeat{}}, {}}
            );
            if (coordinator_->context().roster.find_peer(peer(n)) == nullptr) {
                join(n);
            }
        }
        for (const auto& [n, forward] : std::exchange(given_, {})) {
            train(n, forward);
        }
        if (coordinator_->next_deadline() <= now_) {
            deliver(node::Woke{});
        }
    }

    [[nodiscard]] std::uint64_t step() const { return coordinator_->context().version.step; }

 private:
    struct Peer {
        std::uint64_t incarnation = 0;
        std::uint64_t said = 0;  // messages of its stream
    };

    void come(std::uint64_t n) {
        peers_[n] = {peers_[n].incarnation + 1, 0};
        for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
            deliver(node::LinkUp{peer(n), lane, {peers_[n].incarnation}});
        }
        join(n);
    }

    void join(std::uint64_t n) {
        protocol::Join join;
        join.client = n == kClient;
        if (n <= kFourth) {
            join.stage = swarm::StageIndex{0};
            join.version = coordinator_->context().version;
            join.state_hash = state_at(join.version.step);
        }
        if (n != kStranger) {
            say(n, {1, 0, join}, {});
        }
    }

    void deliver(const node::Event& event) {
        events_.push_back(event);
        if (events_.size() > 1) {
            return;  // the loop below takes it
        }
        while (!events_.empty()) {
            node::Outbox out;
            coordinator_->on(events_.front(), now_, out);
            for (const node::Action& action : out.actions) {
                carry_out(action);
            }
            events_.pop_front();
        }
    }

    void carry_out(const node::Action& action) {
        if (std::holds_alternative<node::Load>(action)) {
            deliver(node::Loaded{});
        } else if (const auto* const append = std::get_if<node::Append>(&action)) {
            if (append->durable) {
                deliver(node::Stored{append->store});
            }
        } else if (const auto* const file = std::get_if<node::WriteFile>(&action)) {
            deliver(node::Stored{file->store});
        } else if (const auto* const close = std::get_if<node::Close>(&action)) {
            hang_up(close->peer.words[0]);
        } else if (const auto* const send = std::get_if<node::Send>(&action)) {
            answer(*send);
        } else if (const auto* const told = std::get_if<node::Tell>(&action)) {
            SWARM_ASSERT(!std::holds_alternative<node::RunFailed>(told->report));
        }
    }

    /// The peer comes back at once, as a new process.
    void hang_up(std::uint64_t n) {
        SWARM_ASSERT(n > kHonest);
        for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
            deliver(node::LinkDown{peer(n), lane});
        }
        come(n);
    }

    /// An honest member does what leads to the next commit.
    void answer(const node::Send& send) {
        const std::uint64_t n = send.peer.words[0];
        if (n > kHonest) {
            return;
        }
        const auto& body = send.message.body;
        if (const auto* const recall = std::get_if<protocol::Recall>(&body)) {
            say(n, {1, 0, protocol::Held{recall->version, recall->epoch, {}, {}}}, {});
        } else if (const auto* const forward = std::get_if<protocol::Forward>(&body)) {
            given_.emplace_back(n, *forward);
        } else if (const auto* const reduce = std::get_if<protocol::Reduce>(&body)) {
            protocol::Reduced reduced{};
            reduced.version = reduce->version;
            reduced.epoch = reduce->epoch;
            const auto& layout = coordinator_->context().layouts[0];
            reduced.sums_of_squares.assign(layout.tensors.size(), 1.0);
            reduced.counted_once = coordinator_->context().config.microbatches;
            say(n, {1, 0, reduced}, {});
        } else if (const auto* const commit = std::get_if<protocol::Commit>(&body)) {
            swarm::ParameterVersion next = commit->version;
            ++next.step;
            say(n, {1, 0, protocol::Applied{next, state_at(next.step)}}, {});
        }
    }

    void train(std::uint64_t n, const protocol::Forward& forward) {
        const protocol::SlotInfo* const info = coordinator_->context().roster.find_peer(peer(n));
        if (info != nullptr) {
            const protocol::Path path{
                forward.version, forward.microbatch, forward.attempt, {info->slot}, 1.0};
            say(n, {1, 0, path}, {});
        }
    }

    std::unique_ptr<swarm::coordinator::Coordinator> coordinator_;
    std::deque<node::Event> events_;
    std::map<std::uint64_t, Peer> peers_;
    std::vector<std::pair<std::uint64_t, protocol::Forward>> given_;  // work of honest members
    swarm::TimePoint now_{};
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::uint64_t first = data[0] % 2 == 0 ? kStranger : kFourth;
    Run run;
    const auto take = [&](std::uint8_t sender,
                          std::uint8_t payload_bytes,
                          std::uint16_t kind,
                          const protocol::Message& message) {
        node::Payload payload;
        if (protocol::carries_tensor(kind)) {
            payload = node::Payload(
                {protocol::Dtype::Float32, protocol::CodecId::None, {1, 1, 13}},
                std::vector<std::byte>(payload_bytes)
            );
        }
        run.say(first + sender % (kObserver - first + 1), message, std::move(payload));
        run.tick();
    };
    swarm::fuzz::for_each_message(data + 1, size - 1, take);
    const std::uint64_t said_at = run.step();
    for (swarm::Duration calm{}; run.step() < said_at + 2; calm += 100ms) {
        SWARM_ASSERT(calm < kCalmWithin);
        run.tick();
    }
    return 0;
}
