#include "compression/int8.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace compression {
namespace {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

static_assert(std::endian::native == std::endian::little, "a scale travels as it lies in memory");

constexpr std::size_t kScaleBytes = sizeof(float);
constexpr std::size_t kGroupBytes = kScaleBytes + kInt8Group;
constexpr std::uint32_t kMagnitudeMask = 0x7fffffff;
constexpr std::uint32_t kInfinityBits = 0x7f800000;
/// The bits of an fp32 mantissa that a scale leaves 0.
constexpr std::uint32_t kUnusedScaleBits = 0x7f;
/// Smallest normal number: a smaller scale would depend on whether denormals are flushed.
constexpr float kScaleMin = 0x1p-126F;
/// Adding 1.5 * 2^23 rounds to the nearest integer (ties to even) into the low bits; unlike
/// std::nearbyint it vectorises on every instruction set.
constexpr float kRounder = 12582912.0F;

std::uint32_t largest_magnitude_bits(const float* values, std::size_t count) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]) & kMagnitudeMask;
        largest = std::max(largest, static_cast<std::int32_t>(bits));
    }
    return static_cast<std::uint32_t>(largest);
}

void quantise(const float* values, std::size_t count, float inverse, std::byte* out) {
    const std::uint32_t base = std::bit_cast<std::uint32_t>(kRounder);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i] * inverse + kRounder);
        out[i] = static_cast<std::byte>(bits - base);
    }
}

/// False when the group holds NaN or infinity.
bool encode_group(const float* values, std::size_t count, std::byte* out) {
    const std::uint32_t largest = largest_magnitude_bits(values, count);
    if (largest >= kInfinityBits) {
        return false;
    }
    const float scale = int8_scale(std::bit_cast<float>(largest));
    std::memcpy(out, &scale, kScaleBytes);
    quantise(values, count, scale > 0 ? 1.0F / scale : 0.0F, out + kScaleBytes);
    return true;
}

bool is_scale(std::uint32_t bits) {
    return bits == 0 ||
           (bits >= std::bit_cast<std::uint32_t>(kScaleMin) &&
            bits <= std::bit_cast<std::uint32_t>(kInt8ScaleMax) && (bits & kUnusedScaleBits) == 0);
}

/// False when the bytes are none that encode_group() writes.
bool decode_group(const std::byte* bytes, std::size_t count, float* out) {
    std::uint32_t scale_bits = 0;
    std::memcpy(&scale_bits, bytes, kScaleBytes);
    if (!is_scale(scale_bits)) {
        return false;
    }
    const float scale = std::bit_cast<float>(scale_bits);
    const std::byte* const steps = bytes + kScaleBytes;
    std::uint8_t refused = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto step = static_cast<std::int8_t>(steps[i]);
        refused |= static_cast<std::uint8_t>(step == -128);
        out[i] = static_cast<float>(step) * scale;
    }
    return refused == 0;
}

Error malformed(const char* detail) {
    return {ErrorCode::Malformed, Reaction::Reject, detail};
}

class Int8 final : public Codec {
 public:
    [[nodiscard]] CodecId id() const override { return CodecId::Int8; }

    [[nodiscard]] std::string_view name() const override { return "int8"; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        const std::uint64_t groups = elements / kInt8Group + (elements % kInt8Group > 0 ? 1 : 0);
        return elements + kScaleBytes * groups;
    }

    Result<> encode(
        std::span<const float> values,
        TensorRole /*role*/,
        std::uint64_t /*seed*/,
        std::span<std::byte> out
    ) const override {
        if (out.size() != encoded_bytes(values.size())) {
            return malformed("codec int8: the output has not encoded_bytes(n) bytes; allocate these"
            );
        }
        const std::size_t whole = values.size() / kInt8Group;
        const std::size_t tail = values.size() % kInt8Group;
        bool finite = true;
        for (std::size_t group = 0; group < whole && finite; ++group) {
            // The count is a constant here, so the loops inside are unrolled and vectorised.
            finite = encode_group(
                values.data() + group * kInt8Group, kInt8Group, out.data() + group * kGroupBytes
            );
        }
        if (finite && tail > 0) {
            finite = encode_group(
                values.data() + whole * kInt8Group, tail, out.data() + whole * kGroupBytes
            );
        }
        if (!finite) {
            return Error{
                ErrorCode::NotFinite,
                Reaction::Reject,
                "tensor holds NaN or infinity; drop it and recall the microbatch"};
        }
        return {};
    }

    Result<> decode(std::span<const std::byte> bytes, std::span<float> out) const override {
        if (bytes.size() != encoded_bytes(out.size())) {
            return malformed("codec int8: size is not n + 4 * ceil(n / 64); drop the tensor");
        }
        const std::size_t whole = out.size() / kInt8Group;
        const std::size_t tail = out.size() % kInt8Group;
        bool well_formed = true;
        for (std::size_t group = 0; group < whole && well_formed; ++group) {
            well_formed = decode_group(
                bytes.data() + group * kGroupBytes, kInt8Group, out.data() + group * kInt8Group
            );
        }
        if (well_formed && tail > 0) {
            well_formed = decode_group(
                bytes.data() + whole * kGroupBytes, tail, out.data() + whole * kInt8Group
            );
        }
        if (!well_formed) {
            return malformed("codec int8: a scale or a byte that no encoder writes; drop the tensor"
            );
        }
        return {};
    }
};

}  // namespace

const Codec& int8_codec() {
    static const Int8 codec;
    return codec;
}

float int8_scale(float largest) {
    if (largest <= kScaleMin / 2) {
        return 0;  // every value is nearest to 0 with the smallest scale
    }
    const float nearest = largest / 127.0F;
    std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
    bits = (bits + kUnusedScaleBits) & ~kUnusedScaleBits;
    float scale = std::bit_cast<float>(bits);
    if (scale < kInt8ScaleMax && 127.0F * scale < largest) {
        scale = std::bit_cast<float>(bits + kUnusedScaleBits + 1);  // the division rounded down
    }
    return std::clamp(scale, kScaleMin, kInt8ScaleMax);
}

float int8_error_bound(float largest) {
    return largest <= kScaleMin / 2 ? largest : kInt8ErrorFactor * int8_scale(largest);
}

}  // namespace compression
