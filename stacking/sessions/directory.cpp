#include "stacking/sessions/directory.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <tuple>

namespace stacking::sessions {

void Directory::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    if (const auto* down = std::get_if<node::LinkDown>(&event)) {
        if (down->lane == node::Lane::Control) {
            forget(down->peer);
        }
    } else if (const auto* received = std::get_if<node::Received>(&event)) {
        const protocol::Body& body = received->message.body;
        if (const auto* registration = std::get_if<protocol::Register>(&body)) {
            take(received->peer, *registration, turn);
        } else if (const auto* locate = std::get_if<protocol::Locate>(&body)) {
            take(received->peer, *locate, turn);
        }
    } else if (std::holds_alternative<node::Woke>(event)) {
        for (auto& [model, entries] : models_) {
            std::erase_if(entries, [&](const auto& item) {
                return item.second.heard + kSilentMax <= now;
            });
        }
        std::erase_if(models_, [](const auto& item) { return item.second.empty(); });
    }
    ended_ = ended_ || std::holds_alternative<node::Stop>(event);
}

TimePoint Directory::next_deadline() const {
    TimePoint due = swarm::kNever;
    for (const auto& [model, entries] : models_) {
        for (const auto& [peer, entry] : entries) {
            due = std::min(due, entry.heard + kSilentMax);
        }
    }
    return ended_ ? swarm::kNever : due;
}

std::size_t Directory::listed() const {
    std::size_t count = 0;
    for (const auto& [model, entries] : models_) {
        count += entries.size();
    }
    return count;
}

void Directory::forget(PeerId peer) {
    for (auto& [model, entries] : models_) {
        entries.erase(peer);
    }
    std::erase_if(models_, [](const auto& item) { return item.second.empty(); });
}

std::string Directory::refusal(PeerId from, const protocol::Register& registration) const {
    const auto model = models_.find(registration.model);
    if (model == models_.end()) {
        return models_.size() < protocol::kModelsMax ? "" : "too many models are listed here";
    }
    if (!model->second.contains(from) && model->second.size() >= protocol::kHostsMax) {
        return "too many peers serve this model already";
    }
    for (const auto& [peer, entry] : model->second) {
        const protocol::Register& other = entry.registration;
        if (peer == from) {
            continue;
        }
        if (other.layers != registration.layers) {
            return "the model has another number of layers here; is it the same file?";
        }
        if (other.hosted == registration.hosted && other.weights != registration.weights) {
            return "other weights than the peers that serve these layers; fetch the model again";
        }
    }
    return "";
}

void Directory::take(PeerId from, const protocol::Register& registration, node::Turn turn) {
    std::string why = refusal(from, registration);
    if (why.empty()) {
        const auto listed = models_.find(registration.model);
        if (listed == models_.end() || !listed->second.contains(from)) {
            forget(from);  // it serves another model now
        }
        models_[registration.model][from] = {registration, turn.now};
    }
    send(from, protocol::Registered{std::move(why)}, turn);
}

void Directory::take(PeerId from, const protocol::Locate& locate, node::Turn turn) const {
    protocol::Located located;
    located.model = locate.model;
    const auto model = models_.find(locate.model);
    if (model != models_.end()) {
        for (const auto& [peer, entry] : model->second) {
            located.layers = entry.registration.layers;
            located.hosts.push_back({peer, entry.registration.hosted, entry.registration.address});
        }
    }
    std::ranges::sort(located.hosts, {}, [](const protocol::HostInfo& host) {
        return std::tuple(host.hosted, host.peer);
    });
    send(from, std::move(located), turn);
}

}  // namespace stacking::sessions
