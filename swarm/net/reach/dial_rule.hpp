// Which addresses a process dials. A stranger can tell a peer any address, so without a rule the
// peer would try the doors of its own home for him. So others may only name addresses that fit
// where this process joined from: a run on the Internet names none of a private network, and no run
// but one on this machine names the machine itself.
// The rule judges addresses after their names were resolved. An address that the user typed is
// always dialled.
// Threading: single strand. Cost: O(log typed addresses).
#pragma once

#include "swarm/net/reach/address_class.hpp"

#include <set>
#include <string>

namespace swarm::net {

class DialRule {
 public:
    /// `dials_private`: the user allows addresses of private networks whatever the run.
    explicit DialRule(bool dials_private) : dials_private_(dials_private) {}

    /// Notes that the user has typed this address, HOST:PORT or several of them.
    void typed(const std::string& address) { typed_.insert(address); }

    /// Notes where a typed address has led.
    void joined(const boost::asio::ip::address& there) { joined_ = class_of(there); }

    /// `named`: the text that was resolved to `address`. Until this process has joined somewhere,
    /// everything is allowed that can be a machine.
    [[nodiscard]] bool allows(const std::string& named, const boost::asio::ip::address& address)
        const;

 private:
    bool dials_private_;
    std::set<std::string> typed_;
    AddressClass joined_ = AddressClass::Loopback;
};

}  // namespace swarm::net
