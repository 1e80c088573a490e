// A client against peers that lie, are late, or speak for others: it takes only the token that is
// due, from the hop and the route that it asked.
#include "tests/unit/stacking_sessions/client_bench.hpp"

#include <algorithm>

namespace stacking::sessions {
namespace {

TEST_F(SessionClientTest, ADirectoryThatSaysNothingIsNamed) {
    SessionClient::Options options;
    options.self = kSelf;
    options.incarnation = {6};
    options.directory = kDirectory;
    options.models = {{digest_of(1), 100}};
    client_.emplace(std::move(options));
    on(node::Woke{});
    on(node::LinkUp{kDirectory, Lane::Control, {1}});
    node::SessionRequest request;
    request.request = 1;
    request.prompt = {5};
    request.tokens = 1;
    on(node::Asked{request});
    now_ += 60s;
    on(node::Woke{});
    std::string failure;
    for (const node::Action& action : out_.actions) {
        if (const auto* const tell = std::get_if<node::Tell>(&action)) {
            failure = std::get<node::GenerationFailed>(tell->report).reason;
        }
    }
    EXPECT_EQ(failure, "no token in 60 s: the directory has not answered");
}

/// Both hops say again and again that they have read the prompt, and no token comes.
TEST_F(SessionClientTest, ProgressRenewsThePatienceButNotForEver) {
    start();
    const TimePoint begun = now_;
    std::string failure;
    while (failure.empty() && now_ < begun + 1h) {
        for (const std::uint32_t read : {1U, 2U, 3U}) {
            for (const auto& [hop, peer] : std::map(hops_)) {
                protocol::HopId id = id_;
                id.hop = hop;
                receive(peer, SessionOpened{id, read, 0, chosen_});
            }
        }
        now_ = std::max(now_ + 1ms, client_->next_deadline());
        on(node::Woke{});
        for (const node::Action& action : out_.actions) {
            const auto* const tell = std::get_if<node::Tell>(&action);
            const auto* const failed =
                tell == nullptr ? nullptr : std::get_if<node::GenerationFailed>(&tell->report);
            failure = failed == nullptr ? failure : failed->reason;
        }
        open(link_up());
    }
    EXPECT_TRUE(failure.starts_with("no progress in 60 s: ")) << failure;
    EXPECT_GT(now_ - begun, 60s);
    EXPECT_LT(now_ - begun, 200s);
}

TEST_F(SessionClientTest, LeavesTheCodecToTheHopsOnceAndThenNamesIt) {
    chosen_ = protocol::CodecId::Int8;
    start({std::nullopt});
    chosen_ = protocol::CodecId::None;
    on(node::LinkDown{hops_[0], Lane::Control});
    const auto opens = link_up();
    ASSERT_EQ(opens.size(), 2U);
    EXPECT_EQ(opens[0].second.codec, protocol::CodecId::Int8);
    EXPECT_EQ(opens[1].second.codec, protocol::CodecId::Int8);
}

/// A peer that answers with another codec lies or is broken.
TEST_F(SessionClientTest, APeerThatDoesNotTakeTheNamedCodecIsLeft) {
    node::SessionRequest request;
    request.prompt = {5, 6, 7};
    request.tokens = 3;
    request.codecs = {protocol::CodecId::Bf16};
    on(node::Asked{request});
    const auto opens = link_up();
    ASSERT_EQ(opens.size(), 2U);
    const auto& [peer, open] = opens[0];
    EXPECT_EQ(open.codec, protocol::CodecId::Bf16);
    receive(peer, SessionOpened{open.id, 0, 0, protocol::CodecId::Int8});
    const auto again = link_up();
    ASSERT_FALSE(again.empty());
    for (const auto& [other, reopened] : again) {
        EXPECT_EQ(reopened.id.route, 2U);
        EXPECT_NE(other, peer);
    }
}

TEST_F(SessionClientTest, SendsThePromptOnceAllHopsHaveOpened) {
    start();
    const auto rows = sent<SessionRows>(out_);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].first, hops_[0]);
    EXPECT_EQ(rows[0].second.tokens, (std::vector<std::uint32_t>{5, 6, 7}));
    EXPECT_TRUE(rows[0].second.wanted);
    EXPECT_EQ(sent<SessionResume>(out_).size(), 2U);
}

TEST_F(SessionClientTest, FeedsEachTokenAndClosesAfterTheLast) {
    start();
    receive(hops_[1], token(3));
    EXPECT_EQ(streamed(), 1U);
    EXPECT_EQ(sent<SessionRows>(out_).at(0).second.tokens, (std::vector<std::uint32_t>{43}));
    receive(hops_[1], token(4));
    receive(hops_[1], token(5));
    EXPECT_EQ(streamed(), 1U);
    EXPECT_EQ(sent<SessionClose>(out_).size(), 2U);
    receive(hops_[1], token(6));
    EXPECT_EQ(streamed(), 0U);
}

