#include "swarm/cli/terminal/service_manager.hpp"

#include "swarm/cli/terminal/printable.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace swarm::cli {

void tell_service_manager(const std::string& state) {
    const char* const name = std::getenv("NOTIFY_SOCKET");
    if (name == nullptr) {
        return;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t length = std::strlen(name);
    const bool is_abstract = name[0] == '@';
    if (length < 2 || length >= sizeof address.sun_path || (name[0] != '/' && !is_abstract)) {
        return;
    }
    std::memcpy(address.sun_path, name, length);
    if (is_abstract) {
        address.sun_path[0] = '\0';
    }
    const int handle = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (handle < 0) {
        return;
    }
    const std::string line = printable(std::string_view(state).substr(0, state.find('\n')));
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
    // A manager that does not listen is no reason for a service to end.
    static_cast<void>(::sendto(
        handle,
        line.data(),
        line.size(),
        MSG_DONTWAIT | MSG_NOSIGNAL,
        reinterpret_cast<const sockaddr*>(&address),
        bytes
    ));
    ::close(handle);
}

}  // namespace swarm::cli
