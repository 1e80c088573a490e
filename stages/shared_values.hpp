// A vector that copies have in common until one of them changes it: so a snapshot of a state costs
// nothing before the state becomes another one.
// Invariant: who reads never sees a change that another copy makes.
// Threading: each object has one thread at a time; copies of it may be on others, and go there.
// Cost: own() copies all values when another has them, too, and is free otherwise.
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

    /// To be changed, by this object alone. Views and spans from before are void.
    [[nodiscard]] std::span<float> own() {
        if (values_.use_count() > 1) {
            values_ = std::make_shared<std::vector<float>>(*values_);
        }
        // Nobody else has them, so nobody can come to. What the last one read, on its thread, it
        // read before the count fell: that must not move behind our writes.
        std::atomic_thread_fence(std::memory_order_acquire);
        return *values_;
    }

 private:
    std::shared_ptr<std::vector<float>> values_;
};

}  // namespace stages
