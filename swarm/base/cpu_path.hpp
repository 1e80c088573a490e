// The instruction sets for which inner loops exist. Each has its own path of code; all paths give
// the same bits.
// Invariant: has() asks the processor and also the system, which must save the wider registers.
// Threading: functions without state. Cost: a few ns; callers ask once and keep the answer.
#pragma once

#include <cstdint>
#include <string_view>

namespace swarm {

/// Avx2 includes FMA and F16C. Avx512 is F, BW and DQ.
enum class CpuPath : std::uint8_t { Scalar, Avx2, Avx512 };
inline constexpr CpuPath kCpuPaths[] = {CpuPath::Scalar, CpuPath::Avx2, CpuPath::Avx512};

/// Returns "scalar", "avx2" or "avx512".
std::string_view to_text(CpuPath path);

/// Tells whether this machine can run the path.
bool has(CpuPath path);
/// Returns the widest path that this machine can run.
CpuPath best_cpu_path();

}  // namespace swarm
