// Strangers that attack a run by messages alone. Each lives on a thread of its own until a
// deadline, and comes back whenever it is hung up on.
// Threading: see above; the destructor ends and joins it. Errors: it counts what an attacker must
// never get.
#pragma once

#include "swarm/protocol/message.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

namespace swarm::test {

class BadPeer;

enum class Attack {
    Poison,     // JOIN with the hash of no state, at the first version and at the current one
    Observer,   // joins, and says APPLIED with the hash of no state after each commit
    Forger,     // says all that only a member may say
    Tensor,     // a frame of 256 MiB that never ends
    Flood,      // JOIN as a client 4,000 times, and reads nothing
    Steal,      // asks for the run's state
    LargeHead,  // the control part of a Located, which never ends
};

inline constexpr Attack kAttacks[] = {
    Attack::Poison,
    Attack::Observer,
    Attack::Forger,
    Attack::Tensor,
    Attack::Flood,
    Attack::Steal,
    Attack::LargeHead};

class Attacker {
 public:
    Attacker(std::uint16_t port, Attack attack, std::chrono::milliseconds lasts);
    Attacker(const Attacker&) = delete;
    Attacker& operator=(const Attacker&) = delete;
    ~Attacker();

    /// Waits for its end.
    void wait();

    /// Times that it was let in.
    [[nodiscard]] int visits() const { return visits_; }

    /// Chunks of the run's state that it was given.
    [[nodiscard]] int stolen() const { return stolen_; }

 private:
    void run();
    void visit();
    void poison(BadPeer& peer);
    void observe(BadPeer& peer);
    void forge(BadPeer& peer);
    void send_a_tensor();
    void flood(BadPeer& peer);
    void steal(BadPeer& peer);
    void send_a_large_head(BadPeer& peer);
    [[nodiscard]] bool is_over() const;
    /// Waits a little; returns false when the attack is over.
    bool pause();
    /// Reads until a message of this kind comes.
    template <class Body>
    std::optional<Body> hear(BadPeer& peer);

    std::uint16_t port_;
    Attack attack_;
    std::chrono::steady_clock::time_point until_;
    std::atomic<int> visits_ = 0;
    std::atomic<int> stolen_ = 0;
    std::mutex mutex_;
    std::condition_variable stop_;
    std::atomic<bool> stopped_ = false;
    std::thread thread_;
};

}  // namespace swarm::test
