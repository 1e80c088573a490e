// A vector that copies share until one of them changes it. So a snapshot of a state costs nothing
// until the state gets its next version.
// Invariant: a reader never sees a change that another copy makes.
// Threading: each object belongs to one thread at a time; its copies may belong to other threads
// and may be handed over.
// Cost: own() copies all values when another copy shares them, and is free otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace stages {

class SharedValues {
 public:
    explicit SharedValues(std::vector<float> values)
        : values_(std::make_shared<std::vector<float>>(std::move(values))) {}

    [[nodiscard]] std::size_t size() const { return values_->size(); }

    [[nodiscard]] std::span<const float> view() const { return *values_; }

    /// Returns the values for changing them; this object alone has them then. Views and spans that
    /// were taken before are void.
    [[nodiscard]] std::span<float> own() {
        if (values_.use_count() > 1) {
            values_ = std::make_shared<std::vector<float>>(*values_);
        }
        // No other copy has the values, so no copy can get them any more. The last other copy read
        // them on its thread before the count fell; those reads must not move behind our writes.
        std::atomic_thread_fence(std::memory_order_acquire);
        return *values_;
    }

 private:
    std::shared_ptr<std::vector<float>> values_;
};

}  // namespace stages
