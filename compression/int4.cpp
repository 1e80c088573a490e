#include "compression/int4.hpp"

#include "compression/simd/group_scale.hpp"

#include <algorithm>
#include <bit>

namespace compression {
namespace {

using simd::kGroup;
using simd::kInt4GroupBytes;

/// The error of fp32 in x * (1 / scale), in steps.
constexpr float kSlack = 0x1p-19F;
/// Groups that are transformed before they are coded; they stay in the first cache.
constexpr std::size_t kBlockGroups = 16;

class FourBit : public Codec {
 public:
    [[nodiscard]] std::string_view refusal_of(TensorRole role) const override {
        return role == TensorRole::Parameter
                   ? "15 levels would swallow the updates; use int8, bf16 or none"
                   : std::string_view();
    }

 protected:
    explicit FourBit(const simd::Kernels& kernels) : kernels_(kernels) {}

    [[nodiscard]] const simd::Kernels& kernels() const { return kernels_; }

    bool encode_groups(
        std::span<const float> values,
        TensorRole role,
        std::uint64_t seed,
        std::size_t first_group,
        std::byte* out
    ) const {
        const std::size_t groups = values.size() / kGroup;
        return is_gradient(role)
                   ? kernels_.encode_int4_stochastic(values.data(), groups, seed, first_group, out)
                   : kernels_.encode_int4(values.data(), groups, out);
    }

 private:
    const simd::Kernels& kernels_;
};

class Int4 final : public FourBit {
 public:
    explicit Int4(const simd::Kernels& kernels) : FourBit(kernels) {}

    [[nodiscard]] CodecId id() const override { return CodecId::Int4; }

    [[nodiscard]] std::string_view name() const override { return "int4"; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        const std::uint64_t tail = elements % kGroup;
        const std::uint64_t tail_bytes = tail > 0 ? sizeof(std::uint16_t) + (tail + 1) / 2 : 0;
        return elements / kGroup * kInt4GroupBytes + tail_bytes;
    }

 private:
    Outcome write(
        std::span<const float> values, TensorRole role, std::uint64_t seed, std::span<std::byte> out
    ) const override {
        const std::size_t whole = values.size() / kGroup;
        bool finite = encode_groups(values, role, seed, 0, out.data());
        const auto rest = values.subspan(whole * kGroup);
        if (finite && !rest.empty()) {
            // Zeros behind the last values change neither their scale nor their nibbles.
            float padded[kGroup] = {};
            std::byte coded[kInt4GroupBytes];
            std::ranges::copy(rest, padded);
            finite = encode_groups(padded, role, seed, whole, coded);
            const auto to = out.subspan(whole * kInt4GroupBytes);
            std::copy_n(coded, to.size(), to.begin());
        }
        return finite ? Outcome::Done : Outcome::NotFinite;
    }

    Outcome read(std::span<const std::byte> bytes, std::span<float> out) const override {
        const std::size_t whole = out.size() / kGroup;
        const float scale_max = simd::kInt4Rule.max;
        bool well_formed = kernels().decode_int4(bytes.data(), whole, scale_max, out.data());
        const auto rest = out.subspan(whole * kGroup);
        if (well_formed && !rest.empty()) {
            std::byte padded[kInt4GroupBytes] = {};
            float values[kGroup];
            std::ranges::copy(bytes.subspan(whole * kInt4GroupBytes), padded);
            well_formed = kernels().decode_int4(padded, 1, scale_max, values) &&
                          (rest.size() % 2 == 0 || (bytes.back() >> 4) == std::byte{0});
            std::copy_n(values, rest.size(), rest.begin());
        }
        return well_formed ? Outcome::Done : Outcome::Malformed;
    }
};

class HadamardInt4 final : public FourBit {
 public:
    explicit HadamardInt4(const simd::Kernels& kernels) : FourBit(kernels) {}

    [[nodiscard]] CodecId id() const override { return CodecId::HadamardInt4; }

    [[nodiscard]] std::string_view name() const override { return "hadamard-int4"; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        return kInt4GroupBytes * (elements / kGroup + (elements % kGroup > 0 ? 1 : 0));
    }

 private:
    Outcome write(
        std::span<const float> values, TensorRole role, std::uint64_t seed, std::span<std::byte> out
    ) const override {
        float block[kBlockGroups * kGroup];
        for (std::size_t i = 0; i < values.size(); i += std::size(block)) {
            const auto part = values.subspan(i, std::min(std::size(block), values.size() - i));
            if (kernels().largest_magnitude(part.data(), part.size()) >
                std::bit_cast<std::uint32_t>(kHadamardMax)) {
                return Outcome::NotFinite;
            }
            const std::size_t groups = transform(part, block);
            const std::size_t first = i / kGroup;
            std::byte* const to = out.data() + first * kInt4GroupBytes;
            encode_groups({block, groups * kGroup}, role, seed, first, to);
        }
        return Outcome::Done;
    }

    /// Fills the last group with zeros. Returns the number of groups.
    std::size_t transform(std::span<const float> values, float* out) const {
        const std::size_t whole = values.size() / kGroup;
        kernels().hadamard(values.data(), whole, out);
        const auto rest = values.subspan(whole * kGroup);
        if (rest.empty()) {
            return whole;
        }
        float* const last = out + whole * kGroup;
        std::fill_n(last, kGroup, 0.0F);
        std::ranges::copy(rest, last);
        kernels().hadamard(last, 1, last);
        return whole + 1;
    }

    Outcome read(std::span<const std::byte> bytes, std::span<float> out) const override {
        const std::size_t groups = bytes.size() / kInt4GroupBytes;
        float block[kBlockGroups * kGroup];
        for (std::size_t group = 0; group < groups; group += kBlockGroups) {
            const std::size_t count = std::min(kBlockGroups, groups - group);
            const std::byte* const from = bytes.data() + group * kInt4GroupBytes;
            if (!kernels().decode_int4(from, count, simd::kHadamardScaleMax, block)) {
                return Outcome::Malformed;
            }
            kernels().hadamard(block, count, block);
            const auto to = out.subspan(group * kGroup);
            std::copy_n(block, std::min(count * kGroup, to.size()), to.begin());
        }
        return Outcome::Done;
    }
};

}  // namespace

std::unique_ptr<const Codec> make_int4(const simd::Kernels& kernels) {
    return std::make_unique<Int4>(kernels);
}

std::unique_ptr<const Codec> make_hadamard_int4(const simd::Kernels& kernels) {
    return std::make_unique<HadamardInt4>(kernels);
}

float int4_scale(float largest) {
    return simd::scale_of(simd::kInt4Rule, largest);
}

float int4_error_bound(float largest, TensorRole role) {
    const float steps = is_gradient(role) ? 1.0F : 0.5F;
    return largest <= simd::kZeroMax ? largest : (steps + kSlack) * int4_scale(largest);
}

float hadamard_int4_error_bound(float largest, TensorRole role) {
    // A value is an eighth of a sum of 64 coefficients. Those are rounded sums themselves, and
    // denormal ones lose up to 2^-150 when divided by 8; the sums of the way back are exact.
    return 8 * (int4_error_bound(largest, role) + 0x1p-20F * largest) + 0x1p-147F;
}

}  // namespace compression
