#include "stacking/sessions/directory.hpp"

#include "stacking/expert_set.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stacking::sessions {

void Directory::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    if (const auto* up = std::get_if<node::LinkUp>(&event)) {
        if (up->lane == node::Lane::Control) {
            budget_.linked(up->peer, up->network);
        }
    } else if (const auto* down = std::get_if<node::LinkDown>(&event)) {
        if (down->lane == node::Lane::Control) {
            remove(down->peer, turn);
            budget_.lost(down->peer);
        }
    } else if (const auto* received = std::get_if<node::Received>(&event)) {
        const auto give = [&](const auto& body) {
            using Body = std::decay_t<decltype(body)>;
            if constexpr (requires { take(received->peer, body, turn); }) {
                if (budget_.take(received->peer, now)) {
                    take(received->peer, body, turn);
                }
            } else if constexpr (std::is_same_v<Body, protocol::Join>) {
                const auto here = protocol::HubKind::Directory;
                send(received->peer, protocol::Misdirected{here}, turn);
            }
        };
        std::visit(give, received->message.body);
    } else if (std::holds_alternative<node::Woke>(event)) {
        expire(turn);
    }
    ended_ = ended_ || std::holds_alternative<node::Stop>(event);
}

TimePoint Directory::next_deadline() const {
    TimePoint due = swarm::kNever;
    for (const auto& [model, hosts] : table_.models()) {
        for (const auto& [peer, host] : hosts) {
            due = std::min(due, host.heard + kSilentMax);
        }
    }
    return ended_ ? swarm::kNever : due;
}

node::Allowance Directory::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    return node::Allowance::without_tensors(
        table_.contains(peer) ? Acquaintance::Guest : Acquaintance::Stranger
    );
}

std::size_t Directory::listed() const {
    std::size_t count = 0;
    for (const auto& [model, hosts] : table_.models()) {
        for (const auto& [peer, host] : hosts) {
            count += host.registration ? 1 : 0;
        }
    }
    return count;
}

void Directory::remove(PeerId peer, node::Turn turn) {
    if (const ListedHost* const found = table_.find(peer)) {
        const ListedHost host = *found;
        table_.remove(peer);
        tell(peer, host, false, turn);
    }
}

void Directory::remove_all(const std::vector<PeerId>& peers, node::Turn turn) {
    for (const PeerId peer : peers) {
        remove(peer, turn);
    }
}

void Directory::expire(node::Turn turn) {
    std::vector<PeerId> silent;
    for (const auto& [model, hosts] : table_.models()) {
        for (const auto& [peer, host] : hosts) {
            if (host.heard + kSilentMax <= turn.now) {
                silent.push_back(peer);
            }
        }
    }
    remove_all(silent, turn);
}

void Directory::tell(PeerId peer, const ListedHost& host, bool listed, node::Turn turn) const {
    if (!host.registration) {
        return;  // the peer was never listed
    }
    const auto same = [&](const auto& item) { return item.second.is_replica_of(host); };
    const auto& [digest, layers] = host.model;
    const auto hosts =
        static_cast<std::size_t>(std::ranges::count_if(table_.hosts_of(host.model), same));
    const protocol::Register& said = *host.registration;
    node::HostListed told{peer, digest, host.hosted, listed, hosts, said.weights};
    if (said.experts_only) {
        told.experts = ExpertSet::of_words(said.experts).list();
    }
    turn.out.add(node::Tell{std::move(told)});
}

void Directory::take(PeerId from, const protocol::HostOffer& offer, node::Turn turn) {
    const ModelName model{offer.model, offer.layers};
    const std::uint64_t network = budget_.network_of(from);
    auto admission = table_.admit(from, model, network);
    if (!admission.refusal.empty()) {
        return send(from, protocol::Registered{std::move(admission.refusal)}, turn);
    }
    remove_all(admission.losers, turn);
    if (const ListedHost* const here = table_.find(from);
        here != nullptr && (here->model != model || here->registration)) {
        remove(from, turn);
        budget_.charge(from, protocol::kRequestsPerChange);
    }
    auto [split, place] = table_.place_of(from, model, network, offer.split);
    ListedHost& host = table_.add(from, model, network);
    host.hosted = place;
    host.split = std::move(split);
    host.heard = turn.now;
    send(from, protocol::HostPlace{offer.model, place}, turn);
}

void Directory::take(PeerId from, const protocol::Register& registration, node::Turn turn) {
    const ModelName model{registration.model, registration.layers};
    const std::uint64_t network = budget_.network_of(from);
    const auto admission = table_.admit(from, model, network);
    send(from, protocol::Registered{admission.refusal}, turn);
    if (!admission.refusal.empty()) {
        return;
    }
    remove_all(admission.losers, turn);
    ListedHost changed;
    changed.hosted = registration.hosted;
    changed.registration = registration;
    const ListedHost* const here = table_.find(from);
    const bool was_listed = here != nullptr && here->registration;
    const bool known = was_listed && here->model == model && here->is_replica_of(changed);
    if (was_listed && !known) {
        remove(from, turn);
        budget_.charge(from, protocol::kRequestsPerChange);
    }
    ListedHost& host = table_.add(from, model, network);
    if (host.hosted != registration.hosted) {
        host.split.clear();  // the peer did not take the place that it was given
    }
    host.hosted = registration.hosted;
    host.heard = turn.now;
    host.registration = registration;
    if (!known) {
        tell(from, host, true, turn);
    }
}

void Directory::take(PeerId from, const protocol::Locate& locate, node::Turn turn) {
    const ModelName model = locate.layers > 0 ? ModelName{locate.model, locate.layers}
                                              : table_.most_served(locate.model);
    protocol::Located located;
    located.model = locate.model;
    for (const auto& [peer, host] : table_.hosts_of(model)) {
        if (host.registration) {
            const protocol::Register& said = *host.registration;
            located.layers = model.second;
            located.hosts.push_back(
                {peer,
                 host.hosted,
                 said.address,
                 said.rates,
                 said.weights,
                 said.experts,
                 said.experts_only}
            );
        }
    }
    budget_.charge(from, static_cast<double>(located.hosts.size() / protocol::kHostsPerRequest));
    std::ranges::sort(located.hosts, {}, [](const protocol::HostInfo& host) {
        return std::tuple(host.hosted, host.peer);
    });
    send(from, std::move(located), turn);
}

}  // namespace stacking::sessions
