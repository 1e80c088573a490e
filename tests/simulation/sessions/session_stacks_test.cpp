// Peers serve the members of stacks: the texts are those of one process that holds all members,
// whatever happens to the peers, until a member is gone for good.
#include "stacking/composition/text_reader.hpp"
#include "stages/compute/top_tokens.hpp"
#include "tests/simulation/sessions/session_crashes.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// Two models, each with two stages of two peers. With logits this close no member wins at once.
SessionBedOptions two_members() {
    SessionBedOptions options;
    options.members = 2;
    options.stages = 2;
    options.model.spread = 0.25F;
    return options;
}

node::SessionRequest request_of_two(std::uint64_t number, std::uint32_t tokens, Replay replay) {
    return stack_request(session_request(number, 5, tokens, replay), {1, 1});
}

TEST(SessionStacks, GiveTheTextOfOneProcess) {
    SessionBedOptions options = two_members();
    options.members = 3;
    SessionBed bed(options);
    bed.ask(stack_request(session_request(1, 40, 60), {1, 1, 1}));
    bed.ask(stack_request(session_request(2, 300, 40), {5, 1, 0.2}));
    node::SessionRequest drawn = stack_request(session_request(3, 1, 60), {1, 2, 3});
    drawn.sampling = {.temperature = 0.9, .seed = 7, .top = 3, .top_p = 0.8, .top_k = 20};
    bed.ask(drawn);
    bed.ask(session_request(4, 10, 20));  // a request for the first model alone, beside the others
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_NE(bed.told(1).tokens, bed.expected(session_request(1, 40, 60)));
}

TEST(SessionStacks, TheSameMemberTwiceGivesItsText) {
    SessionBed bed;
    node::SessionRequest twice = session_request(1, 5, 30);
    twice.members = {{SessionBed::digest(1), 1}, {SessionBed::digest(1), 4}};
    bed.ask(twice);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.told(1).tokens, bed.expected(session_request(1, 5, 30)));
}

TEST(SessionStacks, SurviveACrashBeforeEveryEvent) {
    const std::size_t exact =
        moves_under_crashes(two_members(), request_of_two(1, 8, Replay::Exact));
    const std::size_t fast = moves_under_crashes(two_members(), request_of_two(1, 8, Replay::Fast));
    EXPECT_GT(exact + fast, 50U);
}

/// Only the prompt decides the weights here. A crash while it is read, in calls of 256 tokens, must
/// neither lose its evidence nor count it twice.
TEST(SessionStacks, KeepTheEvidenceOfThePromptWhoeverReadIt) {
    SessionBedOptions options = two_members();
    options.model.spread = 16;
    options.units_per_s = 20'000;
    for (std::uint64_t number = 1; number <= 4; ++number) {
        node::SessionRequest request = stack_request(session_request(number, 300, 2), {1, 1});
        request.request = 1;
        moves_under_crashes(options, request);
    }
}

TEST(SessionStacks, GoOnWithoutAMemberThatIsGone) {
    SessionBed bed(two_members());
    bed.ask(request_of_two(1, 20, Replay::Exact));
    ASSERT_TRUE(bed.world().run_until([&] { return bed.told(1).tokens.size() == 5; }, 60s));
    bed.world().crash(peer(7));  // last stage of the second member
    bed.world().crash(peer(8));
    EXPECT_TRUE(bed.run());
    const Told& told = bed.told(1);
    EXPECT_EQ(told.failure, "");
    EXPECT_TRUE(told.in_order);
    ASSERT_EQ(told.tokens.size(), 20U);
    ASSERT_EQ(told.dropped.size(), 1U);
    EXPECT_EQ(told.dropped[0].member, 1U);
    // Both members gave the tokens before the drop; the first one alone continues them.
    const std::size_t together = told.dropped[0].position - 5;
    const auto expected = bed.expected(request_of_two(1, 20, Replay::Exact));
    for (std::size_t i = 0; i < together; ++i) {
        EXPECT_EQ(told.tokens[i], expected[i]);
    }
    const auto alone = bed.reader(0);
    std::vector<std::uint32_t> text = session_request(1, 5, 20).prompt;
    text.insert(text.end(), told.tokens.begin(), told.tokens.end());
    ASSERT_FALSE(alone->begin(static_cast<std::uint32_t>(text.size())).has_error());
    const auto scores = alone->read(text, stacking::composition::TextReader::Wanted::AfterEach);
    ASSERT_FALSE(scores.has_error());
    for (std::size_t i = together; i < told.tokens.size(); ++i) {
        const auto row = std::span(*scores).subspan((5 + i - 1) * 97, 97);
        EXPECT_EQ(told.tokens[i], stages::top_tokens(row, 1).front().token);
    }
}

