#include "stacking/sessions/client_quota.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stacking::sessions {
namespace {

using swarm::PeerId;

struct Held {
    std::uint64_t room = 0;
    std::set<std::uint64_t> sessions{};
};

/// Returns the key with the most room; nothing when there is none.
template <class Key>
std::optional<Key> largest(const std::map<Key, Held>& held) {
    const auto most =
        std::ranges::max_element(held, {}, [](const auto& item) { return item.second.room; });
    return most == held.end() ? std::nullopt : std::optional(most->first);
}

/// Adds up what the clients of this network hold, each alone.
std::map<PeerId, Held> clients_of(std::span<const Holding> holdings, std::uint64_t network) {
    std::map<PeerId, Held> clients;
    for (const Holding& holding : holdings) {
        if (holding.network == network) {
            clients[holding.client].room += holding.room;
            clients[holding.client].sessions.insert(holding.session);
        }
    }
    return clients;
}

/// Returns the client of another network that gives way, if one does.
std::optional<PeerId> client_elsewhere(std::span<const Holding> holdings, const Asker& asker) {
    std::map<std::uint64_t, Held> networks;
    std::uint64_t own = asker.room;
    for (const Holding& holding : holdings) {
        if (holding.network == asker.network) {
            own += holding.room;
        } else {
            networks[holding.network].room += holding.room;
            networks[holding.network].sessions.insert(holding.session);
        }
    }
    std::erase_if(networks, [](const auto& item) { return item.second.sessions.size() < 2; });
    const auto network = largest(networks);
    if (!network || networks.at(*network).room <= own) {
        return std::nullopt;
    }
    return largest(clients_of(holdings, *network));
}

/// Returns the client of the asker's network that gives way, if one does.
std::optional<PeerId> client_beside(std::span<const Holding> holdings, const Asker& asker) {
    std::map<PeerId, Held> clients = clients_of(holdings, asker.network);
    const std::uint64_t own = clients[asker.client].room + asker.room;
    clients.erase(asker.client);
    std::erase_if(clients, [](const auto& item) { return item.second.sessions.size() < 2; });
    const auto client = largest(clients);
    return client && clients.at(*client).room > own ? client : std::nullopt;
}

}  // namespace

std::optional<std::size_t> choose_to_end(
    std::span<const Holding> holdings, const Asker& asker, swarm::TimePoint now
) {
    const auto is_free = [&](const Holding& holding) {
        const swarm::Duration kept = holding.is_empty ? kEmptySessionKept : kIdleSessionKept;
        const bool idle = holding.idle_since != swarm::kNever && holding.idle_since + kept <= now;
        return holding.is_gone || idle;
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < holdings.size(); ++i) {
        const auto before = [](const Holding& holding) {
            return std::tuple(!holding.is_gone, holding.idle_since);
        };
        const bool own = holdings[i].client == asker.client && holdings[i].session == asker.session;
        if (!own && is_free(holdings[i]) &&
            (!best || before(holdings[i]) < before(holdings[*best]))) {
            best = i;
        }
    }
    if (best) {
        return best;
    }
    auto client = client_elsewhere(holdings, asker);
    client = client ? client : client_beside(holdings, asker);
    for (std::size_t i = 0; client && i < holdings.size(); ++i) {
        if (holdings[i].client == *client &&
            (!best || holdings[i].since >= holdings[*best].since)) {
            best = i;
        }
    }
    return best;
}

}  // namespace stacking::sessions
