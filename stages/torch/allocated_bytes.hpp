// Counts what LibTorch allocates on this thread, less what it frees, while the object lives.
// Cost: a lock and a table entry for each allocation: for measuring once, not for every microbatch.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>
#include <cstdint>
#include <memory>

namespace stages::torch_backend {

class AllocatedBytes {
 public:
    AllocatedBytes();

    [[nodiscard]] std::uint64_t count() const;

 private:
    class Counter;

    std::shared_ptr<Counter> counter_;
    c10::DebugInfoGuard guard_;
};

}  // namespace stages::torch_backend
