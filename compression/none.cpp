#include "compression/none.hpp"

#include <bit>
#include <cstring>

namespace compression {
namespace {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

static_assert(std::endian::native == std::endian::little, "fp32 travels as it lies in memory");

constexpr std::uint32_t kMagnitudeMask = 0x7fffffff;
constexpr std::uint32_t kInfinityBits = 0x7f800000;

/// No early exit, so that the compiler vectorises it.
bool all_finite(const std::byte* bytes, std::size_t elements) {
    std::uint32_t not_finite = 0;
    for (std::size_t i = 0; i < elements; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, bytes + 4 * i, sizeof bits);
        not_finite |= static_cast<std::uint32_t>((bits & kMagnitudeMask) >= kInfinityBits);
    }
    return not_finite == 0;
}

Result<> copy_finite(const std::byte* from, std::byte* to, std::size_t elements) {
    if (!all_finite(from, elements)) {
        return Error{
            ErrorCode::NotFinite,
            Reaction::Reject,
            "tensor holds NaN or infinity; drop it and recall the microbatch"};
    }
    if (elements > 0) {
        std::memcpy(to, from, 4 * elements);
    }
    return {};
}

Error wrong_size() {
    return {
        ErrorCode::Malformed,
        Reaction::Reject,
        "codec none: not 4 bytes per element; drop the tensor"};
}

class None final : public Codec {
 public:
    [[nodiscard]] CodecId id() const override { return CodecId::None; }

    [[nodiscard]] std::string_view name() const override { return "none"; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        return 4 * elements;
    }

    Result<> encode(
        std::span<const float> values,
        TensorRole /*role*/,
        std::uint64_t /*seed*/,
        std::span<std::byte> out
    ) const override {
        if (out.size() != encoded_bytes(values.size())) {
            return wrong_size();
        }
        return copy_finite(std::as_bytes(values).data(), out.data(), values.size());
    }

    Result<> decode(std::span<const std::byte> bytes, std::span<float> out) const override {
        if (bytes.size() != encoded_bytes(out.size())) {
            return wrong_size();
        }
        return copy_finite(bytes.data(), std::as_writable_bytes(out).data(), out.size());
    }
};

}  // namespace

const Codec& none_codec() {
    static const None codec;
    return codec;
}

}  // namespace compression
