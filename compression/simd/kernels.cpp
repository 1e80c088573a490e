#include "compression/simd/kernels.hpp"

#include <cpuid.h>

namespace compression::simd {
namespace {

/// clang 14's __builtin_cpu_supports does not know this name.
bool has_f16c() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

std::string_view to_text(Path path) {
    switch (path) {
        case Path::Scalar:
            return "scalar";
        case Path::Avx2:
            return "avx2";
        case Path::Avx512:
            return "avx512";
    }
    return "unknown";
}

const Kernels* kernels_of(Path path) {
    // The builtins also ask whether the system saves the wider registers.
    switch (path) {
        case Path::Scalar:
            return &scalar_kernels();
        case Path::Avx2:
            return __builtin_cpu_supports("avx2") && has_f16c() ? &avx2_kernels() : nullptr;
        case Path::Avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq")
                       ? &avx512_kernels()
                       : nullptr;
    }
    return nullptr;
}

const Kernels& best_kernels() {
    for (const Path path : {Path::Avx512, Path::Avx2}) {
        if (const Kernels* const kernels = kernels_of(path)) {
            return *kernels;
        }
    }
    return scalar_kernels();
}

}  // namespace compression::simd
