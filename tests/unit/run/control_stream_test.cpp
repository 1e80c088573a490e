#include "swarm/run/control_stream.hpp"


#include <gtest/gtest.h>

namespace swarm::run {
namespace {

using Verdict = ControlStream::Verdict;

protocol::Leave leave(const char* reason) {
    return {reason};
}

TEST(ControlStream, NumbersFromOneInOrder) {
    ControlStream stream;
    EXPECT_EQ(stream.number(leave("a")).number, 1U);
    EXPECT_EQ(stream.number(leave("b")).number, 2U);
}

TEST(ControlStream, KeepsUnacknowledgedMessages) {
    ControlStream stream;
    stream.number(leave("a"));
    stream.number(leave("b"));
    stream.number(leave("c"));
    EXPECT_EQ(stream.receive({0, 2, protocol::Acknowledge{}}), Verdict::Deliver);
    const auto kept = stream.unacknowledged();
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].number, 3U);
    EXPECT_EQ(kept[0].body, protocol::Body(leave("c")));
}

TEST(ControlStream, DeliversEachNumberOnce) {
    ControlStream stream;
    EXPECT_EQ(stream.receive({1, 0, leave("a")}), Verdict::Deliver);
    EXPECT_EQ(stream.receive({2, 0, leave("b")}), Verdict::Deliver);
    EXPECT_EQ(stream.receive({1, 0, leave("a")}), Verdict::Duplicate);
    EXPECT_EQ(stream.receive({2, 0, leave("b")}), Verdict::Duplicate);
    EXPECT_EQ(stream.receive({3, 0, leave("c")}), Verdict::Deliver);
}

TEST(ControlStream, CallsAGapBrokenAndStaysWhereItWas) {
    ControlStream stream;
    EXPECT_EQ(stream.receive({2, 0, leave("b")}), Verdict::Broken);
    EXPECT_EQ(stream.receive({1, 0, leave("a")}), Verdict::Deliver);
}

TEST(ControlStream, AlwaysDeliversUnnumberedMessages) {
    ControlStream stream;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(stream.receive({0, 0, protocol::Acknowledge{}}), Verdict::Deliver);
    }
}

TEST(ControlStream, AcknowledgesWithEverythingItSends) {
    ControlStream stream;
    static_cast<void>(stream.receive({1, 0, leave("a")}));
    EXPECT_EQ(stream.unnumbered(protocol::Acknowledge{}).acknowledged, 1U);
    static_cast<void>(stream.receive({2, 0, leave("b")}));
    EXPECT_EQ(stream.number(leave("c")).acknowledged, 2U);
    static_cast<void>(stream.receive({3, 0, leave("d")}));
    EXPECT_EQ(stream.unacknowledged().at(0).acknowledged, 3U);
}

TEST(ControlStream, OwesAnAcknowledgementAfterSixtyFourMessages) {
    ControlStream stream;
    for (std::uint64_t number = 1; number <= 63; ++number) {
        static_cast<void>(stream.receive({number, 0, leave("a")}));
    }
    EXPECT_FALSE(stream.owes_acknowledgement());
    static_cast<void>(stream.receive({64, 0, leave("a")}));
    EXPECT_TRUE(stream.owes_acknowledgement());
    static_cast<void>(stream.unnumbered(protocol::Acknowledge{}));
    EXPECT_FALSE(stream.owes_acknowledgement());
}

TEST(ControlStream, CountsWhatTheOtherSideHasNotRead) {
    ControlStream stream;
    stream.number(leave("a"));
    stream.number(leave("b"));
    EXPECT_EQ(stream.unread(), 2U);
    static_cast<void>(stream.receive({0, 1, protocol::Acknowledge{}}));
    EXPECT_EQ(stream.unread(), 1U);
}

TEST(ControlStream, SurvivesAnAcknowledgementOfTheFuture) {
    ControlStream stream;
    stream.number(leave("a"));
    EXPECT_EQ(stream.receive({0, ~0ULL, protocol::Acknowledge{}}), Verdict::Deliver);
    EXPECT_TRUE(stream.unacknowledged().empty());
    EXPECT_EQ(stream.number(leave("b")).number, 2U);
}

TEST(ControlStream, LosesNothingOverLinksThatBreakAnywhere) {
    constexpr std::uint64_t kMessages = 12;
    for (std::uint64_t cut = 0; cut <= kMessages; ++cut) {
        ControlStream sender;
        ControlStream receiver;
        std::vector<protocol::Body> delivered;
        const auto deliver = [&](const protocol::Message& message) {
            if (receiver.receive(message) == Verdict::Deliver) {
                delivered.push_back(message.body);
            }
        };
        std::vector<protocol::Body> expected;
        for (std::uint64_t i = 0; i < kMessages; ++i) {
            expected.emplace_back(leave(std::to_string(i).c_str()));
            const auto message = sender.number(expected.back());
            if (i < cut) {
                deliver(message);  // the rest is lost with the link
            }
        }
        for (const auto& message : sender.unacknowledged()) {
            deliver(message);
        }
        EXPECT_EQ(delivered, expected);
    }
}

}  // namespace
}  // namespace swarm::run
