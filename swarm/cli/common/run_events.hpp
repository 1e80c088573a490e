// The events of a run in order, and the cost of each: `events` in --json.
// The cost of a fault (kill, freeze, coordinator_kill, cut) and of a split is the time until the
// next commit; the cost of a drain is the time until the peer has left; the cost of a join or a
// move is the time until the coordinator has admitted the peer, since the start of its process or
// since it was fenced. An event whose begin or end nobody has seen has no cost.
// Invariant: a fault is `alone` when no other fault lies between it and its commit.
// Threading: one thread. Times are of the caller's clock, on one scale. Memory: O(events).
#pragma once

#include "swarm/node/report.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swarm::cli {

enum class RunEventKind : std::uint8_t {
    Kill,
    Freeze,
    CoordinatorKill,
    Cut,
    Drain,
    Leave,
    Join,
    Move,
    Fence,
    StageEmpty,
    Skip,
    Split,
    ShareLost,
    Diverge,
};

/// Returns the name of the kind in --json: "coordinator_kill".
std::string_view to_text(RunEventKind kind);
/// nullopt: no kind has this name.
std::optional<RunEventKind> parse_event_kind(std::string_view name);

struct RunEvent {
    RunEventKind kind;
    TimePoint at;
    std::optional<PeerId> peer{};  // none: the coordinator, or a connection
    std::optional<StageIndex> stage{};
    std::string reason{};
    std::optional<Duration> length{};  // duration of a freeze
    std::optional<Duration> cost{};
    bool alone = false;
    bool is_open = false;  // a drain, join or move that has not ended
};

class RunEvents {
 public:
    // The starter of the processes calls these five for what it does to them.
    void kill(PeerId peer, TimePoint now) {
        members_.erase(peer);
        add_fault({RunEventKind::Kill, now, peer});
    }

    void freeze(PeerId peer, TimePoint now, Duration length) {
        add_fault({.kind = RunEventKind::Freeze, .at = now, .peer = peer, .length = length});
    }

    void kill_coordinator(TimePoint now) { add_fault({RunEventKind::CoordinatorKill, now}); }

    /// A connection between two processes was cut.
    void cut(TimePoint now) { add_fault({RunEventKind::Cut, now}); }

    void drain(PeerId peer, TimePoint now) { begin({RunEventKind::Drain, now, peer}); }

    /// The drained process has ended, whether or not the coordinator could report it.
    void left(PeerId peer, TimePoint now);

    /// A process joins while the run goes on: for the first time, or again after its end.
    void start(PeerId peer, TimePoint now) { begin({RunEventKind::Join, now, peer}); }

    // The rest are reports of the coordinator. Before the first commit peers gather; that is no
    // event.
    void committed(TimePoint now);
    /// A skipped step is a commit, too: it ends the cost of faults.
    void skipped(std::string reason, TimePoint now);
    void changed(const node::PeerChanged& changed, TimePoint now);
    /// A replica of mode sparse was lost with its share.
    void lost(const node::ShareLost& share, TimePoint now);
    /// The loss rises (run::LossWatch).
    void diverged(std::string how, TimePoint now) {
        events_.push_back({.kind = RunEventKind::Diverge, .at = now, .reason = std::move(how)});
    }

    /// The stages get other layers.
    void split(std::string layers, TimePoint now);

    [[nodiscard]] const std::vector<RunEvent>& all() const { return events_; }

    [[nodiscard]] std::size_t count(RunEventKind kind) const;
    [[nodiscard]] std::size_t count(RunEventKind kind, PeerId peer) const;

    /// Number of entries of a peer into a stage after the first commit. Members that a resumed
    /// coordinator meets again do not count.
    [[nodiscard]] std::size_t joins() const { return joins_; }

    /// Microbatches on which lost replicas of mode sparse had trained without sharing the result.
    [[nodiscard]] std::uint64_t lost_microbatches() const { return lost_microbatches_; }

    enum class Faults : std::uint8_t { All, Alone };

    /// Times from each fault to the next commit: of all faults, or of those that are alone.
    [[nodiscard]] std::vector<Duration> recoveries(Faults faults) const;

 private:
    void add_fault(RunEvent event);
    void begin(RunEvent event);
    /// False: no such event is open.
    bool end(RunEventKind kind, const node::PeerChanged& changed, TimePoint now);
    /// The newest event of that kind and peer; null: none.
    RunEvent* newest(RunEventKind kind, PeerId peer);
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
