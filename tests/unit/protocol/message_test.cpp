// Every message survives the wire whole, and messages are as small as the step protocol assumes.
#include "swarm/protocol/message.hpp"

#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace swarm::protocol {

namespace {

Result<Message> through_the_wire(const Message& message) {
    return decode_control(
        static_cast<std::uint16_t>(message.body.index()), encode_control(message)
    );
}

std::string detail(const Result<Message>& result) {
    return result ? "decoded" : result.error().detail;
}

}  // namespace

class EveryMessage : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryMessage, SurvivesTheWireWhole) {
    const Message sample = sample_messages().at(GetParam());
    ASSERT_EQ(sample.body.index(), GetParam()) << "samples are in the order of Body";
    const Result<Message> arrived = through_the_wire(sample);
    ASSERT_TRUE(arrived) << detail(arrived);
    EXPECT_TRUE(*arrived == sample);
}

TEST_P(EveryMessage, StaysAMessageOfItsOwnKind) {
    const std::vector<std::byte> bytes = encode_control(sample_messages().at(GetParam()));
    for (std::size_t kind = 0; kind < kMessageKinds + 2; ++kind) {
        const bool own = kind == GetParam();
        EXPECT_EQ(decode_control(static_cast<std::uint16_t>(kind), bytes).has_value(), own) << kind;
    }
}

INSTANTIATE_TEST_SUITE_P(Message, EveryMessage, testing::Range<std::size_t>(0, kMessageKinds));

TEST(Message, HasASampleForEachAlternative) {
    EXPECT_EQ(sample_messages().size(), kMessageKinds);
}

TEST(Message, WithoutOptionalFieldsSurvivesTheWire) {
    const std::vector<Body> bodies{
        Join{},
        Fetch{},
        Chunk{},
        ChunkRefused{},
        Roster{},
        Recall{},
        Reduce{},
        Commit{},
        Inferred{},
        HeartbeatReply{},
        Evaluate{},
        Evaluated{},
        ExpertOutputs{},
        ExpertRefused{},
        SessionLacks{},
        SessionShare{}};
    for (const Body& body : bodies) {
        const Message message{.body = body};
        const Result<Message> arrived = through_the_wire(message);
        ASSERT_TRUE(arrived) << detail(arrived);
        EXPECT_TRUE(*arrived == message) << body.index();
    }
}

TEST(Message, KeepsTheSignOfNegativeZero) {
    Message message = sample_of<Path>();
    std::get<Path>(message.body).loss = -0.0;
    const Result<Message> arrived = through_the_wire(message);
    ASSERT_TRUE(arrived) << detail(arrived);
    EXPECT_TRUE(std::signbit(std::get<Path>(arrived->body).loss));
}

TEST(Message, EachEnumeratorSurvivesTheWire) {
    for (const auto reason :
         {RefusedReason::Busy,
          RefusedReason::Behind,
          RefusedReason::Stale,
          RefusedReason::NotAdmitted,
          RefusedReason::NoGraph,
          RefusedReason::Invalid}) {
        Message message = sample_of<Refused>();
        std::get<Refused>(message.body).reason = reason;
        const Result<Message> arrived = through_the_wire(message);
        ASSERT_TRUE(arrived) << detail(arrived);
        EXPECT_EQ(std::get<Refused>(arrived->body).reason, reason);
    }
}

// The cost table of the step protocol counts on answers of some 40 bytes.
TEST(Message, AnswerToALegFitsInFortyBytes) {
    const LegId leg{
        .version = {.gen = 1, .step = 10'000},
        .microbatch = {511},
        .attempt = make_epoch(3, 1),
        .leg = Leg::Backward};
    EXPECT_LE(encode_control({.body = Accepted{leg}}).size(), 40U);
    EXPECT_LE(encode_control({.body = Passed{leg}}).size(), 40U);
}

TEST(Message, LargestReduceFitsInAControlFrame) {
    Reduce reduce;
    for (std::uint32_t id = 0; id < kMicrobatchesMax; ++id) {
        reduce.ids.push_back({id});
    }
    for (std::uint32_t member = 0; member < 1024; ++member) {
        reduce.group.push_back({make_epoch(9, member).value});
        reduce.tied_group.push_back({make_epoch(10, member).value});
    }
    EXPECT_LE(encode_control({.body = reduce}).size(), kControlBytesMax);
}

TEST(Hello, SurvivesTheWireWhole) {
    const Result<Hello> arrived = decode_hello(encode_hello(sample_hello()));
    ASSERT_TRUE(arrived) << arrived.error().detail;
    EXPECT_TRUE(*arrived == sample_hello());
}

}  // namespace swarm::protocol
