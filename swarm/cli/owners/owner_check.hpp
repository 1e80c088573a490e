// Judges who answers at the address after --join, before this process says or proves anything. With
// a name, NAME@HOST:PORT, the owner or the process there must have it. Without one the first owner
// that answers is taken, said and remembered (known_owners.hpp), and another one is refused later.
// Invariants: an address of this machine (127.0.0.1, ::1, localhost) is judged by a given name
// alone and never remembered, because runs come and go there; a folder that cannot be read or
// written costs one warning, and the verb goes on.
// Threading: one thread. Errors: Unauthorised (Reject), one line with whom to ask and what to type.
#pragma once

#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/owners/known_owners.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/net/identity.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace swarm::cli {

class OwnerCheck final : public net::FirstContact {
 public:
    /// The console outlives this object.
    OwnerCheck(ExpectedOwner expected, KnownOwners known, Console& console);

    Result<> judge(const std::string& address, const net::Credentials& shown) override;
    void keep(const std::string& address, const net::Credentials& shown) override;

 private:
    /// Whom this process has met there, else whom the file has.
    [[nodiscard]] std::optional<PeerId> known_at(const std::string& address);
    void keep_one(const std::string& address, const PeerId& owner);
    void warn_once(const Error& error);

    ExpectedOwner expected_;
    KnownOwners known_;
    Console& console_;
    std::map<std::string, PeerId> met_;  // by address, since the start of this process
    bool warned_ = false;
};

/// Returns the check with the file of this user.
std::shared_ptr<net::FirstContact> make_owner_check(
    const ExpectedOwner& expected, Console& console
);

}  // namespace swarm::cli
