// A receiver gets nothing but bytes: broken headers, broken Protobuf, and every kind of damage to
// good frames end in an Error, never in a crash or in a message that nobody sent.
#include "swarm/protocol/frame.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace swarm::protocol {

namespace {

constexpr std::uint16_t kAcceptedKind = 9;
constexpr std::uint16_t kForwardKind = 7;
constexpr std::uint16_t kRosterKind = 3;

HeaderBytes with_byte(HeaderBytes bytes, std::size_t offset, unsigned value) {
    bytes[offset] = static_cast<std::byte>(value);
    return bytes;
}

template <class T>
void expect_error(const Result<T>& result, ErrorCode code) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().detail;
    EXPECT_EQ(result.error().reaction, Reaction::Reject);
    EXPECT_FALSE(result.error().detail.empty());
}

void expect_header(const FrameHeader& header, Lane lane, bool taken) {
    const Result<FrameHeader> result = decode_header(encode_header(header), lane);
    EXPECT_EQ(result.has_value(), taken)
        << "kind " << header.kind << (taken ? result.error().detail : " was taken");
}

/// Writes Protobuf by hand: field `number` of wire type 2 (length-delimited), sizes below 128.
std::string nested(unsigned number, std::string_view content) {
    std::string bytes;
    const unsigned tag = (number << 3) | 2U;
    if (tag >= 128) {
        bytes += static_cast<char>(0x80 | (tag & 0x7f));
        bytes += static_cast<char>(tag >> 7);
    } else {
        bytes += static_cast<char>(tag);
    }
    bytes += static_cast<char>(content.size());
    return bytes.append(content);
}

/// Makes a control part with one body of this kind.
std::string control(std::uint16_t kind, std::string_view body) {
    return nested(16U + kind, body);
}

Result<Message> arrive(std::uint16_t kind, const std::string& bytes) {
    return decode_control(kind, std::as_bytes(std::span(bytes)));
}

std::vector<std::byte> damaged(std::vector<std::byte> bytes, Rng& rng) {
    for (std::uint64_t flips = 1 + rng.below(4); flips > 0; --flips) {
        bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1U << rng.below(8));
    }
    return bytes;
}

}  // namespace

TEST(FrameHeader, SurvivesTheWireWhole) {
    const FrameHeader header{
        .kind = kForwardKind,
        .control_bytes = kControlBytesMax,
        .envelope_bytes = kEnvelopeBytesMax,
        .tensor_bytes = kTensorBytesMax};
    const Result<FrameHeader> arrived = decode_header(encode_header(header), Lane::Bulk);
    ASSERT_TRUE(arrived) << arrived.error().detail;
    EXPECT_EQ(arrived->kind, header.kind);
    EXPECT_EQ(arrived->control_bytes, header.control_bytes);
    EXPECT_EQ(arrived->envelope_bytes, header.envelope_bytes);
    EXPECT_EQ(arrived->tensor_bytes, header.tensor_bytes);
}

TEST(FrameHeader, RefusesGarbage) {
    Rng rng(1, 0);
    for (int i = 0; i < 1000; ++i) {
        HeaderBytes bytes;
        for (std::byte& byte : bytes) {
            byte = static_cast<std::byte>(rng.below(256));
        }
        expect_error(decode_header(bytes, Lane::Bulk), ErrorCode::Malformed);
    }
    expect_error(decode_header(HeaderBytes{}, Lane::Control), ErrorCode::Malformed);
}

TEST(FrameHeader, RefusesAnotherVersionAsAMismatch) {
    const HeaderBytes good = encode_header({.kind = kAcceptedKind, .control_bytes = 4});
    expect_error(
        decode_header(with_byte(good, 4, kProtocolVersion + 1), Lane::Control), ErrorCode::Mismatch
    );
    expect_error(decode_header(with_byte(good, 5, 1), Lane::Control), ErrorCode::Mismatch);
}

TEST(FrameHeader, RefusesReservedBytes) {
    const HeaderBytes good = encode_header({.kind = kAcceptedKind, .control_bytes = 4});
    for (std::size_t offset = 24; offset < kHeaderBytes; ++offset) {
        expect_error(
            decode_header(with_byte(good, offset, 1), Lane::Control), ErrorCode::Malformed
        );
    }
}

