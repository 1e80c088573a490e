// --threads: on how many threads a process computes.
//   what answers   `auto` by default, because no bit of an answer depends on the number
//   what trains    1 by default: LibTorch's bits depend on the number, so a run that says nothing
//                  has the results of every other run that says nothing, on any machine
// Threading: any thread. Errors: none. Cost: a few small files of /proc and /sys.
#pragma once

#include "swarm/base/workers.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace swarm::cli {

inline constexpr std::uint32_t kThreadsMax = 256;
/// The value of --threads auto.
inline constexpr std::uint32_t kAutoThreads = 0;
/// Maximum of `auto`. More threads wait for memory, and their owner may want to say so.
inline constexpr std::uint32_t kAutoThreadsMax = 32;

/// --threads as it was given; none: it was not.
using ThreadsFlag = std::optional<std::uint32_t>;

/// Returns the number of cores that this process may use: those of its affinity, and no more than
/// the CPU time that its control groups (version 2) allow.
std::uint32_t usable_cores();

/// Returns the whole cores that the group and those above it allow; nullopt: there is no bound.
/// `root`: where the groups are mounted. `group`: as in /proc/self/cgroup, such as "/user.slice".
std::optional<std::uint32_t> cores_of_group(
    const std::filesystem::path& root, const std::filesystem::path& group
);

/// Returns the number of threads of each of `processes` that compute at once.
std::uint32_t threads_to_answer(ThreadsFlag given, std::uint32_t processes = 1);
std::uint32_t threads_to_train(ThreadsFlag given, std::uint32_t processes = 1);

/// Makes the threads of this process, for everything in it that computes without LibTorch.
std::shared_ptr<Workers> make_workers(std::uint32_t threads);

}  // namespace swarm::cli
