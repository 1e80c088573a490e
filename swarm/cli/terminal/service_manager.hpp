// Tells systemd how a service is: the protocol of sd_notify(3), a datagram to $NOTIFY_SOCKET. The
// manual page calls it stable and allows programs to speak it without libsystemd, which would be a
// library of 800 kB for one call.
// Threading: any thread. Errors: none; without $NOTIFY_SOCKET, and when the socket does not take
// it, nothing happens. Cost: a system call, which does not wait.
#pragma once

#include <string>

namespace swarm::cli {

/// `state`: one line such as "READY=1", "STOPPING=1" or "STATUS=step 3". A line feed ends it early.
void tell_service_manager(const std::string& state);

}  // namespace swarm::cli
