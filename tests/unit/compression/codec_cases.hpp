// Facts that the conformance suite knows of each codec, stated apart from the code that it judges:
// size formula, error bound, largest magnitude. A new codec adds a line to each table; the suite
// fails when one is missing.
#pragma once

#include "compression/codec.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace compression::test {

using Bytes = std::vector<std::byte>;
using Values = std::vector<float>;

std::uint64_t documented_size(CodecId id, std::uint64_t elements);
/// Largest allowed error of each value.
std::vector<double> documented_errors(CodecId id, const Values& values, TensorRole role);
/// Whether the codec codes tensors that pass between stages.
bool serves_legs(CodecId id);
/// Largest magnitude that the codec takes; it refuses larger ones like NaN.
float largest_taken(CodecId id);
/// Whether the seed counts: rounding up or down by draws.
bool draws(CodecId id, TensorRole role);
/// Whether another round leaves decoded values as they are.
bool repeats_itself(CodecId id, TensorRole role, std::size_t elements);

/// Values uniform in (-magnitude, magnitude).
Values noise(std::size_t elements, double magnitude, std::uint64_t seed);
/// Sizes around 0, the group of 64 and the blocks of the vector paths.
const std::vector<std::size_t>& adversarial_sizes();

/// A registered codec on one path.
struct Case {
    simd::Path path;
    const Codec* codec;
};

/// For gtest's messages.
void PrintTo(const Case& one, std::ostream* out);

/// Every codec on every path that this processor has.
std::vector<Case> every_case();
std::string name_of(const testing::TestParamInfo<Case>& info);

class CodecSuite : public testing::TestWithParam<Case> {
 protected:
    static constexpr std::uint64_t kSeed = 7;

    [[nodiscard]] const Codec& codec() const { return *GetParam().codec; }

    [[nodiscard]] std::vector<TensorRole> roles() const;

    /// The first role that the codec serves: activations, except for codecs of gradients.
    [[nodiscard]] TensorRole main_role() const { return roles().front(); }

    [[nodiscard]] Bytes encode(const Values& values, TensorRole role) const;
    [[nodiscard]] Values decode(const Bytes& bytes, std::size_t elements) const;
};

}  // namespace compression::test
