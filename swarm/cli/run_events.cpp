#include "swarm/cli/run_events.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace swarm::cli {

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
    events_.push_back({.kind = "split", .at = now, .reason = std::move(layers)});
}

void RunEvents::skipped(std::string reason, TimePoint now) {
    committed(now);
    events_.push_back({.kind = "skip", .at = now, .reason = std::move(reason)});
}

void RunEvents::lost(const node::ShareLost& share, TimePoint now) {
    lost_microbatches_ += share.microbatches;
    std::string what = std::to_string(share.microbatches) + " microbatches since the last exchange";
    events_.push_back({"share_lost", now, share.peer, share.stage, std::move(what)});
}

void RunEvents::begin(RunEvent event) {
    event.is_open = true;
    events_.push_back(std::move(event));
}

void RunEvents::left(PeerId peer, TimePoint now) {
    RunEvent* const drain = newest("drain", peer);
    if (drain != nullptr && std::exchange(drain->is_open, false)) {
        drain->cost = now - drain->at;
    }
}

bool RunEvents::end(std::string_view kind, const node::PeerChanged& changed, TimePoint now) {
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
    if (end("move", changed, now) || end("join", changed, now)) {
        return;
    }
    const RunEvent* const fence = newest("fence", changed.peer);
    RunEvent join{"join", now, changed.peer, changed.stage};
    if (fence != nullptr) {
        join.reason = "was fenced";
        join.cost = now - fence->at;
    }
    events_.push_back(std::move(join));
}

void RunEvents::changed(const node::PeerChanged& changed, TimePoint now) {
    const RunEvent event{"", now, changed.peer, changed.stage, changed.reason};
    const auto note = [&](const char* kind) {
        events_.push_back(event);
        events_.back().kind = kind;
    };
    switch (changed.change) {
        case node::PeerChange::Admitted:
            admitted(changed, now);
            break;
        case node::PeerChange::Left:
            members_.erase(changed.peer);
            if (!end("drain", changed, now)) {
                note("leave");
            }
            break;
        case node::PeerChange::Moved:
            members_.erase(changed.peer);
            note("move");
            events_.back().is_open = true;
            break;
        case node::PeerChange::Fenced:
            members_.erase(changed.peer);
            note("fence");
            break;
        case node::PeerChange::StageEmpty:
            note("stage_empty");
            break;
        case node::PeerChange::Suspect:
        case node::PeerChange::Observing:
            break;  // what follows is the event
    }
}

std::size_t RunEvents::count(std::string_view kind) const {
    return static_cast<std::size_t>(std::count_if(
        events_.begin(), events_.end(), [&](const RunEvent& event) { return event.kind == kind; }
    ));
}

std::vector<Duration> RunEvents::recoveries(bool alone) const {
    static constexpr std::string_view kFaults[] = {"kill", "freeze", "coordinator_kill", "cut"};
    std::vector<Duration> recoveries;
    for (const RunEvent& event : events_) {
        const bool is_fault =
            std::find(std::begin(kFaults), std::end(kFaults), event.kind) != std::end(kFaults);
        if (is_fault && event.cost && (event.alone || !alone)) {
            recoveries.push_back(*event.cost);
        }
    }
    return recoveries;
}

std::size_t RunEvents::count(std::string_view kind, PeerId peer) const {
    return static_cast<std::size_t>(std::count_if(
        events_.begin(),
        events_.end(),
        [&](const RunEvent& event) { return event.kind == kind && event.peer == peer; }
    ));
}

RunEvent* RunEvents::newest(std::string_view kind, PeerId peer) {
    const auto found = std::find_if(events_.rbegin(), events_.rend(), [&](const RunEvent& event) {
        return event.kind == kind && event.peer == peer;
    });
    return found == events_.rend() ? nullptr : &*found;
}

}  // namespace swarm::cli
