// Machines on networks of their own, made of Linux network namespaces: a test starts programs on
// them as on machines of strangers. All of them hang on one bridge, the Internet of the lab, where
// public machine n has the addresses 10.99.0.n and fd99::n; a router there hides a home of
// 192.168.0.0/24 behind masquerade.
// Invariant: nothing outlives the lab, and no network of the host is touched.
// Threading: one thread. Errors: a command of `ip` or `nft` that fails, fails the test.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace swarm::test {

/// Addresses that a public machine has.
enum class Families { Ipv4, Ipv6, Both };

/// A network namespace, held by a process that does nothing.
class Machine {
 public:
    Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine();

    /// Runs a command of the shell in the namespace.
    void run(const std::string& command) const;

    /// The namespace, for Program.
    [[nodiscard]] int network() const { return network_; }

    [[nodiscard]] pid_t holder() const { return holder_; }

 private:
    pid_t holder_ = -1;
    int network_ = -1;
};

class NetworkLab {
 public:
    /// False where this system lets nobody make network namespaces.
    static bool is_possible();

    NetworkLab();

    /// A machine on the Internet; with a default route there, or without one.
    Machine& add_public(Families families, bool has_default_route = true);
    /// A router on the Internet and so many machines in the home behind it; returns these.
    std::vector<Machine*> add_home(int machines);

 private:
    /// Gives the machine an interface eth0, whose other end is a port of the bridge of `there`.
    void plug(const Machine& machine, const Machine& there, const std::string& bridge);

    std::vector<std::unique_ptr<Machine>> machines_;  // the first one is the Internet
    int publics_ = 0;
    int cables_ = 0;
};

}  // namespace swarm::test
