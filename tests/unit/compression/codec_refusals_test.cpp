// Inputs that every registered codec must refuse, on every path: values, roles, sizes, damaged
// bytes.
#include "codec_cases.hpp"
#include "swarm/base/rng.hpp"

#include <cfloat>
#include <cmath>
#include <limits>

namespace compression::test {
namespace {

using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Rng;

class CodecRefusals : public CodecSuite {};

TEST_P(CodecRefusals, NanAndInfinityAtEveryPlace) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const TensorRole role : roles()) {
        for (const float bad : {infinity, -infinity, nan, -nan}) {
            for (std::size_t place = 0; place < 130; ++place) {
                Values values(130, 1.0F);
                values[place] = bad;
                Bytes bytes(codec().encoded_bytes(values.size()));
                const auto encoded = codec().encode(values, role, kSeed, bytes);
                ASSERT_TRUE(encoded.has_error()) << bad << " at " << place;
                ASSERT_EQ(encoded.error().code, ErrorCode::NotFinite);
                ASSERT_EQ(encoded.error().reaction, Reaction::Reject);
            }
        }
    }
}

TEST_P(CodecRefusals, MagnitudesAboveTheLargest) {
    const float largest = largest_taken(codec().id());
    Values values(65, largest);
    Bytes bytes(codec().encoded_bytes(values.size()));
    EXPECT_TRUE(codec().encode(values, main_role(), 0, bytes).has_value());
    values[64] = std::nextafter(largest, std::numeric_limits<float>::infinity());
    const auto encoded = codec().encode(values, main_role(), 0, bytes);
    ASSERT_TRUE(encoded.has_error());
    EXPECT_EQ(encoded.error().code, ErrorCode::NotFinite);
}

TEST_P(CodecRefusals, ARoleThatItDoesNotServeWithTheReasonAndBeforeItWrites) {
    const Values values(3, 1.0F);
    for (const TensorRole role : kTensorRoles) {
        const std::string_view reason = codec().refusal_of(role);
        EXPECT_EQ(codec().check_role(role).has_error(), !reason.empty());
        if (reason.empty()) {
            continue;
        }
        Bytes bytes(codec().encoded_bytes(values.size()), std::byte{0xaa});
        const Bytes before = bytes;
        const auto encoded = codec().encode(values, role, kSeed, bytes);
        ASSERT_TRUE(encoded.has_error()) << to_text(role);
        EXPECT_EQ(encoded.error().code, ErrorCode::Unsupported);
        EXPECT_EQ(encoded.error().reaction, Reaction::Reject);
        EXPECT_NE(encoded.error().detail.find(to_text(role)), std::string::npos);
        EXPECT_NE(encoded.error().detail.find(reason), std::string::npos);
        EXPECT_EQ(bytes, before);
    }
    const bool legs = serves_legs(codec().id());
    EXPECT_EQ(codec().check_role(TensorRole::Activation).has_value(), legs);
    EXPECT_EQ(codec().check_role(TensorRole::ActivationGradient).has_value(), legs);
}

TEST_P(CodecRefusals, AnOutputOfTheWrongSize) {
    const Values values(65, 1.0F);
    for (const int difference : {-65, -1, 1, 4}) {
        const auto size = static_cast<std::size_t>(
            std::max(0, static_cast<int>(codec().encoded_bytes(values.size())) + difference)
        );
        Bytes bytes(size);
        EXPECT_TRUE(codec().encode(values, main_role(), 0, bytes).has_error()) << size;
    }
}

TEST_P(CodecRefusals, EveryTruncationAndExtension) {
    for (const std::size_t elements : {1, 64, 131}) {
        const Values values = noise(elements, 1, 14);
        const Bytes whole = encode(values, main_role());
        Values out(values.size());
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            const auto decoded = codec().decode(cut, out);
            ASSERT_TRUE(decoded.has_error()) << size;
            ASSERT_EQ(decoded.error().code, ErrorCode::Malformed);
            ASSERT_TRUE(codec().decode_add(cut, out).has_error()) << size;
        }
        Bytes longer = whole;
        longer.push_back(std::byte{0});
        EXPECT_TRUE(codec().decode(longer, out).has_error());
    }
}

/// A frame's envelope is read before any tensor bytes are, and before a tensor is allocated.
TEST_P(CodecRefusals, AnEnvelopeThatClaimsATebibyte) {
    using swarm::protocol::decode_envelope;
    using swarm::protocol::Dtype;
    swarm::protocol::TensorEnvelope claim{Dtype::Float32, codec().id(), {1U << 19, 1U << 19}};
    const auto refused = decode_envelope(encode_envelope(claim));
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::TooLarge);
    claim.shape = {64};
    EXPECT_TRUE(decode_envelope(encode_envelope(claim)).has_value());
}

TEST_P(CodecRefusals, BytesForAnEmptyTensor) {
    Values none;
    EXPECT_TRUE(codec().decode({}, none).has_value());
    EXPECT_TRUE(codec().decode(Bytes(1), none).has_error());
}

TEST_P(CodecRefusals, RandomByteFlipsFailCleanlyOrDecodeToFiniteValues) {
    constexpr std::size_t kElements = 131;
    const Bytes whole = encode(noise(kElements, 1, 15), main_role());
    Rng rng(16, 17);
    int refused = 0;
    Values out(kElements);
    for (int flip = 0; flip < 100'000; ++flip) {
        Bytes bytes = whole;
        for (std::uint64_t count = 1 + rng.below(4); count > 0; --count) {
            bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.below(256));
        }
        const auto decoded = codec().decode(bytes, out);
        if (flip % 16 == 0) {
            Values sum(kElements);
            ASSERT_EQ(codec().decode_add(bytes, sum).has_value(), decoded.has_value()) << flip;
        }
        if (decoded.has_error()) {
            ++refused;
            ASSERT_EQ(decoded.error().reaction, Reaction::Reject) << "flip " << flip;
            continue;
        }
        for (const float value : out) {
            ASSERT_LE(std::fabs(value), FLT_MAX) << "flip " << flip;
        }
    }
    EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(
    EveryCodecAndPath, CodecRefusals, testing::ValuesIn(every_case()), name_of
);

}  // namespace
}  // namespace compression::test
