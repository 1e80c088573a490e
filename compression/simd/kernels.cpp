#include "compression/simd/kernels.hpp"

namespace compression::simd {

const Kernels* kernels_of(Path path) {
    if (!swarm::has(path)) {
        return nullptr;
    }
    switch (path) {
        case Path::Scalar:
            return &scalar_kernels();
        case Path::Avx2:
            return &avx2_kernels();
        case Path::Avx512:
            return &avx512_kernels();
    }
    return nullptr;
}

const Kernels& best_kernels() {
    return *kernels_of(swarm::best_cpu_path());
}

}  // namespace compression::simd
