// A role whose turns a test writes as it goes: the role does what it was told before, and writes
// down the events that it hears. Also a small world of such roles for the tests of sim.
#pragma once

#include "sim/world.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sim::test {

inline constexpr PeerId kAnna = peer(1);
inline constexpr PeerId kBert = peer(2);

/// One line of a diary, such as "3 ms LinkUp 2": milliseconds of virtual time, kind, peer or
/// number.
struct Line {
    TimePoint at;
    std::string text;
};

struct Diary {
    std::vector<Line> lines;
    std::vector<swarm::Incarnation> told;   // one per start of the process
    std::vector<swarm::Incarnation> heard;  // incarnations of others, with LinkUp

    [[nodiscard]] std::vector<std::string> texts() const;
    [[nodiscard]] std::size_t count(const std::string& text) const;
    /// Returns when the text was first heard; kNever if it was not.
    [[nodiscard]] TimePoint when(const std::string& text) const;
};

/// "LinkUp 2", "LinkDown 2", "DialFailed 2", "Received 2 #0 4096" (number, payload bytes),
/// "Computed 7", "Stored 3", "Loaded [a] [b]", "Woke", "Asked 0", "Stop"; bulk links say "bulk"
/// after the peer.
std::string describe(const node::Event& event);

/// Does what `orders` holds for an event, once per entry, and wakes at once at its start.
class Recorder final : public node::Role {
 public:
    using Orders = std::multimap<std::string, node::Action>;

    Recorder(Orders orders, std::shared_ptr<Diary> diary)
        : orders_(std::move(orders)), diary_(std::move(diary)) {}

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;

    [[nodiscard]] TimePoint next_deadline() const override { return due_; }

 private:
    Orders orders_;
    std::shared_ptr<Diary> diary_;
    TimePoint due_ = swarm::kAtOnce;
};

/// Adds a Recorder to the world; its orders are renewed with each start of the process.
std::shared_ptr<Diary> add_recorder(
    World& world, PeerId self, const Recorder::Orders& orders, const PeerOptions& options = {}
);

node::Send message(PeerId to, std::uint64_t number);
node::Send tensor(PeerId to, std::uint64_t number, std::size_t bytes);
node::Compute job(std::uint64_t id, double work_units);

}  // namespace sim::test
