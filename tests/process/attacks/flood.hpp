// A machine that opens connections as fast as it is told to, and says nothing on them. It holds the
// newest ones, so that a server which waits for strangers has many to wait for.
// Threading: one thread of its own, in the machine's network; the destructor ends and joins it.
// Errors: a connection that cannot be opened is not counted.
#pragma once

#include "tests/process/networks/network_lab.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

namespace swarm::test {

class Flood {
 public:
    /// Begins at once, against this IPv4 address and port.
    Flood(const Machine& from, std::string address, std::uint16_t port, int per_second);
    Flood(const Flood&) = delete;
    Flood& operator=(const Flood&) = delete;
    ~Flood();

    /// Connections per second since it began.
    [[nodiscard]] double rate() const;

 private:
    void run(std::stop_token stop);

    int network_;
    std::string address_;
    std::uint16_t port_;
    int per_second_;
    std::atomic<int> opened_ = 0;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::jthread thread_;
};

/// Moves the calling thread to the machine's network.
void enter(int network);

}  // namespace swarm::test
