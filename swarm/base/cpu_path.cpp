#include "swarm/base/cpu_path.hpp"

#include <cpuid.h>

namespace swarm {
namespace {

/// Asks the processor for F16C, a name that clang 14's __builtin_cpu_supports does not know.
bool has_f16c() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

std::string_view to_text(CpuPath path) {
    switch (path) {
        case CpuPath::Scalar:
            return "scalar";
        case CpuPath::Avx2:
            return "avx2";
        case CpuPath::Avx512:
            return "avx512";
    }
    return "unknown";
}

bool has(CpuPath path) {
    switch (path) {
        case CpuPath::Scalar:
            return true;
        case CpuPath::Avx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
        case CpuPath::Avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq");
    }
    return false;
}

CpuPath best_cpu_path() {
    if (has(CpuPath::Avx512)) {
        return CpuPath::Avx512;
    }
    return has(CpuPath::Avx2) ? CpuPath::Avx2 : CpuPath::Scalar;
}

}  // namespace swarm