TEST(SessionStacks, EndWithOneLineWhenTheLastMemberIsGone) {
    SessionBedOptions options = two_members();
    options.patience = 20s;
    SessionBed bed(options);
    bed.ask(request_of_two(1, 20, Replay::Exact));
    ASSERT_TRUE(bed.world().run_until([&] { return bed.told(1).tokens.size() == 5; }, 60s));
    for (const std::uint64_t number : {1, 2, 5, 6}) {
        bed.world().crash(peer(number));
    }
    EXPECT_TRUE(bed.run());
    EXPECT_NE(bed.told(1).failure.find("no token in 20 s"), std::string::npos);
    EXPECT_LE(bed.told(1).dropped.size(), 1U);
}

/// The path leads through layers of two models, and then of the first one again.
TEST(SessionChains, SurviveACrashBeforeEveryEvent) {
    const auto chain = [](Replay replay) {
        return chain_request(session_request(1, 5, 8, replay), {{0}, {1, {{3, 6}}}, {0, {{3, 6}}}});
    };
    const std::size_t exact = moves_under_crashes(two_members(), chain(Replay::Exact));
    const std::size_t fast = moves_under_crashes(two_members(), chain(Replay::Fast));
    EXPECT_GT(exact + fast, 50U);
}

TEST(SessionChains, FollowThePathThroughAllMembers) {
    SessionBed bed(two_members());
    bed.ask(chain_request(session_request(1, 300, 20), {{0}, {1}}));
    bed.ask(chain_request(session_request(2, 5, 20), {{1}, {0}}));
    node::SessionRequest early = chain_request(session_request(3, 5, 20), {{0}, {1}});
    early.exit_threshold = 0.011;
    bed.ask(early);
    bed.ask(session_request(4, 5, 20));
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_NE(bed.told(2).tokens, bed.expected(session_request(2, 5, 20)));
}

/// Control: a model that is cut into members gives the text of that model.
TEST(SessionChains, TheHalvesOfAModelGiveItsText) {
    SessionBed bed(two_members());
    const auto whole = session_request(1, 5, 30);
    bed.ask(chain_request(whole, {{0, {{0, 3}}}, {0, {{3, 6}}}}));
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.told(1).tokens, bed.expected(whole));
}

SessionBedOptions behind_a_bridge() {
    SessionBedOptions options = two_members();
    options.bridged = true;
    return options;
}

node::SessionRequest over_the_bridge(
    std::uint64_t number, std::uint32_t prompt, std::uint32_t tokens, Replay replay = Replay::Exact
) {
    return chain_request(
        session_request(number, prompt, tokens, replay), {{0}, {.member = 1, .bridged = true}}
    );
}

TEST(SessionBridges, GiveTheTextOfOneProcess) {
    SessionBed bed(behind_a_bridge());
    bed.ask(over_the_bridge(1, 300, 20));
    bed.ask(over_the_bridge(2, 5, 40));
    bed.ask(session_request(3, 5, 20));  // a request for the first member alone, beside the others
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_NE(
        bed.told(2).tokens, bed.expected(chain_request(session_request(2, 5, 40), {{0}, {1}}))
    );
}

/// Peers of both members crash, those with the bridge included; rows are refilled with their
/// tokens.
TEST(SessionBridges, SurviveACrashBeforeEveryEvent) {
    const std::size_t exact = moves_under_crashes(behind_a_bridge(), over_the_bridge(1, 5, 8));
    const std::size_t fast =
        moves_under_crashes(behind_a_bridge(), over_the_bridge(1, 5, 8, Replay::Fast));
    EXPECT_GT(exact + fast, 50U);
}

/// Peers keep no rows, so a refill comes from the client's tokens, through both members.
TEST(SessionBridges, SurviveWithoutKeptRows) {
    SessionBedOptions options = behind_a_bridge();
    options.kept_bytes_max = 0;
    SessionBed bed(options);
    bed.ask(over_the_bridge(1, 5, 200));
    for (const std::uint64_t holder : {5, 6}) {
        const std::size_t before = bed.told(1).tokens.size();
        const auto later = [&] { return bed.told(1).tokens.size() >= before + 5; };
        ASSERT_TRUE(bed.world().run_until(later, 60s));
        bed.world().crash(peer(holder));
        bed.world().run_for(300ms);
        bed.world().restart(peer(holder));
    }
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_GE(bed.told(1).moves.size(), 1U);
}

