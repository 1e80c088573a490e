#include "stacking/sessions/directory.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <tuple>

namespace stacking::sessions {

using protocol::LayerRange;

void Directory::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    if (const auto* down = std::get_if<node::LinkDown>(&event)) {
        if (down->lane == node::Lane::Control) {
            forget(down->peer, turn);
        }
    } else if (const auto* received = std::get_if<node::Received>(&event)) {
        const auto give = [&](const auto& body) {
            using Body = std::decay_t<decltype(body)>;
            if constexpr (requires { take(received->peer, body, turn); }) {
                take(received->peer, body, turn);
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
    for (const auto& [digest, model] : models_) {
        for (const auto& [peer, host] : model.hosts) {
            due = std::min(due, host.heard + kSilentMax);
        }
    }
    return ended_ ? swarm::kNever : due;
}

node::Allowance Directory::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    const bool hosts = std::ranges::any_of(models_, [&](const auto& item) {
        return item.second.hosts.contains(peer);
    });
    return node::Allowance::without_tensors(hosts ? Acquaintance::Guest : Acquaintance::Stranger);
}

std::size_t Directory::listed() const {
    std::size_t count = 0;
    for (const auto& [digest, model] : models_) {
        for (const auto& [peer, host] : model.hosts) {
            count += host.registration ? 1 : 0;
        }
    }
    return count;
}

void Directory::forget(PeerId peer, node::Turn turn) {
    for (auto& [digest, model] : models_) {
        if (const auto found = model.hosts.find(peer); found != model.hosts.end()) {
            const Host host = std::move(found->second);
            model.hosts.erase(found);
            tell(peer, digest, model, host, Change::Gone, turn);
        }
    }
    std::erase_if(models_, [](const auto& item) { return item.second.hosts.empty(); });
}

void Directory::expire(node::Turn turn) {
    std::vector<PeerId> silent;
    for (const auto& [digest, model] : models_) {
        for (const auto& [peer, host] : model.hosts) {
            if (host.heard + kSilentMax <= turn.now) {
                silent.push_back(peer);
            }
        }
    }
    for (const PeerId peer : silent) {
        forget(peer, turn);
    }
}

void Directory::tell(
    PeerId peer,
    const swarm::Digest& digest,
    const Model& model,
    const Host& host,
    Change change,
    node::Turn turn
) {
    if (!host.registration) {
        return;  // the peer was never listed
    }
    const auto same = [&](const auto& item) {
        return item.second.registration && item.second.hosted == host.hosted;
    };
    const auto hosts =
        static_cast<std::size_t>(std::count_if(model.hosts.begin(), model.hosts.end(), same));
    const bool listed = change == Change::Listed;
    turn.out.add(node::Tell{node::HostListed{peer, digest, host.hosted, listed, hosts}});
}

Directory::Host& Directory::host_of(
    PeerId peer, const swarm::Digest& digest, std::uint32_t layers, node::Turn turn
) {
    const auto found = models_.find(digest);
    if (found == models_.end() || !found->second.hosts.contains(peer)) {
        forget(peer, turn);
    }
    Model& model = models_[digest];
    model.layers = layers;
    return model.hosts[peer];
}

std::string Directory::refusal(PeerId from, const swarm::Digest& digest, std::uint32_t layers)
    const {
    const auto model = models_.find(digest);
    if (model == models_.end()) {
        return models_.size() < protocol::kModelsMax ? "" : "too many models are listed here";
    }
    const Hosts& hosts = model->second.hosts;
    const bool known = hosts.contains(from);
    if (!known && hosts.size() >= protocol::kHostsMax) {
        return "too many peers serve this model already";
    }
    if (model->second.layers != layers && hosts.size() > (known ? 1U : 0U)) {
        return "the model has another number of layers here; is it the same file?";
    }
    return "";
}

std::string Directory::refusal(PeerId from, const protocol::Register& registration) const {
    std::string why = refusal(from, registration.model, registration.layers);
    if (const auto model = models_.find(registration.model);
        why.empty() && model != models_.end()) {
        for (const auto& [peer, host] : model->second.hosts) {
            if (peer != from && host.registration && host.hosted == registration.hosted &&
                host.registration->weights != registration.weights) {
                return "other weights than the peers that serve these layers; fetch the model "
                       "again, and serve it with the same --weights";
            }
        }
    }
    return why;
}

/// Returns the part of the split that has the fewest peers, the first one if several have.
LayerRange Directory::neediest(PeerId newcomer, const Model& model) {
    const auto peers_of = [&](LayerRange part) {
        return std::count_if(model.hosts.begin(), model.hosts.end(), [&](const auto& item) {
            return item.second.hosted == part && item.first != newcomer;
        });
    };
    return *std::ranges::min_element(model.split, {}, peers_of);
}

void Directory::take(PeerId from, const protocol::HostOffer& offer, node::Turn turn) {
    if (std::string why = refusal(from, offer.model, offer.layers); !why.empty()) {
        return send(from, protocol::Registered{std::move(why)}, turn);
    }
    Host& host = host_of(from, offer.model, offer.layers, turn);
    Model& model = models_.at(offer.model);
    if (model.split.empty() || model.hosts.size() == 1) {
        model.split = offer.split;
    }
    const bool has_place = std::ranges::find(model.split, host.hosted) != model.split.end();
    host = {has_place ? host.hosted : neediest(from, model), turn.now, std::nullopt};
    send(from, protocol::HostPlace{offer.model, host.hosted}, turn);
}

void Directory::take(PeerId from, const protocol::Register& registration, node::Turn turn) {
    const std::string why = refusal(from, registration);
    send(from, protocol::Registered{why}, turn);
    if (!why.empty()) {
        return;
    }
    Host& host = host_of(from, registration.model, registration.layers, turn);
    const bool known = host.registration && host.hosted == registration.hosted;
    host = {registration.hosted, turn.now, registration};
    if (!known) {
        const Model& model = models_.at(registration.model);
        tell(from, registration.model, model, host, Change::Listed, turn);
    }
}

void Directory::take(PeerId from, const protocol::Locate& locate, node::Turn turn) const {
    protocol::Located located;
    located.model = locate.model;
    if (const auto model = models_.find(locate.model); model != models_.end()) {
        for (const auto& [peer, host] : model->second.hosts) {
            if (host.registration) {
                located.layers = model->second.layers;
                located.hosts.push_back(
                    {peer, host.hosted, host.registration->address, host.registration->rates}
                );
            }
        }
    }
    std::ranges::sort(located.hosts, {}, [](const protocol::HostInfo& host) {
        return std::tuple(host.hosted, host.peer);
    });
    send(from, std::move(located), turn);
}

}  // namespace stacking::sessions
