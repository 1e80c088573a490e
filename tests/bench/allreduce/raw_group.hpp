// The bound that the machine sets: four processes, each pair with one asio::ssl::stream over
// loopback and our TLS context, exchange as many bytes as a reduction sends between them, all at
// once.
// The bound includes encryption, copies and system calls. It leaves out frames, sums and any order
// of sending.
// Errors: ConnectionLost when a process ends or is silent.
#pragma once

#include "swarm/base/result.hpp"
#include "tests/bench/allreduce/forked.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace swarm::bench {

class RawGroup {
 public:
    /// `bytes_per_pair`: bytes from each process to each other one, per round.
    RawGroup(std::size_t processes, std::size_t bytes_per_pair);

    /// Returns the seconds until every byte is there.
    Result<double> round();

 private:
    std::vector<std::unique_ptr<Forked>> processes_;
};

}  // namespace swarm::bench