TEST_F(SessionClientTest, TakesNoTokenThatIsNotDue) {
    start();
    for (const std::uint32_t position : {0U, 2U, 4U, 99U}) {
        receive(hops_[1], token(position));
        EXPECT_EQ(streamed(), 0U) << position;
    }
    receive(kStranger, token(3));
    EXPECT_EQ(streamed(), 0U);
    receive(hops_[0], token(3));  // the first hop claims to be the second
    EXPECT_EQ(streamed(), 0U);
    auto late = token(3);
    late.id.route += 1;
    receive(hops_[1], late);
    EXPECT_EQ(streamed(), 0U);
    receive(hops_[1], token(3));
    EXPECT_EQ(streamed(), 1U);
    receive(hops_[1], token(3));
    EXPECT_EQ(streamed(), 0U);
}

TEST_F(SessionClientTest, ABrokenLinkBringsAnotherPeerInTheSameTurn) {
    start();
    receive(hops_[1], token(3));
    const PeerId dead = hops_[1];
    on(node::LinkDown{dead, Lane::Control});
    const auto opens = link_up();
    ASSERT_EQ(opens.size(), 2U);
    EXPECT_EQ(opens[0].second.id.route, 2U);
    for (const auto& [peer, open] : opens) {
        EXPECT_NE(peer, dead);
        EXPECT_EQ(open.id.hop == 0, peer == hops_[0]);
    }
    // The first hop has all rows and its successor none: the kept rows refill it.
    receive(opens[0].first, SessionOpened{opens[0].second.id, 4, 0});
    receive(opens[1].first, SessionOpened{opens[1].second.id, 0, 0});
    for (const auto& [peer, resume] : sent<SessionResume>(out_)) {
        EXPECT_EQ(resume.from, resume.id.hop == 0 ? 3U : 0U);
        EXPECT_EQ(resume.next_from, resume.id.hop == 0 ? 0U : 3U);
    }
    const auto rows = sent<SessionRows>(out_);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].second.position, 3U);
}

TEST_F(SessionClientTest, TokensRefillAllHopsWhenNoRowsAreKept) {
    start();
    receive(hops_[1], token(3));
    on(node::LinkDown{hops_[1], Lane::Control});
    const auto opens = link_up();
    receive(opens[0].first, SessionOpened{opens[0].second.id, 4, 4});
    receive(opens[1].first, SessionOpened{opens[1].second.id, 0, 0});
    const auto rows = sent<SessionRows>(out_);
    ASSERT_EQ(rows.size(), 2U);  // exact: the prompt's call, then the token's
    EXPECT_EQ(rows[0].second.tokens, (std::vector<std::uint32_t>{5, 6, 7}));
    EXPECT_FALSE(rows[0].second.wanted);
    EXPECT_TRUE(rows[1].second.wanted);
}

TEST_F(SessionClientTest, APeerThatGivesAnUnknownTokenIsLeft) {
    start();
    const PeerId liar = hops_[1];
    SessionToken foreign = token(3);
    foreign.token = 100;
    receive(liar, foreign);
    EXPECT_EQ(streamed(), 0U);
    const auto opens = link_up();
    ASSERT_EQ(opens.size(), 2U);
    EXPECT_NE(opens[1].first, liar);
    open(opens);
    receive(hops_[1], token(3));
    EXPECT_EQ(streamed(), 1U);
}

TEST_F(SessionClientTest, AStrangersTroubleChangesNothing) {
    start();
    SessionTrouble trouble{id_, SessionReason::Failed, 0};
    EXPECT_TRUE(receive(kStranger, trouble).actions.empty());
    trouble.id.route -= 1;
    EXPECT_TRUE(receive(hops_[1], trouble).actions.empty());
}

TEST_F(SessionClientTest, SilenceOfASecondOpensTheNextRoute) {
    start();
    receive(hops_[1], token(3));
    EXPECT_GE(client_->next_deadline(), now_ + 1s);
    now_ += 1500ms;
    const auto opens = sent<SessionOpen>(on(node::Woke{}));
    ASSERT_EQ(opens.size(), 2U);
    receive(hops_[0], SessionOpened{opens[0].second.id, 4, 0});
    now_ += 500ms;
    on(node::Woke{});
    const auto next = link_up();
    ASSERT_EQ(next.size(), 2U);
    EXPECT_EQ(next[0].first, hops_[0]);
    EXPECT_NE(next[1].first, hops_[1]);  // the peer that did not answer
}

TEST_F(SessionClientTest, AFalseFillCannotMoveTheText) {
    start();
    receive(hops_[1], token(3));
    now_ += 1500ms;
    for (const auto& [peer, open] : sent<SessionOpen>(on(node::Woke{}))) {
        receive(peer, SessionOpened{open.id, 100'000, 0});
        id_ = open.id;
    }
    const auto rows = sent<SessionRows>(out_);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].second.position, 3U);
    receive(hops_[1], token(4));
    EXPECT_EQ(streamed(), 1U);
}

