// The GPU half of compression/cuda on the host: the bodies that kernels run, in a loop over the
// sixteen lanes of each group, and a Library around them. "The GPU's memory" is the host's, so it
// shows what is coded, not who may read it.
#pragma once

#include "compression/cuda/groups.hpp"
#include "compression/cuda/library.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace compression::cuda {

struct Session {
    struct alignas(16) Block {
        std::byte bytes[16];
    };

    std::vector<Block> there;
    std::vector<Block> pinned;

    static std::byte* fit(std::vector<Block>& memory, std::size_t bytes) {
        memory.resize(std::max(memory.size(), bytes / sizeof(Block) + 1));
        return memory.front().bytes;
    }
};

namespace test {

/// Sixteen lanes in lock step: each does its part before any goes on.
class HostLanes {
 public:
    template <class T>
    using Own = std::array<T, kLanes>;

    explicit HostLanes(bool* refused) : refused_(refused) {}

    template <class F>
    void each(F f) const {
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
            f(lane);
        }
    }

    void spread_largest(Own<std::uint32_t>& values) const {
        for (std::uint32_t mask = kLanes / 2; mask > 0; mask /= 2) {
            const Own<std::uint32_t> before = values;
            each([&](std::uint32_t lane) {
                values[lane] = std::max(before[lane], before[lane ^ mask]);
            });
        }
    }

    [[nodiscard]] Own<Four> of_partner(const Own<Four>& values, std::uint32_t mask) const {
        Own<Four> partner{};
        each([&](std::uint32_t lane) { partner[lane] = values[lane ^ mask]; });
        return partner;
    }

    void refuse() const { *refused_ = true; }

 private:
    bool* refused_;
};

/// False: refused.
inline bool run_on_host(const Job& job) {
    bool refused = false;
    const HostLanes team(&refused);
    for (std::uint64_t group = 0; group < groups_of(job); ++group) {
        if (job.direction == Direction::Encode) {
            encode_group(team, job, group);
        } else {
            decode_group(team, job, group);
        }
    }
    return !refused;
}

/// Requests to the emulated GPU in this process.
struct EmulatedCalls {
    int encoded = 0;
    int decoded = 0;
};

inline EmulatedCalls& emulated_calls() {
    static EmulatedCalls calls;
    return calls;
}

/// One GPU, number 0.
inline const Library& emulated_library() {
    constexpr int kNoSuchDevice = 101;
    static const Library library{
        .version = kLibraryVersion,
        .count_devices = [](int* count) { return *count = 1, 0; },
        .open =
            [](int device, void*, Session** session, char* name, std::size_t name_size) {
                if (device != 0) {
                    return kNoSuchDevice;
                }
                *session = std::make_unique<Session>().release();
                std::strncpy(name, "emulated", name_size);
                return 0;
            },
        .close = [](Session* session) { std::unique_ptr<Session>(session).reset(); },
        .encode =
            [](Session* session, Job job, std::size_t bytes, CodedBytes* coded) {
                ++emulated_calls().encoded;
                job.bytes = Session::fit(session->there, bytes);
                coded->refused = !run_on_host(job);
                coded->pinned = Session::fit(session->pinned, bytes);
                std::memcpy(coded->pinned, job.bytes, bytes);
                return 0;
            },
        .decode =
            [](Session* session, Job job, const std::byte* from, std::size_t bytes, bool* refused) {
                ++emulated_calls().decoded;
                job.bytes = Session::fit(session->there, bytes);
                std::memcpy(job.bytes, from, bytes);
                *refused = !run_on_host(job);
                return 0;
            },
        .reserve =
            [](Session* session, std::size_t bytes, std::byte** pinned) {
                *pinned = Session::fit(session->pinned, bytes);
                return 0;
            },
        .measure = [](Session*, Job, std::size_t, int, Timings*) { return kNoSuchDevice; },
        .error_name = [](int) { return "emulatedError"; },
        .error_text = [](int) { return "no such device"; }};
    return library;
}

}  // namespace test
}  // namespace compression::cuda
