// Splits one computation over threads. Code that may not make threads sees only this class; the
// pool that has them is swarm/net/device/worker_pool.
// Invariant: split() calls its body so that each unit is in exactly one range, and returns after
// the last call. The ranges depend on the number of threads, and which thread gets one is chance.
// So a body computes each unit by itself, and never a sum over units: then its results have the
// same bits for any number of threads.
// Threading: split() from any thread, but not from a body. Callers take turns.
// Errors: none; a body does not throw. Cost: about a microsecond per split() that uses threads.
#pragma once

#include <algorithm>
#include <cstddef>

namespace swarm {

/// The units from `begin` to before `end`.
struct UnitRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

class Workers {
 public:
    /// Maximum ranges per thread. Several let a fast thread take over work of a slow one.
    static constexpr std::size_t kPartsPerThread = 8;
    /// Work of a range, in multiply-adds, for which another thread is worth being woken.
    static constexpr std::size_t kLeastWork = 1U << 15;

    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;
    virtual ~Workers() = default;

    /// Number of threads that compute, that of the caller included.
    [[nodiscard]] std::size_t threads() const { return threads_; }

    /// Calls body(UnitRange range, std::size_t thread) for ranges of [0, units). `thread` is below
    /// threads(); calls with the same number do not overlap, so it may choose scratch memory.
    /// `work`: multiply-adds of one unit, roughly.
    template <class Body>
    void split(std::size_t units, std::size_t work, const Body& body) {
        const std::size_t parts = parts_of(units, work);
        if (parts <= 1) {
            if (units > 0) {
                body(UnitRange{0, units}, std::size_t{0});
            }
            return;
        }
        const auto part = [&](std::size_t index, std::size_t thread) {
            body(UnitRange{units * index / parts, units * (index + 1) / parts}, thread);
        };
        using Part = decltype(part);
        run(parts,
            {[](const void* with, std::size_t index, std::size_t thread) {
                 (*static_cast<const Part*>(with))(index, thread);
             },
             &part});
    }

 protected:
    /// A function with its captures, which belong to the caller of split().
    struct Call {
        void (*function)(const void* with, std::size_t part, std::size_t thread) = nullptr;
        const void* with = nullptr;
    };

    Workers(std::size_t threads, std::size_t least_work)
        : threads_(threads), least_work_(std::max<std::size_t>(1, least_work)) {}

    /// Calls `call` once for each part below `parts` and returns after the last call.
    virtual void run(std::size_t parts, Call call) = 0;

 private:
    [[nodiscard]] std::size_t parts_of(std::size_t units, std::size_t work) const {
        if (threads_ == 1) {
            return 1;
        }
        const std::size_t units_of_part =
            std::max<std::size_t>(1, least_work_ / std::max<std::size_t>(1, work));
        return std::min(units / units_of_part, threads_ * kPartsPerThread);
    }

    std::size_t threads_;
    std::size_t least_work_;
};

/// Computes everything on the thread of the caller.
class OneThread final : public Workers {
 public:
    OneThread() : Workers(1, kLeastWork) {}

 private:
    void run(std::size_t parts, Call call) override {
        for (std::size_t part = 0; part < parts; ++part) {
            call.function(call.with, part, 0);
        }
    }
};

}  // namespace swarm
