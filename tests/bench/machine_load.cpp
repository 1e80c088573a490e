#include "tests/bench/machine_load.hpp"

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/times.h>

namespace swarm::bench {
namespace {

std::optional<CpuTicks> read_ticks() {
    std::ifstream file("/proc/stat");
    std::string line;
    return std::getline(file, line) ? parse_cpu_line(line) : std::nullopt;
}

std::uint64_t own_ticks() {
    tms used{};
    ::times(&used);
    return static_cast<std::uint64_t>(
        used.tms_utime + used.tms_stime + used.tms_cutime + used.tms_cstime
    );
}

}  // namespace

std::optional<CpuTicks> parse_cpu_line(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string name;
    std::array<std::uint64_t, 8> ticks{};  // the columns after these are part of user and nice
    words >> name;
    for (std::uint64_t& tick : ticks) {
        words >> tick;
    }
    if (!words || name != "cpu") {
        return std::nullopt;
    }
    CpuTicks sum;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
        const bool idle = i == 3 || i == 4;
        sum.total += ticks[i];
        sum.busy += idle ? 0 : ticks[i];
    }
    return sum;
}

double foreign_share(const CpuTicks& before, const CpuTicks& after, std::uint64_t own_ticks) {
    const std::uint64_t busy = after.busy - before.busy;
    const std::uint64_t total = after.total - before.total;
    if (total == 0 || busy <= own_ticks) {
        return 0;
    }
    return static_cast<double>(busy - own_ticks) / static_cast<double>(total);
}

LoadMeter::LoadMeter() : before_(read_ticks()), own_before_(own_ticks()) {}

std::optional<double> LoadMeter::foreign() const {
    const auto after = read_ticks();
    if (!before_ || !after) {
        return std::nullopt;
    }
    return foreign_share(*before_, *after, own_ticks() - own_before_);
}

}  // namespace swarm::bench