TEST_F(SessionClientTest, ACancelledRequestIsClosedAndSilent) {
    start();
    on(node::Asked{node::CancelRequest{1}});
    EXPECT_EQ(sent<SessionClose>(out_).size(), 2U);
    receive(hops_[1], token(3));
    EXPECT_TRUE(out_.actions.empty());
}

TEST_F(SessionClientTest, RefusesRequestsThatNobodyCouldServe) {
    for (const auto& [prompt, tokens] : {std::pair{0U, 3U}, {3U, 0U}, {1U, ~0U}}) {
        node::SessionRequest request;
        request.prompt.resize(prompt);
        request.tokens = tokens;
        on(node::Asked{request});
        ASSERT_EQ(out_.actions.size(), 1U);
        const auto& tell = std::get<node::Tell>(out_.actions[0]);
        EXPECT_TRUE(std::holds_alternative<node::GenerationFailed>(tell.report));
    }
}

TEST_F(SessionClientTest, JunkPeersForAModelDoNotTakeASession) {
    protocol::Located located{.model = digest_of(1), .layers = 2, .hosts = {}};
    for (const PeerId head : kHeads) {
        located.hosts.push_back({head, {0, 1}, "", {}, digest_of(5)});
    }
    located.hosts.push_back({{{50}}, {0, 1}, "", {}, digest_of(6)});
    for (const PeerId tail : kTails) {
        located.hosts.push_back({tail, {1, 2}, "", {}, digest_of(5)});
    }
    receive(kDirectory, located);
    std::size_t lines = 0;
    for (const node::Action& action : out_.actions) {
        const auto* tell = std::get_if<node::Tell>(&action);
        lines += tell != nullptr && std::holds_alternative<node::LogLine>(tell->report) ? 1U : 0U;
    }
    EXPECT_EQ(lines, 1U);
    start();
    EXPECT_TRUE(std::ranges::find(kHeads, hops_.at(0)) != kHeads.end());
    // A majority of junk that comes later does not take over the text that is under way.
    for (std::uint64_t peer = 60; peer < 70; ++peer) {
        located.hosts.push_back({{{peer}}, {0, 1}, "", {}, digest_of(6)});
    }
    receive(kDirectory, located);
    receive(hops_.at(1), token(3));
    EXPECT_EQ(streamed(), 1U);
    for (const PeerId head : kHeads) {
        for (const node::Action& action : on(node::LinkDown{head, Lane::Control}).actions) {
            const auto* dial = std::get_if<node::Dial>(&action);
            EXPECT_TRUE(dial == nullptr || dial->peer.words[0] < 10U);
        }
    }
}

TEST_F(SessionClientTest, LayersFromWhichNoOthersLeadOnAreNoStage) {
    protocol::Located located{.model = digest_of(1), .layers = 4, .hosts = {}};
    for (std::uint64_t peer = 60; peer < 70; ++peer) {
        located.hosts.push_back({{{peer}}, {0, 1}, ""});
        located.hosts.push_back({{{peer + 10}}, {3, 4}, ""});
    }
    located.hosts.push_back({kHeads[0], {0, 2}, ""});
    located.hosts.push_back({kTails[0], {2, 4}, ""});
    receive(kDirectory, located);
    start();
    EXPECT_EQ(hops_.at(0), kHeads[0]);
    EXPECT_EQ(hops_.at(1), kTails[0]);
}

/// Rows of other weights are other rows, whoever has kept them.
TEST_F(SessionClientTest, ATextIsSoughtWhereItWasKeptWhileTheWeightsAreTheSame) {
    const auto opens_of = [&](std::uint64_t number) {
        node::SessionRequest request;
        request.request = number;
        request.prompt.assign(70, 5);
        request.tokens = 1;
        request.keeps_for = 1;
        on(node::Asked{request});
        return link_up();
    };
    open(opens_of(1));
    SessionToken last = token(70);
    last.token = 1;
    receive(hops_.at(1), last);
    ASSERT_EQ(sent<SessionClose>(out_).size(), 2U);
    EXPECT_EQ(sent<SessionClose>(out_)[0].second.prefix.size(), 1U);
    const auto again = opens_of(2);
    ASSERT_EQ(again.size(), 2U);
    for (const auto& [peer, open] : again) {
        EXPECT_EQ(peer, hops_.at(open.id.hop));
        EXPECT_EQ(open.prefix.size(), 1U);
    }
    on(node::Asked{node::CancelRequest{2}});
    protocol::Located other{.model = digest_of(1), .layers = 2, .hosts = {}};
    other.hosts.push_back({hops_.at(0), {0, 1}, "", {}, digest_of(6)});
    other.hosts.push_back({hops_.at(1), {1, 2}, ""});
    receive(kDirectory, other);
    const auto changed = opens_of(3);
    ASSERT_EQ(changed.size(), 2U);
    EXPECT_TRUE(changed[0].second.prefix.empty() && changed[1].second.prefix.empty());
}

}  // namespace
}  // namespace stacking::sessions
