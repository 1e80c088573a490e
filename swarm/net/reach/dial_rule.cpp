#include "swarm/net/reach/dial_rule.hpp"

namespace swarm::net {

bool DialRule::allows(const std::string& named, const boost::asio::ip::address& address) const {
    const AddressClass asked = class_of(address);
    if (asked == AddressClass::Never) {
        return false;
    }
    if (asked == AddressClass::Public || typed_.contains(named)) {
        return true;
    }
    if (asked == AddressClass::Loopback) {
        return joined_ == AddressClass::Loopback;
    }
    return joined_ != AddressClass::Public || dials_private_;
}

}  // namespace swarm::net
