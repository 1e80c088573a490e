#include "swarm/cli/owners/owner_check.hpp"

#include "swarm/cli/owners/owner_key.hpp"
#include "swarm/net/address.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

/// Returns the texts by which the addresses after --join are remembered. A name of a host means the
/// same in small and capital letters.
std::vector<std::string> remembered(const std::string& addresses) {
    std::vector<std::string> texts;
    const auto parsed = net::parse_addresses(addresses);
    for (const net::Address& address : parsed ? *parsed : std::vector<net::Address>()) {
        if (!net::is_loopback(address.host)) {
            std::string& text = texts.emplace_back(net::to_text(address));
            std::ranges::transform(text, text.begin(), [](unsigned char letter) {
                return static_cast<char>(std::tolower(letter));
            });
        }
    }
    return texts;
}

bool is_called(const PeerId& id, const std::string& name) {
    return net::to_text(id).starts_with(name);
}

Error refused(std::string detail) {
    return {ErrorCode::Unauthorised, Reaction::Reject, std::move(detail)};
}

}  // namespace

OwnerCheck::OwnerCheck(ExpectedOwner expected, KnownOwners known, Console& console)
    : expected_(std::move(expected)), known_(std::move(known)), console_(console) {}

Result<> OwnerCheck::judge(const std::string& address, const net::Credentials& shown) {
    const std::string met = net::to_name(shown.owner);
    const std::string said_nothing = "; nothing was said to it. ";
    if (!expected_.name.empty()) {
        if (is_called(shown.owner, expected_.name) || is_called(shown.peer, expected_.name)) {
            return {};
        }
        return refused(
            "at " + address + " answers " + met + ", and --join names " + expected_.name +
            said_nothing + "Ask the owner for the line that `swarm train` or `swarm directory` " +
            "prints now"
        );
    }
    for (const std::string& place : remembered(address)) {
        const std::optional<PeerId> known = expected_.forget ? std::nullopt : known_at(place);
        if (known && *known != shown.owner && *known != shown.peer) {
            return refused(
                "at " + place + " answers " + met + ", and before it was " + net::to_name(*known) +
                said_nothing + "If the owner says that this is right, " + "type --join " + met +
                "@" + place + ", or add --forget"
            );
        }
    }
    return {};
}

void OwnerCheck::keep(const std::string& address, const net::Credentials& shown) {
    for (const std::string& place : remembered(address)) {
        const std::optional<PeerId> known = known_at(place);
        if (!known || (*known != shown.owner && *known != shown.peer)) {
            keep_one(place, shown.owner);
        }
    }
    expected_.forget = false;
}

void OwnerCheck::keep_one(const std::string& address, const PeerId& owner) {
    met_[address] = owner;
    const Result<> added = known_.add(address, owner);
    if (!added) {
        return warn_once(added.error());
    }
    if (expected_.name.empty()) {
        console_.info(
            "first contact with " + net::to_name(owner) + " at " + address +
            ": taken on trust; another owner there will be refused"
        );
    }
}

std::optional<PeerId> OwnerCheck::known_at(const std::string& address) {
    if (const auto met = met_.find(address); met != met_.end()) {
        return met->second;
    }
    const auto found = known_.find(address);
    if (!found) {
        warn_once(found.error());
        return std::nullopt;
    }
    return *found;
}

void OwnerCheck::warn_once(const Error& error) {
    if (!std::exchange(warned_, true)) {
        console_.warn(
            "owners are not remembered, so only a name in --join tells a stranger: " + error.detail
        );
    }
}

std::shared_ptr<net::FirstContact> make_owner_check(
    const ExpectedOwner& expected, Console& console
) {
    return std::make_shared<OwnerCheck>(expected, KnownOwners(known_owners_file()), console);
}

}  // namespace swarm::cli
