#include "tests/bench/world.hpp"

#include "sim/peer.hpp"
#include "sim/timed_queue.hpp"
#include "sim/world.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace swarm::bench {
namespace {

using namespace std::chrono_literals;
using WallClock = std::chrono::steady_clock;

constexpr std::size_t kNeighbours = 4;
constexpr Duration kBeat = 100ms;
constexpr Duration kPart = 5s;  // virtual time between looks at the clock
constexpr auto kPatience = 2s;

double seconds_since(WallClock::time_point begin) {
    return std::chrono::duration<double>(WallClock::now() - begin).count();
}

class Beater final : public node::Role {
 public:
    explicit Beater(std::vector<PeerId> neighbours) : neighbours_(std::move(neighbours)) {}

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override {
        if (const auto* received = std::get_if<node::Received>(&event)) {
            if (std::holds_alternative<protocol::Heartbeat>(received->message.body)) {
                out.add(node::Send{received->peer, {0, 0, protocol::HeartbeatReply{}}, {}});
            }
        } else if (std::holds_alternative<node::Woke>(event)) {
            due_ = now + kBeat;
            for (const PeerId& neighbour : neighbours_) {
                beat(neighbour, out);
            }
            is_started_ = true;
        }
    }

    [[nodiscard]] TimePoint next_deadline() const override { return due_; }

 private:
    void beat(const PeerId& neighbour, node::Outbox& out) const {
        if (is_started_) {
            out.add(node::Send{neighbour, {0, 0, protocol::Heartbeat{}}, {}});
        } else {
            out.add(node::Dial{neighbour, protocol::Lane::Control, {}});
        }
    }

    std::vector<PeerId> neighbours_;
    TimePoint due_ = kAtOnce;
    bool is_started_ = false;
};

// The peers at distances 1, 2, 4 and 8 in a ring, so that no two dial each other.
std::vector<PeerId> neighbours_of(std::size_t index, std::size_t peers) {
    std::vector<PeerId> neighbours;
    for (std::size_t i = 0; i < kNeighbours; ++i) {
        neighbours.push_back(sim::peer(1 + (index + (std::size_t{1} << i)) % peers));
    }
    return neighbours;
}

double measure_heap_loop(std::size_t pending) {
    sim::TimedQueue<sim::Item> queue;
    Rng rng(1, 1);
    const auto draw = [&] { return Duration(rng.below(Duration(kBeat).count())); };
    for (std::size_t i = 0; i < pending; ++i) {
        queue.push(TimePoint(draw()), {});
    }
    constexpr std::size_t kRounds = 2'000'000;
    const WallClock::time_point begin = WallClock::now();
    for (std::size_t i = 0; i < kRounds; ++i) {
        const TimePoint now = queue.next_time();
        queue.push(now + draw(), queue.pop());
    }
    return static_cast<double>(kRounds) / seconds_since(begin);
}

}  // namespace

WorldFigures measure_world(std::size_t peers) {
    sim::World world(sim::World::Options{});
    for (std::size_t i = 0; i < peers; ++i) {
        world.add_peer(sim::peer(1 + i), [=](Incarnation) {
            return std::make_unique<Beater>(neighbours_of(i, peers));
        });
    }
    world.run_for(1s);
    const std::uint64_t before = world.events();
    const WallClock::time_point begin = WallClock::now();
    do {
        world.run_for(kPart);
    } while (seconds_since(begin) < std::chrono::duration<double>(kPatience).count());
    WorldFigures figures;
    figures.peers = peers;
    figures.events = world.events() - before;
    figures.events_per_s = static_cast<double>(figures.events) / seconds_since(begin);
    figures.heap_loop_per_s = measure_heap_loop(world.pending());
    figures.ratio = figures.events_per_s / figures.heap_loop_per_s;
    figures.trace_hash = world.trace_hash();
    return figures;
}

}  // namespace swarm::bench
