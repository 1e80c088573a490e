#include "swarm/protocol/tensor_envelope.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace swarm::protocol {

namespace {

using namespace std::string_literals;

Result<TensorEnvelope> arrive(const std::string& bytes) {
    return decode_envelope(std::as_bytes(std::span(bytes)));
}

void expect_refused(const std::string& bytes, ErrorCode code) {
    const Result<TensorEnvelope> result = arrive(bytes);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().detail;
    EXPECT_EQ(result.error().reaction, Reaction::Reject);
}

/// Sends the shape through the wire. TooLarge is the only refusal that a shape can meet.
bool is_taken(Dtype dtype, std::vector<std::uint32_t> shape) {
    const TensorEnvelope envelope{.dtype = dtype, .shape = std::move(shape)};
    const Result<TensorEnvelope> result = decode_envelope(encode_envelope(envelope));
    EXPECT_TRUE(result || result.error().code == ErrorCode::TooLarge);
    return result.has_value();
}

const std::string kGood =
    "\x83\xa1"
    "d\x00"
    "\xa1"
    "c\x01"
    "\xa1"
    "s\x92\x02\x03"s;

}  // namespace

TEST(TensorEnvelope, SurvivesTheWireWhole) {
    for (const Dtype dtype : {Dtype::Float32, Dtype::Int64, Dtype::Bytes}) {
        for (const CodecId codec : {CodecId::None, CodecId::Int8, kLastCodecId}) {
            for (const std::vector<std::uint32_t>& shape :
                 {std::vector<std::uint32_t>{},
                  {0},
                  {8, 1024, 768},
                  {1, 1, 1, 1, 1, 1, 1, 1},
                  {65536}}) {
                const TensorEnvelope sent{.dtype = dtype, .codec = codec, .shape = shape};
                const auto arrived = decode_envelope(encode_envelope(sent));
                ASSERT_TRUE(arrived) << arrived.error().detail;
                EXPECT_EQ(*arrived, sent);
            }
        }
    }
}

TEST(TensorEnvelope, CountsElements) {
    EXPECT_EQ((TensorEnvelope{.shape = {2, 3, 4}}.elements()), 24U);
    EXPECT_EQ((TensorEnvelope{.shape = {2, 0, 4}}.elements()), 0U);
    EXPECT_EQ(TensorEnvelope{}.elements(), 0U);
}

TEST(TensorEnvelope, TakesTheLargestTensor) {
    EXPECT_TRUE(is_taken(Dtype::Bytes, {256U << 20}));
    EXPECT_FALSE(is_taken(Dtype::Bytes, {(256U << 20) + 1}));
    EXPECT_TRUE(is_taken(Dtype::Float32, {8, 4096, 2048}));
    EXPECT_FALSE(is_taken(Dtype::Float32, {8, 4096, 2049}));
    EXPECT_TRUE(is_taken(Dtype::Int64, {32U << 20}));
    EXPECT_FALSE(is_taken(Dtype::Int64, {(32U << 20) + 1}));
}

