// Four processes that reduce one stage's gradient as replicas do: stages::Reduction and StageWorker
// on net::Host and TLS. Each holds the gradient of one microbatch of the oracle model. We stand in
// for the coordinator: the list of R1 goes out, REDUCED comes back.
// Counted: from the REDUCE that leaves to the last REDUCED that is in: int64 slices up, sums, fp32
// slices down, and the sums of squares and SHA-256 that each member takes of its result.
// Invariant: a round counts only when every result is the one that holds each gradient once.
// Errors: ConnectionLost when a member ends or is silent, Mismatch for another result.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"
#include "swarm/net/event_loop.hpp"
#include "swarm/net/host.hpp"
#include "tests/bench/allreduce/forked.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace swarm::bench {

class ReduceGroup {
 public:
    ReduceGroup(std::uint32_t members, std::uint32_t elements);
    ReduceGroup(const ReduceGroup&) = delete;
    ReduceGroup& operator=(const ReduceGroup&) = delete;
    ~ReduceGroup();

    /// Connects our own host. It has threads, so this comes after the last fork.
    Result<> connect();
    /// Runs one round and returns its seconds.
    Result<double> round();

 private:
    class Conductor;

    struct Progress {
        std::size_t ready = 0;
        std::size_t reduced = 0;
        bool is_exact = true;
    };

    std::filesystem::path folder_;
    std::vector<net::Identity> identities_;  // the members', then ours
    std::vector<std::unique_ptr<Forked>> members_;
    Digest expected_;
    Progress progress_;
    std::unique_ptr<net::EventLoop> loop_;
    std::unique_ptr<net::Host> host_;
};

}  // namespace swarm::bench
