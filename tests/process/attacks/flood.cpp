#include "tests/process/attacks/flood.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <deque>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace swarm::test {
namespace {

using Clock = std::chrono::steady_clock;

/// It holds so many connections; the oldest ends for each new one.
constexpr std::size_t kHeld = 800;

/// Begins a connection; -1: the system lets it have none.
int begin_connection(const sockaddr_in& there) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return made;
    }
    const linger reset{1, 0};  // its port is free at once
    ::setsockopt(made, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    const int failed = ::connect(made, reinterpret_cast<const sockaddr*>(&there), sizeof there);
    if (failed != 0 && errno != EINPROGRESS) {
        ::close(made);
        return -1;
    }
    return made;
}

}  // namespace

void enter(int network) {
    ASSERT_EQ(::setns(network, CLONE_NEWNET), 0);
}

Flood::Flood(const Machine& from, std::string address, std::uint16_t port, int per_second)
    : network_(from.network()), address_(std::move(address)), port_(port), per_second_(per_second) {
    thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

Flood::~Flood() {
    thread_.request_stop();
    thread_.join();
}

double Flood::rate() const {
    return opened_ / std::chrono::duration<double>(Clock::now() - began_).count();
}

void Flood::run(std::stop_token stop) {
    enter(network_);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port_);
    ASSERT_EQ(::inet_pton(AF_INET, address_.c_str(), &there.sin_addr), 1);
    std::deque<int> held;
    while (!stop.stop_requested()) {
        const std::chrono::duration<double> passed = Clock::now() - began_;
        const int due = static_cast<int>(passed.count() * per_second_);
        while (opened_ < due && !stop.stop_requested()) {
            if (held.size() >= kHeld) {
                ::close(held.front());
                held.pop_front();
            }
            if (const int made = begin_connection(there); made >= 0) {
                held.push_back(made);
                ++opened_;
            }
        }
        ::poll(nullptr, 0, 1);
    }
    for (const int made : held) {
        ::close(made);
    }
}

}  // namespace swarm::test
