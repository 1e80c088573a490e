#include "compression/none.hpp"

#include "compression/simd/group_scale.hpp"

#include <algorithm>
#include <cstring>

namespace compression {
namespace {

/// So many values stay in the first cache between the check and the copy.
constexpr std::size_t kFloatsAtOnce = 2048;

class None final : public Codec {
 public:
    explicit None(const simd::Kernels& kernels) : kernels_(kernels) {}

    [[nodiscard]] CodecId id() const override { return CodecId::None; }

    [[nodiscard]] std::string_view name() const override { return "none"; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        return sizeof(float) * elements;
    }

 private:
    Outcome write(
        std::span<const float> values,
        TensorRole /*role*/,
        std::uint64_t /*seed*/,
        std::span<std::byte> out
    ) const override {
        for (std::size_t i = 0; i < values.size(); i += kFloatsAtOnce) {
            const std::span<const float> block =
                values.subspan(i, std::min(kFloatsAtOnce, values.size() - i));
            if (!is_finite(block)) {
                return Outcome::NotFinite;
            }
            std::memcpy(out.data() + sizeof(float) * i, block.data(), block.size_bytes());
        }
        return Outcome::Done;
    }

    /// The bytes may be unaligned, so the values are checked as floats at their destination.
    Outcome read(std::span<const std::byte> bytes, std::span<float> out) const override {
        for (std::size_t i = 0; i < out.size(); i += kFloatsAtOnce) {
            const std::span<float> block = out.subspan(i, std::min(kFloatsAtOnce, out.size() - i));
            std::memcpy(block.data(), bytes.data() + sizeof(float) * i, block.size_bytes());
            if (!is_finite(block)) {
                return Outcome::NotFinite;
            }
        }
        return Outcome::Done;
    }

    [[nodiscard]] bool is_finite(std::span<const float> values) const {
        return kernels_.largest_magnitude(values.data(), values.size()) < simd::kInfinityBits;
    }

    const simd::Kernels& kernels_;
};

}  // namespace

std::unique_ptr<const Codec> make_none(const simd::Kernels& kernels) {
    return std::make_unique<None>(kernels);
}

}  // namespace compression
