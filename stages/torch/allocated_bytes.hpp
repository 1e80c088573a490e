// Counts the bytes that LibTorch allocates on this thread, less those that it frees, while the
// object lives.
// Threading: one thread. Cost: a lock and a table entry for each allocation, which is fit for
// measuring once, not for every microbatch.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>
#include <cstdint>
#include <memory>

namespace stages::torch_backend {

class AllocatedBytes {
 public:
    AllocatedBytes();

    /// Bytes so far; 0 when more were freed than allocated.
    [[nodiscard]] std::uint64_t count() const;

 private:
    class Counter;

    std::shared_ptr<Counter> counter_;
    c10::DebugInfoGuard guard_;
};

}  // namespace stages::torch_backend
