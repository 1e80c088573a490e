// The threads over which a process splits its computations: those of one pool and the caller's.
// A process has one, made by its verb. Each thread has a share of the parts and takes them in their
// order, because a processor foresees memory that is read from front to back; then it takes those
// of others.
// Invariant: a thread that the system has put aside holds up only the part that it is in. A thread
// that waits spins for some 50 us, because the next call of a token comes soon, and then sleeps.
// Threading: that of swarm::Workers. The destructor runs after the last split().
// Errors: std::system_error when the system gives no thread.
// Source: own. OpenMP is no choice: LibTorch brings a runtime of its own, a second one in the same
// process would keep as many threads again, and ThreadSanitizer knows neither's barriers. TBB is
// made for tasks that make tasks; a token needs 150 calls of some 20 us each.
#pragma once

#include "swarm/base/workers.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace swarm::net {

class WorkerPool final : public Workers {
 public:
    /// `threads` counts the caller's, and is 1 to 4,096. `least_work`: see Workers::kLeastWork.
    explicit WorkerPool(std::size_t threads, std::size_t least_work = kLeastWork);
    ~WorkerPool() override;

 private:
    /// Threads that wait for the same thing.
    struct Bell {
        std::atomic<std::size_t> asleep{0};
        std::condition_variable rung;
    };

    static constexpr std::size_t kCacheLine = 64;

    /// The parts of a share that nobody has taken.
    struct alignas(kCacheLine) Share {
        /// The number of the call, the next part, and the one behind the last. A thread that comes
        /// late finds another number or no part, so it never takes a part of a later call unseen.
        std::atomic<std::uint64_t> ticket{0};
    };

    void run(std::size_t parts, Call call) override;
    void serve(std::size_t thread);
    /// Takes parts of the current call, those of its own share first, until all are taken.
    void take_parts(std::size_t thread);
    void take_parts_of(Share& share, std::size_t thread);
    template <class Condition>
    void await(Bell& bell, Condition condition);
    void ring(Bell& bell);

    std::mutex turn_;  // belongs to the caller whose parts are computed
    alignas(kCacheLine) std::atomic<std::uint64_t> call_{0};  // number of the current call
    std::vector<Share> shares_;                               // by thread
    // The current call. A late thread may read one of these while run() replaces it, and then fails
    // to take a part.
    std::atomic<decltype(Call::function)> function_{nullptr};
    std::atomic<const void*> with_{nullptr};
    alignas(kCacheLine) std::atomic<std::size_t> unfinished_{0};  // parts of the current call
    alignas(kCacheLine) std::mutex sleep_;
    Bell work_;   // a call has begun, or the pool ends
    Bell ended_;  // all parts have ended
    std::atomic<bool> ending_{false};
    std::vector<std::jthread> pool_;  // last, because it uses all members above
};

}  // namespace swarm::net
