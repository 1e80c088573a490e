#include "stacking/kernels/kernels.hpp"

namespace stacking::kernels {

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
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2_kernels()
                                                                                   : nullptr;
        case Path::Avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
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

}  // namespace stacking::kernels
