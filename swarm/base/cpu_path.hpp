// The instruction sets for which inner loops exist: one path each, all with the same bits.
// Invariant: has() asks the processor and the system, which must save the wider registers.
// Threading: functions without state. Cost: some ns; ask once.
#pragma once

#include <cstdint>
#include <string_view>

namespace swarm {

/// Avx2: with FMA and F16C. Avx512: F, BW and DQ.
enum class CpuPath : std::uint8_t { Scalar, Avx2, Avx512 };
inline constexpr CpuPath kCpuPaths[] = {CpuPath::Scalar, CpuPath::Avx2, CpuPath::Avx512};

/// "scalar", "avx2", "avx512"
std::string_view to_text(CpuPath path);

/// Whether this machine can run it.
bool has(CpuPath path);
/// The widest that it can.
CpuPath best_cpu_path();

}  // namespace swarm
