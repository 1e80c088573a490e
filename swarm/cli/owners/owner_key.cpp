#include "swarm/cli/owners/owner_key.hpp"

#include <cstdlib>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the folder that the variable names; the XDG base directories are absolute.
fs::path folder_in(const char* variable) {
    const char* const value = std::getenv(variable);
    const fs::path folder = value == nullptr ? "" : value;
    return folder.is_absolute() ? folder : fs::path();
}

}  // namespace

fs::path state_folder() {
    if (const fs::path state = folder_in("XDG_STATE_HOME"); !state.empty()) {
        return state / "swarm";
    }
    const fs::path home = folder_in("HOME");
    return home.empty() ? home : home / ".local" / "state" / "swarm";
}

fs::path known_owners_file() {
    const fs::path folder = state_folder();
    return folder.empty() ? folder : folder / "known-owners";
}

std::shared_ptr<const net::Identity> owner_key(const net::Address& listen, Console& console) {
    if (net::is_loopback(listen.host)) {
        return nullptr;
    }
    const fs::path folder = state_folder();
    Result<net::Identity> key = folder.empty()
                                    ? Error{ErrorCode::NotFound,
                                            Reaction::Reject,
                                            "neither HOME nor XDG_STATE_HOME names a folder for it"}
                                    : net::Identity::load_or_create(folder / "owner.pem");
    if (!key) {
        console.warn(
            "no key of the owner, so who has joined here before must be told the new name: " +
            key.error().detail
        );
        return nullptr;
    }
    return std::make_shared<const net::Identity>(std::move(*key));
}

std::string join_text(const PeerId& owner, const std::string& address) {
    return net::to_name(owner) + "@" + address;
}

}  // namespace swarm::cli
