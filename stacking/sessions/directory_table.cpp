#include "stacking/sessions/directory_table.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace stacking::sessions {

using protocol::LayerRange;

namespace {

/// The network with the largest count; the largest number of those that are equal.
std::pair<std::uint64_t, std::size_t> fullest(const std::map<std::uint64_t, std::size_t>& counts) {
    std::pair<std::uint64_t, std::size_t> most{0, 0};
    for (const auto& [network, count] : counts) {
        if (count >= most.second) {
            most = {network, count};
        }
    }
    return most;
}

std::set<std::uint64_t> networks_of(const DirectoryTable::Hosts& hosts) {
    std::set<std::uint64_t> networks;
    for (const auto& [peer, host] : hosts) {
        networks.insert(host.network);
    }
    return networks;
}

std::uint64_t newest(const DirectoryTable::Hosts& hosts) {
    std::uint64_t number = 0;
    for (const auto& [peer, host] : hosts) {
        number = std::max(number, host.number);
    }
    return number;
}

std::size_t count_in(const std::map<std::uint64_t, std::size_t>& counts, std::uint64_t network) {
    const auto found = counts.find(network);
    return found == counts.end() ? 0 : found->second;
}

}  // namespace

bool ListedHost::is_replica_of(const ListedHost& other) const {
    return hosted == other.hosted && registration && other.registration &&
           registration->weights == other.registration->weights &&
           registration->experts == other.registration->experts &&
           registration->experts_only == other.registration->experts_only;
}

ListedHost* DirectoryTable::find(PeerId peer) {
    const auto place = places_.find(peer);
    return place == places_.end() ? nullptr : &models_.at(place->second).at(peer);
}

const DirectoryTable::Hosts& DirectoryTable::hosts_of(const ModelName& model) const {
    static const Hosts kNobody;
    const auto found = models_.find(model);
    return found == models_.end() ? kNobody : found->second;
}

ModelName DirectoryTable::most_served(const swarm::Digest& digest) const {
    ModelName best{digest, 0};
    std::size_t most = 0;
    for (auto at = models_.lower_bound(best); at != models_.end() && at->first.first == digest;
         ++at) {
        const auto serving =
            static_cast<std::size_t>(std::ranges::count_if(at->second, [](const auto& item) {
                return item.second.registration.has_value();
            }));
        if (serving > most) {
            best = at->first;
            most = serving;
        }
    }
    return best;
}

DirectoryTable::Admission DirectoryTable::admit(
    PeerId peer, const ModelName& model, std::uint64_t network
) const {
    const auto found = models_.find(model);
    if (found == models_.end()) {
        return admit_model(network);
    }
    return found->second.contains(peer) ? Admission{} : admit_host(found->second, network);
}

DirectoryTable::Admission DirectoryTable::admit_host(const Hosts& hosts, std::uint64_t network)
    const {
    std::map<std::uint64_t, std::size_t> counts;
    for (const auto& [peer, host] : hosts) {
        ++counts[host.network];
    }
    const std::size_t own = count_in(counts, network);
    if (own >= protocol::kHostsPerNetworkMax) {
        return {"too many peers of this network serve this model already", {}};
    }
    if (hosts.size() < protocol::kHostsMax) {
        return {};
    }
    const auto [full, count] = fullest(counts);
    if (count <= own + 1) {
        return {"too many peers serve this model already", {}};
    }
    const auto worth = [full = full](const auto& item) {
        return std::tuple(item.second.network == full, item.second.number);
    };
    return {"", {std::ranges::max_element(hosts, {}, worth)->first}};
}

DirectoryTable::Admission DirectoryTable::admit_model(std::uint64_t network) const {
    std::map<std::uint64_t, std::size_t> counts;  // models in which the network has a peer
    for (const auto& [name, hosts] : models_) {
        for (const std::uint64_t present : networks_of(hosts)) {
            ++counts[present];
        }
    }
    const std::size_t own = count_in(counts, network);
    if (own >= protocol::kModelsPerNetworkMax) {
        return {"too many models of this network are listed here", {}};
    }
    if (models_.size() < protocol::kModelsMax) {
        return {};
    }
    const auto [full, count] = fullest(counts);
    const Hosts* last = nullptr;  // the newest model that is the fullest network's alone
    for (const auto& [name, hosts] : models_) {
        const bool alone = networks_of(hosts) == std::set<std::uint64_t>{full};
        if (alone && (last == nullptr || newest(hosts) > newest(*last))) {
            last = &hosts;
        }
    }
    if (count <= own + 1 || last == nullptr) {
        return {"too many models are listed here", {}};
    }
    Admission admission;
    for (const auto& [peer, host] : *last) {
        admission.losers.push_back(peer);
    }
    return admission;
}

ListedHost& DirectoryTable::add(PeerId peer, const ModelName& model, std::uint64_t network) {
    const auto place = places_.find(peer);
    if (place == places_.end() || place->second != model) {
        remove(peer);
        places_[peer] = model;
        ListedHost& host = models_[model][peer];
        host.model = model;
        host.network = network;
        host.number = ++arrivals_;
        return host;
    }
    return models_.at(model).at(peer);
}

void DirectoryTable::remove(PeerId peer) {
    if (const auto place = places_.find(peer); place != places_.end()) {
        const auto model = models_.find(place->second);
        model->second.erase(peer);
        if (model->second.empty()) {
            models_.erase(model);
        }
        places_.erase(place);
    }
}

std::vector<LayerRange> DirectoryTable::split_for(
    PeerId newcomer,
    const Hosts& hosts,
    std::uint64_t network,
    const std::vector<LayerRange>& offered
) const {
    struct Votes {
        std::size_t peers = 0;
        std::uint64_t first = UINT64_MAX;
    };

    std::map<std::vector<LayerRange>, Votes> of_network;
    for (const auto& [peer, host] : hosts) {
        if (peer == newcomer || host.split.empty()) {
            continue;
        }
        if (host.split == offered) {
            return offered;
        }
        if (host.network == network) {
            Votes& votes = of_network[host.split];
            ++votes.peers;
            votes.first = std::min(votes.first, host.number);
        }
    }
    const auto standing = [](const auto& item) {
        return std::tuple(item.second.peers, UINT64_MAX - item.second.first);
    };
    const auto best = std::ranges::max_element(of_network, {}, standing);
    return best == of_network.end() ? offered : best->first;
}

std::pair<std::vector<LayerRange>, LayerRange> DirectoryTable::place_of(
    PeerId newcomer,
    const ModelName& model,
    std::uint64_t network,
    const std::vector<LayerRange>& offered
) const {
    const Hosts& hosts = hosts_of(model);
    std::vector<LayerRange> split = split_for(newcomer, hosts, network, offered);
    if (const auto self = hosts.find(newcomer);
        self != hosts.end() && std::ranges::find(split, self->second.hosted) != split.end()) {
        return {std::move(split), self->second.hosted};
    }
    const auto peers_of = [&](LayerRange part) {
        std::size_t own = 0;
        std::set<std::uint64_t> others;
        for (const auto& [peer, host] : hosts) {
            const bool lends_only = host.registration && host.registration->experts_only;
            if (host.hosted != part || peer == newcomer || lends_only) {
                continue;
            }
            if (host.network == network) {
                ++own;
            } else {
                others.insert(host.network);
            }
        }
        return own + others.size();
    };
    const LayerRange part = *std::ranges::min_element(split, {}, peers_of);
    return {std::move(split), part};
}

}  // namespace stacking::sessions
