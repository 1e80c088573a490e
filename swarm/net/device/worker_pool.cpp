#include "swarm/net/device/worker_pool.hpp"

#include "swarm/base/check.hpp"

#include <immintrin.h>

namespace swarm::net {
namespace {

constexpr unsigned kPartBits = 16;
constexpr std::uint64_t kPartMask = (std::uint64_t{1} << kPartBits) - 1;
constexpr std::size_t kThreadsMax = 4096;
static_assert(kThreadsMax * Workers::kPartsPerThread <= kPartMask);

constexpr int kSpins = 2000;  // pauses; one takes 20 to 50 ns

}  // namespace

WorkerPool::WorkerPool(std::size_t threads, std::size_t least_work) : Workers(threads, least_work) {
    SWARM_ASSERT(threads >= 1 && threads <= kThreadsMax);
    for (std::size_t thread = 1; thread < threads; ++thread) {
        pool_.emplace_back([this, thread] { serve(thread); });
    }
}

WorkerPool::~WorkerPool() {
    ending_ = true;
    ring(work_);
}

void WorkerPool::run(std::size_t parts, Call call) {
    const std::lock_guard turn(turn_);
    function_ = call.function;
    with_ = call.with;
    unfinished_ = parts;
    ticket_ = (((ticket_ >> kPartBits) + 1) << kPartBits) | parts;
    ring(work_);
    take_parts(0);
    await(ended_, [this] { return unfinished_ == 0; });
}

void WorkerPool::serve(std::size_t thread) {
    for (;;) {
        await(work_, [this] { return ending_ || (ticket_ & kPartMask) != 0; });
        if (ending_) {
            return;
        }
        take_parts(thread);
    }
}

void WorkerPool::take_parts(std::size_t thread) {
    std::uint64_t ticket = ticket_;
    while ((ticket & kPartMask) != 0) {
        const auto function = function_.load();
        const void* const with = with_;
        if (!ticket_.compare_exchange_weak(ticket, ticket - 1)) {
            continue;
        }
        function(with, static_cast<std::size_t>(ticket & kPartMask) - 1, thread);
        if (--unfinished_ == 0) {
            ring(ended_);
        }
        ticket = ticket_;
    }
}

template <class Condition>
void WorkerPool::await(Bell& bell, Condition condition) {
    for (int spin = 0; spin < kSpins; ++spin) {
        if (condition()) {
            return;
        }
        _mm_pause();
    }
    std::unique_lock lock(sleep_);
    // Either ring() sees this count, or the condition sees what came before ring(): both sides
    // write before they read, in the one order of sequentially consistent operations.
    ++bell.asleep;
    bell.rung.wait(lock, condition);
    --bell.asleep;
}

void WorkerPool::ring(Bell& bell) {
    if (bell.asleep > 0) {
        { const std::lock_guard lock(sleep_); }
        bell.rung.notify_all();
    }
}

}  // namespace swarm::net
