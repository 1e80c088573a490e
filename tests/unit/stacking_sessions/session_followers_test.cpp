// Texts of one client that begin alike: the first one reads, and the others wait for it, not for
// ever.
#include "tests/unit/stacking_sessions/client_bench.hpp"

#include <algorithm>

namespace stacking::sessions {
namespace {

/// The second of two texts that begin alike opens when the first has read, behind what it shares.
TEST_F(SessionClientTest, ATextWaitsForTheOneThatReadsItsBeginning) {
    node::SessionRequest request;
    request.prompt.assign(200, 5);
    request.tokens = 3;
    request.keeps_for = 1;
    request.request = 1;
    on(node::Asked{request});
    const auto first = link_up();
    open(first);
    request.request = 2;
    request.prompt.back() = 6;
    EXPECT_TRUE(sent<SessionOpen>(on(node::Asked{request})).empty());
    SessionToken read = token(200);
    read.token = 1;
    receive(hops_.at(1), read);
    const auto shares = sent<protocol::SessionShare>(out_);
    const auto opens = sent<SessionOpen>(out_);
    ASSERT_EQ(shares.size(), 2U);
    ASSERT_EQ(opens.size(), 2U);
    for (const auto& [peer, share] : shares) {
        EXPECT_EQ(share.session, first[0].second.id.session);
        EXPECT_EQ(share.prefix.size(), 3U);
    }
    for (const auto& [peer, open] : opens) {
        EXPECT_EQ(peer, hops_.at(open.id.hop));
        EXPECT_EQ(open.prefix, shares[0].second.prefix);
    }
}

/// Whoever waits goes on alone when the first does not come on: half of the patience is left then.
TEST_F(SessionClientTest, ATextThatWaitsGoesOnAlone) {
    for (const std::uint64_t number : {1U, 2U, 3U, 4U}) {
        on(node::LinkUp{{{number}}, Lane::Control, {1}});
        on(node::LinkUp{{{number}}, Lane::Bulk, {1}});
    }
    node::SessionRequest request;
    request.prompt.assign(200, 5);
    request.tokens = 3;
    request.keeps_for = 1;
    request.request = 1;
    const auto opens = sent<SessionOpen>(on(node::Asked{request}));
    ASSERT_EQ(opens.size(), 2U);
    const std::uint64_t first = opens[0].second.id.session;
    request.request = 2;
    EXPECT_TRUE(sent<SessionOpen>(on(node::Asked{request})).empty());
    bool alone = false;
    while (!alone && now_ < TimePoint{40s}) {
        now_ += 100ms;
        on(node::Woke{});
        alone = std::ranges::any_of(sent<SessionOpen>(out_), [&](const auto& item) {
            return item.second.id.session != first;
        });
    }
    EXPECT_TRUE(alone);
    EXPECT_GE(now_, TimePoint{30s});
    EXPECT_LT(now_, TimePoint{32s});
}

/// The row of the last token may be that of a wrong guess, at hops that the frame which cuts it has
/// not reached.
TEST_F(SessionClientTest, ATextThatIsCutShortLeavesOnlyRowsThatAreCertain) {
    std::uint64_t number = 0;
    const auto names_after_a_token = [&](std::uint32_t prompt) {
        node::SessionRequest request;
        request.request = ++number;
        request.prompt.assign(prompt, 5);
        request.tokens = 5;
        request.keeps_for = number;
        on(node::Asked{request});
        open(link_up());
        SessionToken read = token(prompt);
        read.token = 1;
        receive(hops_.at(1), read);
        const auto closes = sent<SessionClose>(on(node::Asked{node::CancelRequest{number}}));
        EXPECT_EQ(closes.size(), 2U);
        return closes.empty() ? 99 : closes[0].second.prefix.size();
    };
    EXPECT_EQ(names_after_a_token(63), 0U);
    EXPECT_EQ(names_after_a_token(64), 1U);
}

}  // namespace
}  // namespace stacking::sessions
