#include "swarm/coordinator/failure_detector.hpp"

#include <algorithm>

namespace swarm::coordinator {

void FailureDetector::watch(PeerId peer, TimePoint now) {
    Watch& watch = watches_[peer];
    watch.link_lost_at.reset();
    watch.suspected = false;
    watch.heard_at = now;
    schedule(peer, watch);
}

void FailureDetector::forget(PeerId peer) {
    const auto found = watches_.find(peer);
    if (found != watches_.end()) {
        schedule_.erase({found->second.scheduled_at, peer});
        watches_.erase(found);
    }
}

void FailureDetector::heard(PeerId peer, TimePoint now) {
    const auto found = watches_.find(peer);
    if (found != watches_.end()) {
        found->second.heard_at = now;
        found->second.suspected = false;
        schedule(peer, found->second);
    }
}

void FailureDetector::link_lost(PeerId peer, TimePoint now) {
    const auto found = watches_.find(peer);
    if (found != watches_.end()) {
        found->second.link_lost_at = now;
        schedule(peer, found->second);
    }
}

void FailureDetector::link_restored(PeerId peer, TimePoint now) {
    if (watches_.contains(peer)) {
        watch(peer, now);
    }
}

std::vector<FailureDetector::Finding> FailureDetector::judge(TimePoint now) {
    std::vector<Finding> findings;
    if (next_deadline() < now - timing_.stalled_when_late_by) {
        pardon_all(now);
    }
    while (next_deadline() <= now) {
        const PeerId peer = schedule_.begin()->second;
        Watch& watch = watches_.at(peer);
        if (dead_at(watch) <= now) {
            forget(peer);
            findings.push_back({peer, Verdict::Dead});
        } else {
            watch.suspected = true;
            schedule(peer, watch);
            findings.push_back({peer, Verdict::Suspect});
        }
    }
    return findings;
}

TimePoint FailureDetector::next_deadline() const {
    return schedule_.empty() ? kNever : schedule_.begin()->first;
}

TimePoint FailureDetector::dead_at(const Watch& watch) const {
    const TimePoint by_silence = watch.heard_at + timing_.dead_after;
    return watch.link_lost_at
               ? std::min(by_silence, *watch.link_lost_at + timing_.restore_link_within)
               : by_silence;
}

void FailureDetector::schedule(PeerId peer, Watch& watch) {
    schedule_.erase({watch.scheduled_at, peer});
    watch.scheduled_at = dead_at(watch);
    if (!watch.suspected) {
        watch.scheduled_at = std::min(watch.scheduled_at, watch.heard_at + timing_.suspect_after);
    }
    schedule_.insert({watch.scheduled_at, peer});
}

void FailureDetector::pardon_all(TimePoint now) {
    for (auto& [peer, watch] : watches_) {
        watch.heard_at = now;
        if (watch.link_lost_at) {
            watch.link_lost_at = now;
        }
        schedule(peer, watch);
    }
}

}  // namespace swarm::coordinator
