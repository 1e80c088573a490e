#include "stages/torch/allocated_bytes.hpp"

#include <algorithm>
#include <c10/core/Allocator.h>
#include <cstddef>

namespace stages::torch_backend {

/// Stands in for the profiler, to which LibTorch's allocators report.
class AllocatedBytes::Counter final : public c10::MemoryReportingInfoBase {
 public:
    void reportMemoryUsage(
        void* /*memory*/,
        std::int64_t bytes,
        std::size_t /*total_allocated*/,
        std::size_t /*total_reserved*/,
        c10::Device /*device*/
    ) override {
        bytes_ += bytes;  // `bytes` is negative when memory is freed
    }

    [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

    [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
    std::int64_t bytes_ = 0;
};

AllocatedBytes::AllocatedBytes()
    : counter_(std::make_shared<Counter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}

std::uint64_t AllocatedBytes::count() const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(counter_->bytes(), 0));
}

}  // namespace stages::torch_backend
