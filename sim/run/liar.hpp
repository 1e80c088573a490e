// A peer that lies: it may send any message of the schema, valid in form, from any standing. With
// an honest role inside it joins, observes, computes and donates like that role, but withholds,
// delays and changes its messages; without one it is a stranger. It also repeats and changes
// messages that it heard, invents some of each kind, speaks to peers like their coordinator, and
// hangs up. Each liar has a kind of message that it invents most, and some have a kind that they
// never send; lies often follow at once on a word of the coordinator, while its names are current.
// Invariant: a function of (seed, events). Its work for others is honest: sums, activations, tokens
// and losses that are wrong and finite are not promised to be found (README).
// Threading: that of its host.
#pragma once

#include "sim/peer.hpp"
#include "sim/run/liar_words.hpp"
#include "swarm/node/role.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sim {

namespace node = swarm::node;

enum class Lie : std::uint8_t {
    Withheld,
    Delayed,
    Changed,
    Replayed,
    ReplayChanged,
    Invented,
    HungUp
};

inline constexpr std::size_t kLies = 7;

const char* name_of(Lie lie);

/// The lies of all liars of a run.
struct LieCounts {
    std::array<std::uint64_t, kLies> by_lie{};
    std::array<std::uint64_t, swarm::protocol::kMessageKinds> by_message{};  // by place in Body
    std::uint64_t spared = 0;  // turns without a lie, because half of a stage would have lied

    void add(const LieCounts& other);
};

class Liar : public node::Role {
 public:
    /// Kinds of messages, by their place in Body. Without a value a liar draws them.
    struct Bent {
        std::optional<std::size_t> invents{};    // the kind that it invents and changes most
        std::optional<std::size_t> withholds{};  // the kind that it never sends
    };

    struct Options {
        PeerId self;
        PeerId coordinator;
        std::uint64_t seed = 0;
        std::vector<PeerId> victims;  // peers that a liar without an honest role dials
        /// False while the liar is a member whose honest replicas are not more than the liars.
        std::function<bool()> may_lie;
        std::shared_ptr<LieCounts> counts;
        Bent bent{};
    };

    /// `honest` is null for a stranger.
    Liar(Options options, std::unique_ptr<node::Role> honest);

    void on(const node::Event& event, swarm::TimePoint now, node::Outbox& out) override;
    [[nodiscard]] swarm::TimePoint next_deadline() const override;

 private:
    using Body = swarm::protocol::Body;

    struct Seen {
        PeerId other;
        Body body;
        node::Payload payload;
        bool own = false;  // this peer's own message
    };

    struct Late {
        swarm::TimePoint due;
        node::Send send;
    };

    struct Habit {
        std::size_t kind = 0;
        swarm::TimePoint until{};
    };

    void note(const node::Event& event);
    void remember(Seen seen);
    void pass_on(node::Action&& action, node::Turn turn);
    void pass_on(node::Send&& send, node::Turn turn);
    void tell_lie(node::Turn turn);
    void invent(PeerId to, std::size_t kind, Names names, node::Turn turn);
    void meet(PeerId victim, node::Turn turn);
    void say(PeerId to, Body body, node::Payload payload, Lie lie, node::Turn turn);
    [[nodiscard]] std::optional<PeerId> pick_victim();
    bool change_own(Body& body);
    [[nodiscard]] bool withholds(const Body& body, swarm::TimePoint now);
    [[nodiscard]] std::size_t draw_kind();
    [[nodiscard]] bool is_wrong_work(const Body& body) const;
    [[nodiscard]] bool is_own(const std::vector<swarm::SlotId>& path) const;
    void count(Lie lie, const Body& body);
    [[nodiscard]] swarm::Duration up_to(swarm::Duration most);

    Options options_;
    std::unique_ptr<node::Role> honest_;
    swarm::Rng rng_;
    LiarWords words_;
    std::set<swarm::SlotId> own_slots_;
    bool is_listed_ = false;
    std::vector<Seen> seen_;
    std::size_t next_seen_ = 0;
    std::set<std::pair<PeerId, node::Lane>> links_;
    std::set<std::pair<PeerId, node::Lane>> dialing_;
    std::deque<Late> late_;
    Habit habit_;
    Bent bent_;
    std::uint64_t changes_in_1024_ = 0;
    swarm::Duration between_lies_{};
    bool started_ = false;
    swarm::TimePoint honest_until_{};
    swarm::TimePoint next_lie_ = swarm::kAtOnce;
};

}  // namespace sim
