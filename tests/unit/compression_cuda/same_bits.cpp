#include "same_bits.hpp"

#include "compression/cuda/gpu.hpp"
#include "swarm/base/rng.hpp"
#include "tests/unit/compression/codec_cases.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

namespace compression::cuda::test {
namespace {

using compression::test::adversarial_sizes;
using compression::test::noise;
using swarm::Rng;

/// Whether one tensor comes out alike.
testing::AssertionResult encodes_alike(
    Coder& coder, const Codec& codec, const Values& values, TensorRole role, std::uint64_t seed
) {
    Bytes expected(codec.encoded_bytes(values.size()));
    const bool taken = codec.encode(values, role, seed, expected).has_value();
    const std::optional<Bytes> coded = coder.encode(codec, values, role, seed);
    if (coded.has_value() != taken) {
        return testing::AssertionFailure() << (taken ? "refused" : "taken") << " by the lanes";
    }
    if (taken && *coded != expected) {
        const auto at = std::ranges::mismatch(*coded, expected).in1 - coded->begin();
        return testing::AssertionFailure() << "another byte " << at << " of " << expected.size();
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult decodes_alike(
    Coder& coder, const Codec& codec, const Bytes& bytes, const Values& start, Direction direction
) {
    Values expected = start;
    const bool add = direction == Direction::DecodeAdd;
    const bool taken =
        (add ? codec.decode_add(bytes, expected) : codec.decode(bytes, expected)).has_value();
    const std::optional<Values> values = coder.decode(codec, bytes, start, direction);
    if (values.has_value() != taken) {
        return testing::AssertionFailure() << (taken ? "refused" : "taken") << " by the lanes";
    }
    const std::size_t size = expected.size() * sizeof(float);
    if (taken && size > 0 && std::memcmp(values->data(), expected.data(), size) != 0) {
        return testing::AssertionFailure() << "other values, of " << expected.size();
    }
    return testing::AssertionSuccess();
}

std::vector<TensorRole> roles_of(const Codec& codec) {
    std::vector<TensorRole> roles;
    for (const TensorRole role : kTensorRoles) {
        if (codec.check_role(role).has_value()) {
            roles.push_back(role);
        }
    }
    return roles;
}

}  // namespace

std::vector<const Codec*> coded_on_gpus() {
    std::vector<const Codec*> codecs;
    for (const auto& codec : codecs_on(simd::Path::Scalar)) {
        if (job_of(*codec, Direction::Decode, TensorRole::Activation, 0).has_value()) {
            codecs.push_back(codec.get());
        }
    }
    return codecs;
}

void expect_same_encoding(Coder& coder, const Codec& codec) {
    for (const TensorRole role : roles_of(codec)) {
        for (const std::size_t elements : adversarial_sizes()) {
            for (const double magnitude : {1.0, 1e-3, 7e4, 1e-30, 1e-38, 1e-42, 1e30, 3.4e38}) {
                const std::uint64_t seed = elements % 2 == 0 ? 7 : ~0ULL;
                ASSERT_TRUE(encodes_alike(coder, codec, noise(elements, magnitude, 11), role, seed))
                    << codec.name() << ", " << to_text(role) << ", " << elements << " of "
                    << magnitude;
            }
        }
        for (const float value :
             {0.0F,
              -0.0F,
              1.0F,
              FLT_MAX,
              -FLT_MAX,
              65504.0F,
              65520.0F,
              0x1p+112F,
              FLT_MIN,
              FLT_MIN / 2,
              0x1p-149F,
              0x1p-14F,
              0x1p-25F}) {
            ASSERT_TRUE(encodes_alike(coder, codec, Values(131, value), role, 0))
                << codec.name() << ", " << to_text(role) << ", constant " << value;
        }
    }
}

void expect_same_refusals(Coder& coder, const Codec& codec) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float bad :
         {kInfinity,
          -kInfinity,
          std::numeric_limits<float>::quiet_NaN(),
          std::nextafter(0x1p+112F, kInfinity)}) {
        for (std::size_t at = 0; at < 135; ++at) {
            Values values = noise(135, 1, 3);
            values[at] = bad;
            ASSERT_TRUE(encodes_alike(coder, codec, values, TensorRole::ActivationGradient, 7))
                << codec.name() << ", " << bad << " at " << at;
        }
    }
}

void expect_same_of_random_bits(Coder& coder, const Codec& codec) {
    Rng rng(5, 6);
    for (int round = 0; round < 300; ++round) {
        Values values(1 + rng.below(150));
        // So many exponents that a group's largest value seldom decides alone; finite ones often.
        const auto mask = static_cast<std::uint32_t>(~(rng.next() & 0x7f800000));
        for (float& value : values) {
            value = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()) & mask);
        }
        for (const TensorRole role : {TensorRole::Activation, TensorRole::ActivationGradient}) {
            ASSERT_TRUE(encodes_alike(coder, codec, values, role, rng.next()))
                << codec.name() << ", round " << round;
        }
    }
}

void expect_same_decoding(Coder& coder, const Codec& codec) {
    Rng rng(8, 9);
    for (int round = 0; round < 1'000; ++round) {
        const Values start = noise(rng.below(200), 1, rng.next());
        Bytes bytes(codec.encoded_bytes(start.size()));
        if (round % 4 == 3) {
            for (std::byte& byte : bytes) {
                byte = static_cast<std::byte>(rng.next());
            }
        } else {
            ASSERT_TRUE(codec.encode(start, TensorRole::Activation, 0, bytes).has_value());
        }
        if (round % 4 == 1 && !bytes.empty()) {
            bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1U << rng.below(8));
        }
        for (const Direction direction : {Direction::Decode, Direction::DecodeAdd}) {
            ASSERT_TRUE(decodes_alike(coder, codec, bytes, start, direction))
                << codec.name() << ", round " << round;
        }
    }
}

}  // namespace compression::cuda::test
