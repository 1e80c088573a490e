#include "swarm/cli/local/chaos.hpp"

#include <algorithm>

namespace swarm::cli {

void Chaos::started(PeerId peer) {
    peers_[peer] = {true, false, std::nullopt, 0};
}

void Chaos::ended(PeerId peer) {
    peers_[peer] = {};
}

void Chaos::frozen(PeerId peer) {
    peers_[peer].frozen = true;
    peers_[peer].commits_until_trusted = kCommitsUntilTrusted;
}

void Chaos::thawed(PeerId peer) {
    peers_[peer].frozen = false;
    peers_[peer].commits_until_trusted = kCommitsUntilTrusted;
}

void Chaos::coordinator_ended() {
    for (auto& [id, peer] : peers_) {
        peer.member_of.reset();
        peer.commits_until_trusted = kCommitsUntilTrusted;
    }
}

void Chaos::on(const node::PeerChanged& changed) {
    Peer& peer = peers_[changed.peer];
    switch (changed.change) {
        case node::PeerChange::Admitted:
            if (peer.running) {
                peer.member_of = changed.stage;
            }
            break;
        case node::PeerChange::Suspect:
        case node::PeerChange::StageEmpty:
            peer.commits_until_trusted = kCommitsUntilTrusted;
            break;
        case node::PeerChange::Fenced:
        case node::PeerChange::Left:
        case node::PeerChange::Moved:
        case node::PeerChange::Observing:
            peer.member_of.reset();
            break;
    }
}

void Chaos::on(const node::StepCommitted&) {
    ++commits_;
    for (auto& [id, peer] : peers_) {
        if (peer.commits_until_trusted > 0 && !peer.frozen) {
            --peer.commits_until_trusted;
        }
    }
}

bool Chaos::may_disturb(PeerId peer) const {
    const auto found = peers_.find(peer);
    if (commits_ == 0 || found == peers_.end() || !found->second.is_safe()) {
        return false;
    }
    return std::any_of(peers_.begin(), peers_.end(), [&](const auto& other) {
        return other.first != peer && other.second.is_safe() &&
               other.second.member_of == found->second.member_of;
    });
}

std::optional<PeerId> Chaos::pick() {
    std::vector<PeerId> candidates;
    for (const auto& [id, peer] : peers_) {
        if (may_disturb(id)) {
            candidates.push_back(id);
        }
    }
    if (candidates.empty()) {
        return std::nullopt;
    }
    return candidates[rng_.below(candidates.size())];
}

Duration Chaos::draw(Duration shortest, Duration longest) {
    using std::chrono::milliseconds;
    const auto span = std::chrono::duration_cast<milliseconds>(longest - shortest).count();
    return shortest + milliseconds(rng_.below(static_cast<std::uint64_t>(span) + 1));
}

}  // namespace swarm::cli
