// The key of a person, by which others know his runs and directories: owner.pem in the state folder
// of this user. Each run has a key of its own in its folder, and this one vouches for it.
// Threading: none. Errors: none; without the key a run goes by its own one, and a warning says so.
#pragma once

#include "swarm/cli/terminal/console.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/identity.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace swarm::cli {

/// Returns the folder for what the program remembers of a user: swarm below $XDG_STATE_HOME, or
/// below ~/.local/state; empty where neither variable is set.
std::filesystem::path state_folder();

/// The file of the owners that this user has met.
std::filesystem::path known_owners_file();

/// Reads the owner's key, or makes it. Null: only this machine reaches a process that listens
/// there, so nobody asks for its owner; or the key cannot be had, and a warning has said so.
std::shared_ptr<const net::Identity> owner_key(const net::Address& listen, Console& console);

/// Returns the text that others type after --join. `address`: host:port.
std::string join_text(const PeerId& owner, const std::string& address);

}  // namespace swarm::cli