TEST(SessionBridges, RefuseTokensThatDoNotBelongToTheRows) {
    const auto lie_in = [](auto change) {
        return [change](protocol::Body& body) {
            auto* const rows = std::get_if<protocol::SessionRows>(&body);
            if (rows != nullptr && !rows->tokens.empty()) {
                change(rows->tokens);
            }
        };
    };
    using Tokens = std::vector<std::uint32_t>;
    const std::vector<Lie> lies{
        lie_in([](Tokens& tokens) { tokens.clear(); }),
        lie_in([](Tokens& tokens) { tokens.push_back(1); }),
        lie_in([](Tokens& tokens) { tokens.back() = 97; })};
    for (std::size_t i = 0; i < lies.size(); ++i) {
        SessionBedOptions options = behind_a_bridge();
        options.liar = 3;  // the hop before the bridge
        options.lie = lies[i];
        SessionBed bed(options);
        bed.ask(over_the_bridge(1, 5, 20));
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.verdict(), "") << "lie " << i;
    }
}

/// One request leaves the bridge out, and one puts it in front of the first member.
TEST(SessionBridges, ImpossibleBridgesEndWithOneLine) {
    SessionBedOptions options = behind_a_bridge();
    options.patience = 5s;
    SessionBed bed(options);
    bed.ask(chain_request(session_request(1, 5, 5), {{0}, {1}}));
    bed.ask(chain_request(session_request(2, 5, 5), {{.member = 1, .bridged = true}, {0}}));
    EXPECT_TRUE(bed.run());
    EXPECT_NE(bed.told(1).failure.find("serves other layers or another model"), std::string::npos)
        << bed.told(1).failure;
    EXPECT_NE(bed.told(2).failure.find("the first one has none"), std::string::npos);
}

TEST(SessionChains, ImpossibleChainsEndWithOneLine) {
    SessionBedOptions options = two_members();
    options.patience = 5s;
    SessionBed bed(options);
    // The peers of the model hold three layers each: no peer has the second layer alone.
    bed.ask(chain_request(session_request(1, 5, 5), {{0}, {1, {{1, 2}}}}));
    auto both = stack_request(session_request(2, 5, 5), {1, 1});
    bed.ask(chain_request(both, {{0}, {1}}));
    auto path = chain_request(session_request(3, 5, 5), {{0}, {1}});
    path.path = {0, 1};
    bed.ask(path);
    auto stranger = session_request(4, 5, 5);
    stranger.chain.push_back({SessionBed::digest(9)});
    bed.ask(stranger);
    EXPECT_TRUE(bed.run());
    EXPECT_NE(bed.told(1).failure.find("are served by nobody"), std::string::npos);
    EXPECT_NE(bed.told(2).failure.find("no ensemble"), std::string::npos);
    EXPECT_NE(bed.told(3).failure.find("a path of its own"), std::string::npos);
    EXPECT_NE(bed.told(4).failure.find("is not known here"), std::string::npos);
}

TEST(SessionStacks, ACancelFreesThePagesOfAllMembers) {
    SessionBed bed(two_members());
    bed.ask(request_of_two(1, 50, Replay::Exact));
    ASSERT_TRUE(bed.world().run_until([&] { return bed.told(1).tokens.size() == 5; }, 60s));
    bed.cancel(1);
    bed.world().run_for(20ms);
    for (std::uint64_t number = 1; number <= bed.servers(); ++number) {
        EXPECT_EQ(bed.reserved(peer(number)), 0U) << number;
    }
    const std::size_t tokens = bed.told(1).tokens.size();
    bed.world().run_for(10s);
    EXPECT_EQ(bed.told(1).tokens.size(), tokens);
}

TEST(SessionStacks, AStackWithAnUnknownMemberIsRefused) {
    SessionBed bed;
    bed.ask(request_of_two(1, 5, Replay::Exact));
    EXPECT_TRUE(bed.run());
    EXPECT_NE(bed.told(1).failure.find("is not known here"), std::string::npos);
}

/// A last hop that claims impossible probabilities would otherwise get all the weight.
TEST(SessionStacks, DoNotBelieveImpossibleProbabilities) {
    const auto lie_in = [](auto change) {
        return [change](protocol::Body& body) {
            if (auto* token = std::get_if<protocol::SessionToken>(&body)) {
                change(*token);
            }
        };
    };
    const std::vector<Lie> lies{
        lie_in([](protocol::SessionToken& token) { token.top.clear(); }),
        lie_in([](protocol::SessionToken& token) { token.top.front().log_probability = 3; }),
        lie_in([](protocol::SessionToken& token) { token.top.back().token = 97; }),
        lie_in([](protocol::SessionToken& token) { token.text_log_probability = 1000; })};
    for (std::size_t i = 0; i < lies.size(); ++i) {
        SessionBedOptions options = two_members();
        options.liar = 3;
        options.lie = lies[i];
        SessionBed bed(options);
        bed.ask(request_of_two(1, 20, Replay::Exact));
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.verdict(), "") << "lie " << i;
    }
}

}  // namespace
}  // namespace sim
