#include "swarm/net/device/worker_pool.hpp"

#include "swarm/base/check.hpp"

#include <immintrin.h>

namespace swarm::net {
namespace {

constexpr unsigned kPartBits = 16;
constexpr unsigned kCallBits = 64 - 2 * kPartBits;
constexpr std::uint64_t kPartMask = (std::uint64_t{1} << kPartBits) - 1;
constexpr std::uint64_t kOnePart = std::uint64_t{1} << kPartBits;
constexpr std::size_t kThreadsMax = 4096;
static_assert(kThreadsMax * Workers::kPartsPerThread <= kPartMask);

/// A thread would have to sleep through all calls with other numbers to mistake one for another.
constexpr std::uint64_t ticket_of(std::uint64_t call, std::uint64_t next, std::uint64_t end) {
    return (call << (64 - kCallBits)) | (next << kPartBits) | end;
}

constexpr std::uint64_t next_of(std::uint64_t ticket) {
    return (ticket >> kPartBits) & kPartMask;
}

constexpr bool has_part(std::uint64_t ticket) {
    return next_of(ticket) < (ticket & kPartMask);
}

constexpr int kSpins = 2000;  // pauses; one takes 20 to 50 ns

}  // namespace

WorkerPool::WorkerPool(std::size_t threads, std::size_t least_work)
    : Workers(threads, least_work), shares_(threads) {
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
    const std::uint64_t number = call_ + 1;
    for (std::size_t thread = 0; thread < shares_.size(); ++thread) {
        shares_[thread].ticket = ticket_of(
            number, parts * thread / shares_.size(), parts * (thread + 1) / shares_.size()
        );
    }
    call_ = number;
    ring(work_);
    take_parts(0);
    await(ended_, [this] { return unfinished_ == 0; });
}

void WorkerPool::serve(std::size_t thread) {
    for (std::uint64_t seen = 0;;) {
        await(work_, [this, seen] { return ending_ || call_ != seen; });
        if (ending_) {
            return;
        }
        seen = call_;
        take_parts(thread);
    }
}

void WorkerPool::take_parts(std::size_t thread) {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        take_parts_of(shares_[(thread + i) % shares_.size()], thread);
    }
}

void WorkerPool::take_parts_of(Share& share, std::size_t thread) {
    std::uint64_t ticket = share.ticket;
    while (has_part(ticket)) {
        const auto function = function_.load();
        const void* const with = with_;
        if (!share.ticket.compare_exchange_weak(ticket, ticket + kOnePart)) {
            continue;
        }
        function(with, static_cast<std::size_t>(next_of(ticket)), thread);
        if (--unfinished_ == 0) {
            ring(ended_);
        }
        ticket = share.ticket;
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