// In 64 bits each of these products is 0 or small.
TEST(TensorEnvelope, RefusesShapesWhoseProductOverflows) {
    EXPECT_FALSE(is_taken(Dtype::Bytes, {1U << 31, 1U << 31, 4}));
    EXPECT_FALSE(is_taken(Dtype::Bytes, {1U << 16, 1U << 16, 1U << 16, 1U << 16}));
    EXPECT_FALSE(is_taken(Dtype::Int64, std::vector<std::uint32_t>(8, 0xffff'ffff)));
}

TEST(TensorEnvelope, RefusesNineDimensions) {
    const TensorEnvelope envelope{.shape = std::vector<std::uint32_t>(9, 1)};
    const auto result = decode_envelope(encode_envelope(envelope));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::Malformed);
}

TEST(TensorEnvelope, HasExactlyItsKeys) {
    ASSERT_TRUE(arrive(kGood)) << arrive(kGood).error().detail;
    const std::string d =
        "\xa1"
        "d\x00"s;
    const std::string c =
        "\xa1"
        "c\x01"s;
    const std::string s =
        "\xa1"
        "s\x91\x02"s;
    const std::string x =
        "\xa1"
        "x\x00"s;
    expect_refused("\x80"s, ErrorCode::Malformed);
    expect_refused("\x82"s + d + c, ErrorCode::Malformed);          // missing
    expect_refused("\x84"s + d + c + s + x, ErrorCode::Malformed);  // unknown
    expect_refused("\x83"s + d + x + s, ErrorCode::Malformed);      // unknown for known
    expect_refused("\x83"s + d + d + s, ErrorCode::Malformed);      // twice
    expect_refused("\x84"s + d + c + s + s, ErrorCode::Malformed);  // twice
    expect_refused("\x83"s + c + d + s, ErrorCode::Malformed);      // another order
    expect_refused("\x83\x00\x00" + c + s, ErrorCode::Malformed);   // no text
}

TEST(TensorEnvelope, RefusesValuesOfOtherTypes) {
    for (const std::string& bytes :
         {""s,
          "\xc0"s,
          "\x07"s,
          "\x93\x00\x00\x00"s,
          "\xc1"s,
          "\xa1"
          "d"s}) {
        expect_refused(bytes, ErrorCode::Malformed);
    }
    const std::string head = "\x83\xa1"s;
    expect_refused(
        head +
            "d\xff\xa1"
            "c\x00\xa1"
            "s\x90"s,
        ErrorCode::Malformed
    );  // -1
    expect_refused(
        head +
            "d\x03\xa1"
            "c\x00\xa1"
            "s\x90"s,
        ErrorCode::Malformed
    );  // dtype 3
    expect_refused(
        head +
            "d\x00\xa1"
            "c\x08\xa1"
            "s\x90"s,
        ErrorCode::Malformed
    );  // codec 7
    expect_refused(
        head +
            "d\x00\xa1"
            "c\x00\xa1"
            "s\x05"s,
        ErrorCode::Malformed
    );  // no array
    expect_refused(
        head +
            "d\x00\xa1"
            "c\x00\xa1"
            "s\x91\x90"s,
        ErrorCode::Malformed
    );  // deeper
    expect_refused(
        head +
            "d\x00\xa1"
            "c\x00\xa1"
            "s\x91\xcf\x00\x00\x00\x01\x00\x00\x00\x00"s,
        ErrorCode::Malformed  // a dimension of 2^32
    );
    expect_refused(
        head +
            "d\x00\xa1"
            "c\x00\xa1"
            "s\x91\xff"s,
        ErrorCode::Malformed
    );  // -1
}

TEST(TensorEnvelope, HasOneByteForm) {
    expect_refused(kGood + "\x00"s, ErrorCode::Malformed);  // trailing
    expect_refused(
        "\x83\xa1"
        "d\xcc\x00\xa1"
        "c\x01\xa1"
        "s\x92\x02\x03"s,
        ErrorCode::Malformed
    );
}

TEST(TensorEnvelope, RefusesAnnouncedGigabytesUnread) {
    expect_refused("\xdf\xff\xff\xff\xff"s, ErrorCode::Malformed);
    expect_refused("\x83\xdb\xff\xff\xff\xff"s, ErrorCode::Malformed);
    expect_refused(
        "\x83\xa1"
        "d\x00\xa1"
        "c\x00\xa1"
        "s\xdd\xff\xff\xff\xff"s,
        ErrorCode::Malformed
    );
    expect_refused("\xc6\xff\xff\xff\xff"s, ErrorCode::Malformed);
    expect_refused(std::string(kEnvelopeBytesMax, '\x91'), ErrorCode::Malformed);
    expect_refused(std::string(kEnvelopeBytesMax + 1, '\x91'), ErrorCode::TooLarge);
}

TEST(TensorEnvelope, DamagedOrTruncatedIsAnErrorOrAnotherEnvelope) {
    Rng rng(4, 0);
    const auto good =
        encode_envelope({.dtype = Dtype::Float32, .codec = CodecId::Int8, .shape = {8, 1024, 768}});
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(decode_envelope(std::span(good).first(size))) << size;
    }
    for (int i = 0; i < 5000; ++i) {
        auto bytes = good;
        bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1 + rng.below(255));
        const auto result = decode_envelope(bytes);
        if (result) {
            EXPECT_EQ(encode_envelope(*result), bytes);
        }
    }
}

}  // namespace swarm::protocol
