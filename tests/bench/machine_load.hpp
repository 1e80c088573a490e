// Measures the share of the machine that other programs used during a measurement.
// Unit: share of all processors, 0 to 1. Errors: nullopt where /proc/stat cannot be read.
// Source: proc(5), first line of /proc/stat, in clock ticks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace swarm::bench {

/// Above this load a figure says more about the machine's other programs than about ours.
inline constexpr double kForeignLoadMax = 0.15;

struct CpuTicks {
    std::uint64_t total = 0;
    std::uint64_t busy = 0;  // stolen by other virtual machines included
};

/// Reads "cpu  user nice system idle iowait irq softirq steal ...".
std::optional<CpuTicks> parse_cpu_line(std::string_view line);

/// `own_ticks`: ticks that this process and the children that it waited for used between the two.
double foreign_share(const CpuTicks& before, const CpuTicks& after, std::uint64_t own_ticks);

/// Measures the load from its construction on.
class LoadMeter {
 public:
    LoadMeter();

    [[nodiscard]] std::optional<double> foreign() const;

 private:
    std::optional<CpuTicks> before_;
    std::uint64_t own_before_;
};

}  // namespace swarm::bench
