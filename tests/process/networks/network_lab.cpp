#include "tests/process/networks/network_lab.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swarm::test {
namespace {

constexpr int kInternetRouter = 1;  // 10.99.0.1, which leads nowhere

/// Forks a process that has a network namespace of its own and does nothing; -1: not allowed here.
pid_t hold_namespace() {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const pid_t parent = ::getpid();
    const pid_t holder = ::fork();
    if (holder == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const char made = ::getppid() == parent && ::unshare(CLONE_NEWNET) == 0 ? 1 : 0;
        if (::write(ready[1], &made, 1) != 1 || made == 0) {
            ::_exit(1);
        }
        for (;;) {
            ::pause();
        }
    }
    char made = 0;
    const bool told = ::read(ready[0], &made, 1) == 1;
    ::close(ready[0]);
    ::close(ready[1]);
    if (told && made == 1) {
        return holder;
    }
    ::waitpid(holder, nullptr, 0);
    return -1;
}

std::string ipv4_of(int number) {
    return "10.99.0." + std::to_string(number);
}

std::string ipv6_of(int number) {
    return "fd99::" + std::to_string(number);
}

}  // namespace

Machine::Machine() : holder_(hold_namespace()) {
    const std::string file = "/proc/" + std::to_string(holder_) + "/ns/net";
    network_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_GE(network_, 0) << file;
    run("ip link set lo up");
}

Machine::~Machine() {
    if (holder_ > 0) {
        ::kill(holder_, SIGKILL);
        ::waitpid(holder_, nullptr, 0);
    }
    if (network_ >= 0) {
        ::close(network_);
    }
}

void Machine::run(const std::string& command) const {
    const std::string enter = "nsenter --net=/proc/" + std::to_string(holder_) + "/ns/net ";
    const std::string whole = enter + "sh -c '" + command + "'";
    EXPECT_EQ(std::system(whole.c_str()), 0) << command;
}

bool NetworkLab::is_possible() {
    const pid_t holder = hold_namespace();
    if (holder > 0) {
        ::kill(holder, SIGKILL);
        ::waitpid(holder, nullptr, 0);
    }
    return holder > 0;
}

NetworkLab::NetworkLab() {
    const Machine& internet = *machines_.emplace_back(std::make_unique<Machine>());
    internet.run(
        "ip link add br0 type bridge && ip link set br0 up && ip addr add " +
        ipv4_of(kInternetRouter) + "/24 dev br0 && ip addr add " + ipv6_of(kInternetRouter) +
        "/64 dev br0 nodad"
    );
    publics_ = kInternetRouter;
}

void NetworkLab::plug(const Machine& machine, const Machine& there, const std::string& bridge) {
    const std::string port = "port" + std::to_string(++cables_);
    there.run(
        "ip link add " + port + " type veth peer name eth0 netns " +
        std::to_string(machine.holder()) + " && ip link set " + port + " master " + bridge + " up"
    );
    machine.run("ip link set eth0 up");
}

Machine& NetworkLab::add_public(Families families, bool has_default_route) {
    Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
    plug(machine, *machines_.front(), "br0");
    const int number = ++publics_;
    const auto add = [&](const std::string& address, const std::string& bits, int router_of) {
        machine.run(
            "ip addr add " + address + bits + " dev eth0" + (router_of == 6 ? " nodad" : "")
        );
        if (has_default_route) {
            machine.run(
                "ip -" + std::to_string(router_of) + " route add default via " +
                (router_of == 6 ? ipv6_of(kInternetRouter) : ipv4_of(kInternetRouter))
            );
        }
    };
    if (families != Families::Ipv6) {
        add(ipv4_of(number), "/24", 4);
    }
    if (families != Families::Ipv4) {
        add(ipv6_of(number), "/64", 6);
    }
    return machine;
}

std::vector<Machine*> NetworkLab::add_home(int machines) {
    Machine& router = add_public(Families::Ipv4);
    router.run(
        "ip link add home type bridge && ip link set home up && "
        "ip addr add 192.168.0.1/24 dev home && echo 1 >/proc/sys/net/ipv4/ip_forward && "
        "nft add table ip nat && "
        "nft \"add chain ip nat out { type nat hook postrouting priority 100 ; }\" && "
        "nft add rule ip nat out oifname eth0 masquerade"
    );
    std::vector<Machine*> inside;
    for (int i = 0; i < machines; ++i) {
        Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
        plug(machine, router, "home");
        machine.run(
            "ip addr add 192.168.0." + std::to_string(2 + i) +
            "/24 dev eth0 && ip route add default via 192.168.0.1"
        );
        inside.push_back(&machine);
    }
    return inside;
}

}  // namespace swarm::test
