// What the machine can do: four processes, each pair with one asio::ssl::stream over loopback and
// our TLS context, exchange as many bytes as a reduction sends between them, all at once.
// In it: encryption, copies, system calls. Not in it: frames, sums, any order of what is sent.
// Errors: ConnectionLost when a process ends or is silent.
#pragma once

#include "swarm/base/result.hpp"
#include "tests/bench/forked.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace swarm::bench {

class RawGroup {
 public:
    /// From each process to each other one, per round.
    RawGroup(std::size_t processes, std::size_t bytes_per_pair);

    /// Seconds until every byte is there.
    Result<double> round();

 private:
    std::vector<std::unique_ptr<Forked>> processes_;
};

}  // namespace swarm::bench
