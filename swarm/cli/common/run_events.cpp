#include "swarm/cli/common/run_events.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace swarm::cli {
namespace {

/// In the order of the enumerators.
constexpr std::array<std::string_view, 14> kNames = {
    "kill",
    "freeze",
    "coordinator_kill",
    "cut",
    "drain",
    "leave",
    "join",
    "move",
    "fence",
    "stage_empty",
    "skip",
    "split",
    "share_lost",
    "diverge"};
static_assert(kNames.size() == static_cast<std::size_t>(RunEventKind::Diverge) + 1);

bool is_fault(RunEventKind kind) {
    return kind == RunEventKind::Kill || kind == RunEventKind::Freeze ||
           kind == RunEventKind::CoordinatorKill || kind == RunEventKind::Cut;
}

}  // namespace

std::string_view to_text(RunEventKind kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

std::optional<RunEventKind> parse_event_kind(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
        return std::nullopt;
    }
    return static_cast<RunEventKind>(found - kNames.begin());
}

void RunEvents::add_fault(RunEvent event) {
    open_faults_.push_back(events_.size());
    events_.push_back(std::move(event));
}

void RunEvents::committed(TimePoint now) {
    began_ = true;
    const bool alone = open_faults_.size() == 1;
    for (const std::size_t fault : std::exchange(open_faults_, {})) {
        events_[fault].cost = now - events_[fault].at;
        events_[fault].alone = alone;
    }
    if (const auto split = std::exchange(open_split_, std::nullopt)) {
        events_[*split].cost = now - events_[*split].at;
    }
}

void RunEvents::split(std::string layers, TimePoint now) {
    open_split_ = events_.size();
    events_.push_back({.kind = RunEventKind::Split, .at = now, .reason = std::move(layers)});
}

void RunEvents::skipped(std::string reason, TimePoint now) {
    committed(now);
    events_.push_back({.kind = RunEventKind::Skip, .at = now, .reason = std::move(reason)});
}

void RunEvents::lost(const node::ShareLost& share, TimePoint now) {
    lost_microbatches_ += share.microbatches;
    std::string what = std::to_string(share.microbatches) + " microbatches since the last exchange";
    events_.push_back({RunEventKind::ShareLost, now, share.peer, share.stage, std::move(what)});
}

void RunEvents::begin(RunEvent event) {
    event.is_open = true;
    events_.push_back(std::move(event));
}

void RunEvents::left(PeerId peer, TimePoint now) {
    RunEvent* const drain = newest(RunEventKind::Drain, peer);
    if (drain != nullptr && std::exchange(drain->is_open, false)) {
        drain->cost = now - drain->at;
    }
}

bool RunEvents::end(RunEventKind kind, const node::PeerChanged& changed, TimePoint now) {
    RunEvent* const event = newest(kind, changed.peer);
    if (event == nullptr || !std::exchange(event->is_open, false)) {
        return false;
    }
    event->cost = now - event->at;
    event->stage = changed.stage;
    return true;
}

void RunEvents::admitted(const node::PeerChanged& changed, TimePoint now) {
    const bool is_new = members_.insert(changed.peer).second;
    if (!is_new || !began_) {
        return;
    }
    ++joins_;
    if (end(RunEventKind::Move, changed, now) || end(RunEventKind::Join, changed, now)) {
        return;
    }
    const RunEvent* const fence = newest(RunEventKind::Fence, changed.peer);
    RunEvent join{RunEventKind::Join, now, changed.peer, changed.stage};
    if (fence != nullptr) {
        join.reason = "was fenced";
        join.cost = now - fence->at;
    }
    events_.push_back(std::move(join));
}

void RunEvents::changed(const node::PeerChanged& changed, TimePoint now) {
    const auto note = [&](RunEventKind kind) {
        events_.push_back({kind, now, changed.peer, changed.stage, changed.reason});
    };
    switch (changed.change) {
        case node::PeerChange::Admitted:
            admitted(changed, now);
            break;
        case node::PeerChange::Left:
            members_.erase(changed.peer);
            if (!end(RunEventKind::Drain, changed, now)) {
                note(RunEventKind::Leave);
            }
            break;
        case node::PeerChange::Moved:
            members_.erase(changed.peer);
            note(RunEventKind::Move);
            events_.back().is_open = true;
            break;
        case node::PeerChange::Fenced:
            members_.erase(changed.peer);
            note(RunEventKind::Fence);
            break;
        case node::PeerChange::StageEmpty:
            note(RunEventKind::StageEmpty);
            break;
        case node::PeerChange::Suspect:
        case node::PeerChange::Observing:
            break;  // the event is what follows from it
    }
}

std::size_t RunEvents::count(RunEventKind kind) const {
    return static_cast<std::size_t>(std::count_if(
        events_.begin(), events_.end(), [&](const RunEvent& event) { return event.kind == kind; }
    ));
}

std::vector<Duration> RunEvents::recoveries(Faults faults) const {
    std::vector<Duration> recoveries;
    for (const RunEvent& event : events_) {
        const bool counts = faults == Faults::All || event.alone;
        if (is_fault(event.kind) && event.cost && counts) {
            recoveries.push_back(*event.cost);
        }
    }
    return recoveries;
}

std::size_t RunEvents::count(RunEventKind kind, PeerId peer) const {
    return static_cast<std::size_t>(std::count_if(
        events_.begin(),
        events_.end(),
        [&](const RunEvent& event) { return event.kind == kind && event.peer == peer; }
    ));
}

RunEvent* RunEvents::newest(RunEventKind kind, PeerId peer) {
    const auto found = std::find_if(events_.rbegin(), events_.rend(), [&](const RunEvent& event) {
        return event.kind == kind && event.peer == peer;
    });
    return found == events_.rend() ? nullptr : &*found;
}

}  // namespace swarm::cli
