#include "swarm/net/refusal_log.hpp"

namespace swarm::net {

std::optional<std::string> RefusalLog::note(
    const std::string& address, const std::string& reason, TimePoint now
) {
    const auto known = addresses_.find(address);
    if (known != addresses_.end()) {
        Refusals& refusals = known->second;
        ++refusals.unsaid;
        if (now - refusals.said_at < kPause) {
            return std::nullopt;
        }
        const std::string count = std::to_string(refusals.unsaid);
        refusals = {now, 0};
        return "turned " + count + " more connections from " + address +
               " away, the last because " + reason;
    }
    if (addresses_.size() >= kAddressesMax) {
        std::erase_if(addresses_, [&](const auto& entry) {
            return now - entry.second.said_at >= kPause;
        });
    }
    if (addresses_.size() >= kAddressesMax) {
        return std::nullopt;
    }
    addresses_[address] = {now, 0};
    return "turned a connection from " + address + " away: " + reason;
}

}  // namespace swarm::net
