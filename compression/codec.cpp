#include "compression/codec.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>

namespace compression {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

std::string_view to_text(TensorRole role) {
    switch (role) {
        case TensorRole::Activation:
            return "activations";
        case TensorRole::ActivationGradient:
            return "activation gradients";
        case TensorRole::WeightGradient:
            return "weight gradients";
        case TensorRole::PseudoGradient:
            return "pseudo-gradients";
        case TensorRole::Parameter:
            return "parameters";
    }
    return "tensors of an unknown role";
}

namespace {

/// Values that are decoded before they are added: whole groups, which stay in the first cache.
constexpr std::size_t kPiece = 32 * simd::kGroup;

Error refused(std::string_view codec, ErrorCode code, const std::string& detail) {
    return {code, Reaction::Reject, "codec " + std::string(codec) + ": " + detail};
}

Error wrong_size(const Codec& codec, std::size_t bytes, std::size_t elements) {
    return refused(
        codec.name(),
        ErrorCode::Malformed,
        std::to_string(bytes) + " bytes where " + std::to_string(elements) + " values take " +
            std::to_string(codec.encoded_bytes(elements)) + "; drop the tensor"
    );
}

}  // namespace

Result<> Codec::check_role(TensorRole role) const {
    const std::string_view reason = refusal_of(role);
    if (reason.empty()) {
        return {};
    }
    return refused(
        name(),
        ErrorCode::Unsupported,
        "not for " + std::string(to_text(role)) + ": " + std::string(reason)
    );
}

Result<> Codec::encode(
    std::span<const float> values, TensorRole role, std::uint64_t seed, std::span<std::byte> out
) const {
    SWARM_TRY(check_role(role));
    if (out.size() != encoded_bytes(values.size())) {
        return wrong_size(*this, out.size(), values.size());
    }
    if (write(values, role, seed, out) != Outcome::Done) {
        return refused(
            name(),
            ErrorCode::NotFinite,
            "NaN, infinity or a magnitude above its limit; drop the tensor, recall the microbatch"
        );
    }
    return {};
}

Result<> Codec::decode(std::span<const std::byte> bytes, std::span<float> out) const {
    if (bytes.size() != encoded_bytes(out.size())) {
        return wrong_size(*this, bytes.size(), out.size());
    }
    return result_of_reading(read(bytes, out));
}

Result<> Codec::decode_add(std::span<const std::byte> bytes, std::span<float> sum) const {
    if (bytes.size() != encoded_bytes(sum.size())) {
        return wrong_size(*this, bytes.size(), sum.size());
    }
    return result_of_reading(add(bytes, sum));
}

Codec::Outcome Codec::add(std::span<const std::byte> bytes, std::span<float> sum) const {
    float piece[kPiece];
    for (std::size_t i = 0; i < sum.size(); i += kPiece) {
        const std::span<float> part = sum.subspan(i, std::min(kPiece, sum.size() - i));
        const std::span<float> values(piece, part.size());
        const std::size_t begin = encoded_bytes(i);
        const auto from = bytes.subspan(begin, encoded_bytes(i + part.size()) - begin);
        if (const Outcome outcome = read(from, values); outcome != Outcome::Done) {
            return outcome;
        }
        for (std::size_t k = 0; k < part.size(); ++k) {
            part[k] += values[k];
        }
    }
    return Outcome::Done;
}

Result<> Codec::result_of_reading(Outcome outcome) const {
    switch (outcome) {
        case Outcome::Done:
            return {};
        case Outcome::NotFinite:
            return refused(
                name(), ErrorCode::NotFinite, "bytes that mean NaN or infinity; drop the tensor"
            );
        case Outcome::Malformed:
            break;
    }
    return refused(name(), ErrorCode::Malformed, std::string(malformed()) + "; drop the tensor");
}

}  // namespace compression
