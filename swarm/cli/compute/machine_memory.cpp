#include "swarm/cli/compute/machine_memory.hpp"

#include <algorithm>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

std::uint64_t physical_bytes() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page_bytes = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0
               ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
               : UINT64_MAX;
}

std::uint64_t limit_of(__rlimit_resource_t resource) {
    rlimit limit{};
    const bool known = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? limit.rlim_cur : UINT64_MAX;
}

/// Returns the path in a line such as "0::/user.slice" or "4:memory:/docker/1".
fs::path group_with(const std::string& controllers) {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second != std::string::npos &&
            line.substr(first + 1, second - first - 1) == controllers) {
            return line.substr(second + 1);
        }
    }
    return "";
}

}  // namespace

std::optional<std::uint64_t> memory_of_group(
    const fs::path& root, const fs::path& group, const std::string& file_name
) {
    std::optional<std::uint64_t> least;
    fs::path folder = root;
    const auto look = [&] {
        std::ifstream in(folder / file_name);
        if (std::uint64_t bytes = 0; in >> bytes) {  // "max" is no number, and no bound
            least = std::min(bytes, least.value_or(bytes));
        }
    };
    look();
    for (const fs::path& part : group.relative_path()) {
        folder /= part;
        look();
    }
    return least;
}

std::uint64_t memory_of_ulimit() {
    return std::min(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
}

std::uint64_t machine_memory_bytes() {
    const auto second = memory_of_group("/sys/fs/cgroup", group_with(""), "memory.max");
    const auto first =
        memory_of_group("/sys/fs/cgroup/memory", group_with("memory"), "memory.limit_in_bytes");
    return std::min(
        {physical_bytes(),
         memory_of_ulimit(),
         second.value_or(UINT64_MAX),
         first.value_or(UINT64_MAX)}
    );
}

}  // namespace swarm::cli