TEST(FrameHeader, RefusesAnUnknownKind) {
    constexpr auto kKinds = static_cast<std::uint16_t>(kMessageKinds);
    expect_header({.kind = kKinds - 1}, Lane::Control, true);
    expect_header({.kind = kKinds}, Lane::Control, false);
    expect_header({.kind = kHelloKind - 1}, Lane::Control, false);
    expect_header({.kind = kHelloKind}, Lane::Bulk, true);
}

TEST(FrameHeader, RefusesSizesOfFourGibibytes) {
    const FrameHeader control{.kind = kForwardKind, .control_bytes = 0xffff'ffff};
    expect_error(decode_header(encode_header(control), Lane::Bulk), ErrorCode::TooLarge);
    const FrameHeader envelope{.kind = kForwardKind, .envelope_bytes = 0xffff'ffff};
    expect_error(decode_header(encode_header(envelope), Lane::Bulk), ErrorCode::TooLarge);
    for (const std::uint64_t size :
         {std::uint64_t{1} << 32, ~std::uint64_t{0}, kTensorBytesMax + 1}) {
        const FrameHeader tensor{.kind = kForwardKind, .envelope_bytes = 1, .tensor_bytes = size};
        expect_error(decode_header(encode_header(tensor), Lane::Bulk), ErrorCode::TooLarge);
    }
}

TEST(FrameHeader, BoundsTheControlPartByKind) {
    for (const auto& [kind, max] :
         {std::pair{kAcceptedKind, kControlBytesMax},
          std::pair{kRosterKind, kRosterBytesMax},
          std::pair{kHelloKind, kHelloBytesMax}}) {
        expect_header({.kind = kind, .control_bytes = max}, Lane::Control, true);
        expect_header({.kind = kind, .control_bytes = max + 1}, Lane::Control, false);
    }
}

TEST(FrameHeader, BoundsTheEnvelope) {
    expect_header({.kind = kForwardKind, .envelope_bytes = kEnvelopeBytesMax}, Lane::Bulk, true);
    const FrameHeader above{.kind = kForwardKind, .envelope_bytes = kEnvelopeBytesMax + 1};
    expect_error(decode_header(encode_header(above), Lane::Bulk), ErrorCode::TooLarge);
}

TEST(FrameHeader, TakesATensorOnTheBulkLaneOnly) {
    const FrameHeader header{.kind = kForwardKind, .envelope_bytes = 16, .tensor_bytes = 64};
    expect_header(header, Lane::Bulk, true);
    expect_error(decode_header(encode_header(header), Lane::Control), ErrorCode::Malformed);
}

TEST(FrameHeader, TakesATensorOnlyOfKindsThatHaveOne) {
    for (std::uint16_t kind = 0; kind < kMessageKinds; ++kind) {
        const FrameHeader header{.kind = kind, .envelope_bytes = 16, .tensor_bytes = 64};
        expect_header(header, Lane::Bulk, carries_tensor(kind));
    }
    expect_header({.kind = kHelloKind, .envelope_bytes = 1, .tensor_bytes = 1}, Lane::Bulk, false);
}

TEST(FrameHeader, RefusesATensorWithoutEnvelope) {
    expect_header({.kind = kForwardKind, .tensor_bytes = 64}, Lane::Bulk, false);
    expect_header({.kind = kForwardKind, .envelope_bytes = 16}, Lane::Bulk, true);  // no elements
}

TEST(Lane, IsBulkForKindsWithATensorAndForTheirAnswers) {
    std::size_t bulk = 0;
    for (const Message& message : sample_messages()) {
        const bool expected = std::holds_alternative<Forward>(message.body) ||
                              std::holds_alternative<Backward>(message.body) ||
                              std::holds_alternative<Part>(message.body) ||
                              std::holds_alternative<Chunk>(message.body) ||
                              std::holds_alternative<Infer>(message.body) ||
                              std::holds_alternative<SessionRows>(message.body) ||
                              std::holds_alternative<FileChunk>(message.body) ||
                              std::holds_alternative<Evaluate>(message.body) ||
                              std::holds_alternative<ExpertRows>(message.body) ||
                              std::holds_alternative<ExpertOutputs>(message.body);
        const auto kind = static_cast<std::uint16_t>(message.body.index());
        const bool answer = std::holds_alternative<SessionTaken>(message.body) ||
                            std::holds_alternative<ExpertRefused>(message.body);
        EXPECT_EQ(lane_of(message.body), expected || answer ? Lane::Bulk : Lane::Control) << kind;
        EXPECT_EQ(carries_tensor(kind), expected) << kind;
        bulk += expected ? 1 : 0;
    }
    EXPECT_EQ(bulk, 10U);
    EXPECT_FALSE(carries_tensor(kHelloKind));
}

TEST(ControlPart, WithoutABodyIsMalformed) {
    expect_error(arrive(0, ""), ErrorCode::Malformed);
    expect_error(arrive(0, "\x08\x01"), ErrorCode::Malformed);  // number only
}

TEST(ControlPart, WithTrailingBytesIsMalformed) {
    for (const Message& message : sample_messages()) {
        const auto kind = static_cast<std::uint16_t>(message.body.index());
        for (const unsigned extra : {0x00U, 0x08U, 0xffU}) {
            std::vector<std::byte> bytes = encode_control(message);
            bytes.push_back(static_cast<std::byte>(extra));
            expect_error(decode_control(kind, bytes), ErrorCode::Malformed);
        }
    }
}

TEST(ControlPart, WithAnUnknownFieldIsMalformed) {
    ASSERT_TRUE(arrive(4, control(4, nested(1, "bye"))));
    expect_error(arrive(4, control(4, nested(1, "bye") + nested(9, "x"))), ErrorCode::Malformed);
    expect_error(arrive(4, control(4, nested(1, "bye")) + nested(15, "")), ErrorCode::Malformed);
}

TEST(ControlPart, WithAFieldTwiceIsMalformed) {
    expect_error(arrive(4, control(4, nested(1, "a") + nested(1, "b"))), ErrorCode::Malformed);
    expect_error(arrive(4, control(4, nested(1, "a")) + control(4, "")), ErrorCode::Malformed);
    expect_error(arrive(4, control(0, "") + control(4, nested(1, "a"))), ErrorCode::Malformed);
}

TEST(ControlPart, WithANumberWrittenTooLongIsMalformed) {
    ASSERT_TRUE(arrive(0, "\x08\x01" + control(0, "")));
    using namespace std::string_literals;
    expect_error(arrive(0, "\x08\x81\x00"s + control(0, "")), ErrorCode::Malformed);
    expect_error(arrive(0, "\x08\x00"s + control(0, "")), ErrorCode::Malformed);
}

TEST(ControlPart, WithoutItsVersionIsMalformed) {
    constexpr std::uint16_t kFinishedKind = 28;
    ASSERT_TRUE(arrive(kFinishedKind, control(kFinishedKind, nested(1, ""))));
    expect_error(arrive(kFinishedKind, control(kFinishedKind, "")), ErrorCode::Malformed);
    expect_error(arrive(kAcceptedKind, control(kAcceptedKind, "")), ErrorCode::Malformed);
}

TEST(ControlPart, WithADigestOfAnotherSizeIsMalformed) {
    constexpr std::uint16_t kAppliedKind = 22;
    for (const std::size_t size : {0U, 31U, 32U, 33U}) {
        const std::string body = nested(1, "") + nested(2, std::string(size, 'h'));
        EXPECT_EQ(arrive(kAppliedKind, control(kAppliedKind, body)).has_value(), size == 32)
            << size;
    }
}

TEST(ControlPart, WithAPeerIdOfAnotherSizeIsMalformed) {
    for (const std::size_t size : {0U, 31U, 32U, 33U}) {
        const std::string slot = nested(2, std::string(size, 'p'));
        EXPECT_EQ(
            arrive(kRosterKind, control(kRosterKind, nested(2, slot))).has_value(), size == 32
        ) << size;
    }
}

// Protobuf would make some hundred MiB of objects of 2 MiB of empty slots.
TEST(ControlPart, WithCountlessTinyFieldsIsRefusedBeforeItIsParsed) {
    std::string slots;
    for (std::size_t i = 0; i < 1'000'000; ++i) {
        slots.append("\x12\x00", 2);
    }
    std::string bytes("\x9a\x01\x80\x89\x7a", 5);  // field 19, 2,000,000 bytes
    bytes += slots;
    ASSERT_LE(bytes.size(), kRosterBytesMax);
    expect_error(arrive(kRosterKind, bytes), ErrorCode::TooLarge);
}

TEST(ControlPart, TruncatedAnywhereIsAnError) {
    for (const Message& message : sample_messages()) {
        const auto kind = static_cast<std::uint16_t>(message.body.index());
        const std::vector<std::byte> bytes = encode_control(message);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            EXPECT_FALSE(decode_control(kind, std::span(bytes).first(size)))
                << "kind " << kind << " cut to " << size;
        }
    }
}

// A flip may turn one valid message into another, whose bytes then have the one form that it has.
TEST(ControlPart, WithFlippedBitsIsAnErrorOrAnotherWholeMessage) {
    Rng rng(2, 0);
    std::size_t refused = 0;
    for (const Message& message : sample_messages()) {
        const auto kind = static_cast<std::uint16_t>(message.body.index());
        const std::vector<std::byte> good = encode_control(message);
        for (int i = 0; i < 500; ++i) {
            const std::vector<std::byte> bytes = damaged(good, rng);
            const Result<Message> result = decode_control(kind, bytes);
            refused += result ? 0 : 1;
            if (result) {
                EXPECT_EQ(encode_control(*result), bytes) << "kind " << kind;
            }
        }
    }
    EXPECT_GT(refused, 0U);
}

TEST(Hello, WithAnotherVersionIsAMismatch) {
    Hello hello = sample_hello();
    hello.protocol_version = kProtocolVersion + 1;
    expect_error(decode_hello(encode_hello(hello)), ErrorCode::Mismatch);
    hello.protocol_version = 0;
    expect_error(decode_hello(encode_hello(hello)), ErrorCode::Mismatch);
}

TEST(Hello, NamesALaneThatExists) {
    Hello hello = sample_hello();
    hello.lane = 2;
    expect_error(decode_hello(encode_hello(hello)), ErrorCode::Malformed);
}

TEST(Hello, HasAProofOfAWholeHashOrNone) {
    for (const std::size_t size : {0U, 1U, 31U, 32U, 33U}) {
        Hello hello = sample_hello();
        hello.proof.resize(size);
        EXPECT_EQ(decode_hello(encode_hello(hello)).has_value(), size == 0 || size == 32) << size;
    }
}

TEST(Hello, IsSeenFromAnAddressAndNothingElse) {
    for (const char* text : {"example.org", "10.0.0.7\x1b[2J", " 10.0.0.7"}) {
        Hello hello = sample_hello();
        hello.seen_from = text;
        expect_error(decode_hello(encode_hello(hello)), ErrorCode::Malformed);
    }
    Hello hello = sample_hello();
    hello.seen_from.assign(46, '1');
    expect_error(decode_hello(encode_hello(hello)), ErrorCode::Malformed);
    hello.seen_from = "::ffff:203.0.113.7";
    EXPECT_TRUE(decode_hello(encode_hello(hello)).has_value());
}

TEST(Hello, NamesAnOutcomeThatExists) {
    Hello hello = sample_hello();
    hello.dial_back = static_cast<DialBack>(6);
    expect_error(decode_hello(encode_hello(hello)), ErrorCode::Malformed);
}

TEST(Hello, DamagedOrTruncatedIsAnErrorOrAnotherHello) {
    Rng rng(3, 0);
    const std::vector<std::byte> good = encode_hello(sample_hello());
    for (std::size_t i = 0; i < 2000; ++i) {
        std::vector<std::byte> bytes = good;
        if (i < good.size()) {
            bytes.resize(i);  // a cut between two fields leaves a whole Hello without a proof
        } else {
            bytes = damaged(good, rng);
        }
        const Result<Hello> result = decode_hello(bytes);
        if (result) {
            EXPECT_EQ(encode_hello(*result), bytes);
        }
    }
}

TEST(Hello, AboveItsBoundIsTooLarge) {
    const std::vector<std::byte> bytes(kHelloBytesMax + 1);
    expect_error(decode_hello(bytes), ErrorCode::TooLarge);
}

}  // namespace swarm::protocol
