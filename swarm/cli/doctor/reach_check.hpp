// The check behind `swarm doctor --join`: whether others can dial this machine, by the word of the
// coordinator, directory or peer that it asks. Threading: the main thread, for some seconds.
// Errors: none; who does not answer is a finding, too.
#pragma once

#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/doctor/checks.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/net/dial_back.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

struct ReachFlags {
    std::string join{};     // the host that is asked; empty: none
    ExpectedOwner owner{};  // that must answer there
    std::string listen = ":0";
    std::string advertise{};  // others dial this one, where a router forwards a port
    std::string swarm_key_file{};
};

Finding check_reach(const ReachFlags& flags, Console& console);

/// Says in words what the host answered. `own` are the addresses of this machine; a host that sees
/// another one sees a router.
Finding describe_reach(
    const std::string& host, const net::DialBackAnswer& answer, const std::vector<net::Address>& own
);

}  // namespace swarm::cli
