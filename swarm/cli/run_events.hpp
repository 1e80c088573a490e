// What befell a run, in order, and what each event cost: `events` in --json.
// A fault (kill, freeze, coordinator_kill, cut) and a split cost the time to the next commit; a
// drain until the peer has left; a join or a move until the coordinator has admitted the peer,
// since its process was started, or it was fenced. What nobody has seen begin or end has no cost.
// Invariant: a fault is `alone` when no other fault lies between it and its commit.
// Threading: one thread. Times are of the caller's clock, on one scale. Memory: O(events).
#pragma once

#include "swarm/node/report.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

struct RunEvent {
    // kill freeze coordinator_kill cut drain leave join move fence stage_empty skip split
    // share_lost
    const char* kind;
    TimePoint at;
    std::optional<PeerId> peer{};  // none: the coordinator, or a connection
    std::optional<StageIndex> stage{};
    std::string reason{};
    std::optional<Duration> length{};  // of a freeze
    std::optional<Duration> cost{};
    bool alone = false;
    bool is_open = false;  // a drain, join or move that has not ended
};

class RunEvents {
 public:
    // What a starter does to its processes.
    void kill(PeerId peer, TimePoint now) {
        members_.erase(peer);
        add_fault({"kill", now, peer});
    }

    void freeze(PeerId peer, TimePoint now, Duration length) {
        add_fault({.kind = "freeze", .at = now, .peer = peer, .length = length});
    }

    void kill_coordinator(TimePoint now) { add_fault({"coordinator_kill", now}); }

    /// A connection between any two.
    void cut(TimePoint now) { add_fault({"cut", now}); }

    void drain(PeerId peer, TimePoint now) { begin({"drain", now, peer}); }

    /// The drained process has ended, whether or not the coordinator could say so.
    void left(PeerId peer, TimePoint now);

    /// A process that joins while the run goes on: its first start, or one after its end.
    void start(PeerId peer, TimePoint now) { begin({"join", now, peer}); }

    // What the coordinator says. Before the first commit peers gather; that is no event.
    void committed(TimePoint now);
    /// A commit, too: it ends what faults cost.
    void skipped(std::string reason, TimePoint now);
    void changed(const node::PeerChanged& changed, TimePoint now);
    /// With a replica of mode sparse.
    void lost(const node::ShareLost& share, TimePoint now);
    /// The stages get other layers.
    void split(std::string layers, TimePoint now);

    [[nodiscard]] const std::vector<RunEvent>& all() const { return events_; }

    [[nodiscard]] std::size_t count(std::string_view kind) const;
    [[nodiscard]] std::size_t count(std::string_view kind, PeerId peer) const;

    /// Entries of a peer into a stage after the first commit. Members that a resumed coordinator
    /// meets again are none.
    [[nodiscard]] std::size_t joins() const { return joins_; }

    /// That lost replicas of mode sparse had trained on and not shared.
    [[nodiscard]] std::uint64_t lost_microbatches() const { return lost_microbatches_; }

    /// From each fault to the next commit; `alone`: without those that others overlap.
    [[nodiscard]] std::vector<Duration> recoveries(bool alone) const;

 private:
    void add_fault(RunEvent event);
    void begin(RunEvent event);
    /// False: no such event is open.
    bool end(std::string_view kind, const node::PeerChanged& changed, TimePoint now);
    /// The newest of that kind and peer; null: none.
    RunEvent* newest(std::string_view kind, PeerId peer);
    void admitted(const node::PeerChanged& changed, TimePoint now);

    std::vector<RunEvent> events_;
    std::vector<std::size_t> open_faults_;
    std::optional<std::size_t> open_split_;
    std::set<PeerId> members_;
    std::size_t joins_ = 0;
    std::uint64_t lost_microbatches_ = 0;
    bool began_ = false;
};

}  // namespace swarm::cli
