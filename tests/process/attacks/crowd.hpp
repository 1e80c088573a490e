// Many identities of one machine that hold what they can: a quarter each has an idle link, a frame
// of 256 MiB that does not end, a control stream that nobody reads, and a control part of 2 MiB
// that does not end. Each holds its connection until it is hung up on or the crowd leaves.
// Threading: the test's thread. Errors: a connection that is refused is not counted.
#pragma once

#include "tests/unit/net/bad_peer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace swarm::test {

class Crowd {
 public:
    Crowd(std::uint16_t port, std::size_t size);

    /// Connections on which the handshake was done.
    [[nodiscard]] std::size_t let_in() const { return let_in_; }

    void leave() { peers_.clear(); }

 private:
    std::vector<std::unique_ptr<BadPeer>> peers_;
    std::size_t let_in_ = 0;
};

/// Begins a frame with a tensor of so many bytes on the bulk lane, and sends its first bytes.
void begin_a_tensor(BadPeer& peer, std::uint64_t tensor_bytes, std::size_t sent);

}  // namespace swarm::test
