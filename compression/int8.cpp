#include "compression/int8.hpp"

#include "compression/simd/group_scale.hpp"

#include <algorithm>

namespace compression {
namespace {

using simd::kGroup;
using simd::kInt8GroupBytes;

class Int8 final : public Codec {
 public:
    explicit Int8(const simd::Kernels& kernels) : kernels_(kernels) {}

    [[nodiscard]] CodecId id() const override { return CodecId::Int8; }

    [[nodiscard]] std::string_view name() const override { return "int8"; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        const std::uint64_t groups = elements / kGroup + (elements % kGroup > 0 ? 1 : 0);
        return elements + sizeof(float) * groups;
    }

 private:
    Outcome write(
        std::span<const float> values,
        TensorRole /*role*/,
        std::uint64_t /*seed*/,
        std::span<std::byte> out
    ) const override {
        const std::size_t whole = values.size() / kGroup;
        bool finite = kernels_.encode_int8(values.data(), whole, out.data());
        const auto rest = values.subspan(whole * kGroup);
        if (finite && !rest.empty()) {
            // Zeros behind the last values change neither their scale nor their bytes.
            float padded[kGroup] = {};
            std::byte coded[kInt8GroupBytes];
            std::ranges::copy(rest, padded);
            finite = kernels_.encode_int8(padded, 1, coded);
            const auto to = out.subspan(whole * kInt8GroupBytes);
            std::copy_n(coded, to.size(), to.begin());
        }
        return finite ? Outcome::Done : Outcome::NotFinite;
    }

    Outcome read(std::span<const std::byte> bytes, std::span<float> out) const override {
        const std::size_t whole = out.size() / kGroup;
        bool well_formed = kernels_.decode_int8(bytes.data(), whole, out.data());
        const auto rest = out.subspan(whole * kGroup);
        if (well_formed && !rest.empty()) {
            std::byte padded[kInt8GroupBytes] = {};
            float values[kGroup];
            std::ranges::copy(bytes.subspan(whole * kInt8GroupBytes), padded);
            well_formed = kernels_.decode_int8(padded, 1, values);
            std::copy_n(values, rest.size(), rest.begin());
        }
        return well_formed ? Outcome::Done : Outcome::Malformed;
    }

    Outcome add(std::span<const std::byte> bytes, std::span<float> sum) const override {
        const std::size_t whole = sum.size() / kGroup;
        if (!kernels_.add_int8(bytes.data(), whole, sum.data())) {
            return Outcome::Malformed;
        }
        return Codec::add(bytes.subspan(whole * kInt8GroupBytes), sum.subspan(whole * kGroup));
    }

    const simd::Kernels& kernels_;
};

}  // namespace

std::unique_ptr<const Codec> make_int8(const simd::Kernels& kernels) {
    return std::make_unique<Int8>(kernels);
}

float int8_scale(float largest) {
    return simd::scale_of(simd::kInt8Rule, largest);
}

float int8_error_bound(float largest) {
    return largest <= simd::kZeroMax ? largest : kInt8ErrorFactor * int8_scale(largest);
}

}  // namespace compression
