// The number of threads that LibTorch uses within one operation, and which of its warnings show.
// Invariant: LibTorch's setting binds only the thread that made it, so every entry makes it.
// Threading: any thread. Errors: none. Cost: a comparison where the number is the last one.
#pragma once

#include <cstdint>

namespace stages::torch_backend {

/// `threads`: above 0.
void compute_on(std::uint32_t threads);

}  // namespace stages::torch_backend
