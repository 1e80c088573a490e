#include "stacking/kernels/panel_memory.hpp"

#include <cstdint>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace stacking::kernels {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePageBytes = 2U << 20;
constexpr std::size_t kMappingBytes = 32U << 20;  // a larger matrix has a mapping of its own
constexpr std::size_t kSmallBytes = 64U << 10;    // from malloc

std::size_t rounded(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

class Mapping {
 public:
    explicit Mapping(std::size_t bytes) : bytes_(bytes + kHugePageBytes) {
        constexpr int kNoFile = -1;
        base_ = ::mmap(
            nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, kNoFile, 0
        );
        if (base_ == MAP_FAILED) {
            throw std::bad_alloc();
        }
        // Huge pages begin at their multiples. What lies before is never touched.
        const auto address = reinterpret_cast<std::uintptr_t>(base_);
        begin_ = static_cast<std::byte*>(base_) + (rounded(address, kHugePageBytes) - address);
        ::madvise(begin_, bytes, MADV_HUGEPAGE);  // a system without them has its small ones
    }

    ~Mapping() { ::munmap(base_, bytes_); }

    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    [[nodiscard]] std::byte* begin() const { return begin_; }

 private:
    std::size_t bytes_;
    void* base_ = nullptr;
    std::byte* begin_ = nullptr;
};

/// The mapping that has room left.
struct Pool {
    std::mutex mutex{};
    std::weak_ptr<const Mapping> mapping{};
    std::size_t used = 0;
};

PanelMemory take_pooled(std::size_t bytes) {
    static Pool pool;
    const std::lock_guard lock(pool.mutex);
    auto mapping = pool.mapping.lock();
    if (mapping == nullptr || pool.used + bytes > kMappingBytes) {
        mapping = std::make_shared<const Mapping>(kMappingBytes);
        pool.mapping = mapping;
        pool.used = 0;
    }
    std::byte* const begin = mapping->begin() + pool.used;
    pool.used += bytes;
    return {begin, FreePanels(std::move(mapping))};
}

}  // namespace

PanelMemory allocate_panels(std::size_t bytes) {
    const std::size_t whole = rounded(bytes, kAlignment);
    if (whole < kSmallBytes) {
        auto* const begin = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
        if (begin == nullptr && whole > 0) {
            throw std::bad_alloc();
        }
        return {begin, FreePanels()};
    }
    if (whole <= kMappingBytes) {
        return take_pooled(whole);
    }
    auto mapping = std::make_shared<const Mapping>(whole);
    std::byte* const begin = mapping->begin();
    return {begin, FreePanels(std::move(mapping))};
}

}  // namespace stacking::kernels
