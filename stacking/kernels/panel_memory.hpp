// Memory of packed matrices. Large ones lie side by side in huge pages where the system has them:
// a token reads every weight once, and on pages of 4 KiB its rate was 8 to 19 % lower (Zen 4,
// Q8_0). Small ones come from malloc, whose bounds a sanitizer watches.
// Invariant: memory is aligned to cache lines and lives as long as its owner; what large matrices
// share goes back to the system with the last of them.
// Threading: any thread. Errors: std::bad_alloc. Cost: a lock, and a mapping for each 32 MiB.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

namespace stacking::kernels {

class FreePanels {
 public:
    FreePanels() = default;

    explicit FreePanels(std::shared_ptr<const void> mapping) : mapping_(std::move(mapping)) {}

    void operator()(std::byte* bytes) {
        if (mapping_ == nullptr) {
            std::free(bytes);
        }
        mapping_ = nullptr;
    }

 private:
    std::shared_ptr<const void> mapping_;  // null: malloc's
};

using PanelMemory = std::unique_ptr<std::byte[], FreePanels>;

/// Returns memory whose values are not set.
PanelMemory allocate_panels(std::size_t bytes);

}  // namespace stacking::kernels
