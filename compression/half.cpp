#include "compression/half.hpp"

#include "compression/simd/group_scale.hpp"

#include <algorithm>

namespace compression {
namespace {

constexpr std::size_t kHalfBytes = 2;
/// So many values stay in the first cache between the search for NaN and the conversion.
constexpr std::size_t kBlock = 2048;

struct Format {
    CodecId id;
    std::string_view name;
    void (*encode)(const float* values, std::size_t count, std::byte* out);
    void (*decode)(const std::byte* bytes, std::size_t count, float* out);
};

class Half final : public Codec {
 public:
    Half(const simd::Kernels& kernels, Format format) : kernels_(kernels), format_(format) {}

    [[nodiscard]] CodecId id() const override { return format_.id; }

    [[nodiscard]] std::string_view name() const override { return format_.name; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        return kHalfBytes * elements;
    }

    [[nodiscard]] std::string_view refusal_of(TensorRole role) const override {
        const bool tiny = role == TensorRole::WeightGradient || role == TensorRole::PseudoGradient;
        return format_.id == CodecId::Fp16 && tiny ? "what is below 2^-25 would become 0; use bf16"
                                                   : std::string_view();
    }

 private:
    Outcome write(
        std::span<const float> values,
        TensorRole /*role*/,
        std::uint64_t /*seed*/,
        std::span<std::byte> out
    ) const override {
        for (std::size_t i = 0; i < values.size(); i += kBlock) {
            const std::size_t count = std::min(kBlock, values.size() - i);
            if (!is_finite(values.data() + i, count)) {
                return Outcome::NotFinite;
            }
            format_.encode(values.data() + i, count, out.data() + kHalfBytes * i);
        }
        return Outcome::Done;
    }

    Outcome read(std::span<const std::byte> bytes, std::span<float> out) const override {
        for (std::size_t i = 0; i < out.size(); i += kBlock) {
            const std::size_t count = std::min(kBlock, out.size() - i);
            format_.decode(bytes.data() + kHalfBytes * i, count, out.data() + i);
            if (!is_finite(out.data() + i, count)) {
                return Outcome::NotFinite;
            }
        }
        return Outcome::Done;
    }

    [[nodiscard]] bool is_finite(const float* values, std::size_t count) const {
        return kernels_.largest_magnitude(values, count) < simd::kInfinityBits;
    }

    const simd::Kernels& kernels_;
    Format format_;
};

}  // namespace

std::unique_ptr<const Codec> make_bf16(const simd::Kernels& kernels) {
    const Format format{CodecId::Bf16, "bf16", kernels.encode_bf16, kernels.decode_bf16};
    return std::make_unique<Half>(kernels, format);
}

std::unique_ptr<const Codec> make_fp16(const simd::Kernels& kernels) {
    const Format format{CodecId::Fp16, "fp16", kernels.encode_fp16, kernels.decode_fp16};
    return std::make_unique<Half>(kernels, format);
}

}  // namespace compression
