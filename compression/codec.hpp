// A codec turns the fp32 values of a tensor into bytes and back.
// Invariant: encode is a function of (values, role, seed), decode of the bytes alone, bit-identical
// on every path and peer; the seed is (run, step, microbatch, stage, leg), never attempt or peer,
// so a replay sends the same bytes.
// Threading: codecs have no state. Errors, all Reject: Malformed (sizes, bytes that no encoder
// writes), NotFinite (NaN, infinity, a magnitude that the codec cannot carry), Unsupported (a role
// that it does not serve). The caller drops the tensor; after an error the output is unspecified.
// To add one: one file, one line in registry.cpp; tests/unit/compression judges every entry.
#pragma once

#include "compression/simd/kernels.hpp"
#include "swarm/base/result.hpp"
#include "swarm/protocol/tensor_envelope.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace compression {

using swarm::Result;
using swarm::protocol::CodecId;

enum class TensorRole : std::uint8_t {
    Activation,
    ActivationGradient,
    WeightGradient,
    PseudoGradient,  // weights before minus weights after several local steps
    Parameter
};
inline constexpr TensorRole kTensorRoles[] = {
    TensorRole::Activation,
    TensorRole::ActivationGradient,
    TensorRole::WeightGradient,
    TensorRole::PseudoGradient,
    TensorRole::Parameter};

/// "weight gradients": for error texts.
std::string_view to_text(TensorRole role);

constexpr bool is_gradient(TensorRole role) {
    return role == TensorRole::ActivationGradient || role == TensorRole::WeightGradient ||
           role == TensorRole::PseudoGradient;
}

class Codec {
 public:
    Codec() = default;
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;
    virtual ~Codec() = default;

    [[nodiscard]] virtual CodecId id() const = 0;
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Exact size of encode()'s output. No overflow up to 2^60 elements.
    [[nodiscard]] virtual std::uint64_t encoded_bytes(std::uint64_t elements) const = 0;

    /// Says why the codec must not be used for this role; empty when it may be used.
    [[nodiscard]] virtual std::string_view refusal_of(TensorRole /*role*/) const { return {}; }

    /// Returns Unsupported with the reason when the codec does not serve the role; ask before
    /// allocating.
    [[nodiscard]] Result<> check_role(TensorRole role) const;

    /// `out` has encoded_bytes(values.size()) bytes.
    Result<> encode(
        std::span<const float> values, TensorRole role, std::uint64_t seed, std::span<std::byte> out
    ) const;
    /// `bytes` must have encoded_bytes(out.size()) bytes.
    Result<> decode(std::span<const std::byte> bytes, std::span<float> out) const;
    /// Adds the values that decode() gives to `sum`, without a tensor in between. After an error
    /// part of them may have been added.
    Result<> decode_add(std::span<const std::byte> bytes, std::span<float> sum) const;

 protected:
    enum class Outcome : std::uint8_t { Done, NotFinite, Malformed };

    /// The possible meaning of a Malformed that read() or add() returns.
    [[nodiscard]] virtual std::string_view malformed() const {
        return "a scale or a level that no encoder writes";
    }

    /// Adds in pieces by read() and a loop; a codec may override this with a faster way. The size
    /// is checked.
    virtual Outcome add(std::span<const std::byte> bytes, std::span<float> sum) const;

 private:
    // Roles and sizes are checked before these are called.
    virtual Outcome write(
        std::span<const float> values, TensorRole role, std::uint64_t seed, std::span<std::byte> out
    ) const = 0;
    virtual Outcome read(std::span<const std::byte> bytes, std::span<float> out) const = 0;

    [[nodiscard]] Result<> result_of_reading(Outcome outcome) const;
};

/// Returns the codec on the fastest path of this processor; null for a name or number that is not
/// registered.
const Codec* find_codec(std::string_view name);
const Codec* find_codec(CodecId id);
/// Returns every codec on one path, in the order of their numbers; none where the processor lacks
/// the path.
std::span<const std::unique_ptr<const Codec>> codecs_on(simd::Path path);
/// Returns "none, int8, ...", the codecs that may be chosen for the legs; for error texts and
/// --help.
std::string codec_names();

}  // namespace compression
