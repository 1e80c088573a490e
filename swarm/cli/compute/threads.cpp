#include "swarm/cli/compute/threads.hpp"

#include "swarm/net/device/worker_pool.hpp"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <string>
#include <thread>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

std::uint32_t cores_of_affinity() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&allowed)));
    }
    return std::max(1U, std::thread::hardware_concurrency());  // more than 1,024 cores
}

/// Returns the group of this process; empty where there are no groups of version 2.
std::string own_group() {
    std::ifstream file("/proc/self/cgroup");
    constexpr std::string_view kVersion2 = "0::";
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(kVersion2)) {
            return line.substr(kVersion2.size());
        }
    }
    return "";
}

/// Reads "quota period" in microseconds; "max period": there is no bound.
std::optional<std::uint32_t> cores_of_file(const fs::path& file) {
    std::ifstream in(file);
    std::uint64_t quota = 0;
    std::uint64_t period = 0;
    if (!(in >> quota >> period) || period == 0) {
        return std::nullopt;
    }
    // A core that is there for part of the time would hold up the others.
    const std::uint64_t cores = std::clamp<std::uint64_t>(quota / period, 1, kThreadsMax);
    return static_cast<std::uint32_t>(cores);
}

std::uint32_t auto_threads(std::uint32_t processes) {
    return std::clamp(usable_cores() / std::max(1U, processes), 1U, kAutoThreadsMax);
}

}  // namespace

std::optional<std::uint32_t> cores_of_group(const fs::path& root, const fs::path& group) {
    std::optional<std::uint32_t> least;
    fs::path folder = root;
    const auto look = [&] {
        if (const auto cores = cores_of_file(folder / "cpu.max")) {
            least = std::min(*cores, least.value_or(*cores));
        }
    };
    look();
    for (const fs::path& part : group.relative_path()) {
        folder /= part;
        look();
    }
    return least;
}

std::uint32_t usable_cores() {
    const std::uint32_t cores = cores_of_affinity();
    return std::min(cores, cores_of_group("/sys/fs/cgroup", own_group()).value_or(cores));
}

std::uint32_t threads_to_answer(ThreadsFlag given, std::uint32_t processes) {
    const std::uint32_t wanted = given.value_or(kAutoThreads);
    return wanted == kAutoThreads ? auto_threads(processes) : wanted;
}

std::uint32_t threads_to_train(ThreadsFlag given, std::uint32_t processes) {
    return threads_to_answer(given.value_or(1), processes);
}

std::shared_ptr<Workers> make_workers(std::uint32_t threads) {
    return std::make_shared<net::WorkerPool>(threads);
}

}  // namespace swarm::cli
