#include "stacking/generator.hpp"

#include "tests/unit/stacking/script.hpp"

#include <gtest/gtest.h>

namespace stacking {
namespace {

using namespace test;
using node::Lane;
using protocol::Inferred;

class GeneratorTest : public testing::Test {
 protected:
    template <class Event>
    Actions on(Event event, TimePoint now = kStart) {
        Actions actions;
        generator_.on(node::Event(std::move(event)), now, actions.out);
        return actions;
    }

    /// Links the coordinator, tells the run, and links these members of the first stage.
    void connect(const std::vector<PeerId>& heads) {
        on(node::Woke{});
        on(node::LinkUp{kCoordinator, Lane::Control, {5}, true});
        on(node::LinkUp{kCoordinator, Lane::Bulk, {5}, true});
        on(received(kCoordinator, assignment(), 1));
        std::vector<protocol::SlotInfo> slots;
        for (const PeerId head : heads) {
            slots.push_back(member(head));
        }
        on(received(kCoordinator, protocol::Roster{1, slots}, 2));
        for (const PeerId head : heads) {
            link(head);
        }
    }

    Actions link(PeerId head) {
        on(node::LinkUp{head, Lane::Control, {1}});
        return on(node::LinkUp{head, Lane::Bulk, {1}});
    }

    static node::Asked prompt(std::vector<std::uint32_t> tokens, std::uint32_t count = 1) {
        node::GenerateRequest request;
        request.request = 42;
        request.prompt = std::move(tokens);
        request.tokens = count;
        return {request};
    }

    static node::Received answer(PeerId from, const protocol::Infer& infer, std::uint32_t token) {
        return received(from, Inferred{infer.request, false, {{token, -0.5}}});
    }

    static node::Received refusal(PeerId from, const protocol::Infer& infer) {
        return received(from, Inferred{infer.request, true, {}});
    }

    /// Returns the only question among the actions of one turn.
    static protocol::Infer question(const Actions& actions, PeerId to) {
        const auto asked = actions.sent<protocol::Infer>(to);
        EXPECT_EQ(asked.size(), 1U);
        return asked.empty() ? protocol::Infer{} : asked[0];
    }

    static Generator::Options options() {
        Generator::Options options;
        options.coordinator_address = "here:7117";
        options.first_contact_within = 30s;
        return options;
    }

    Generator generator_{options()};
};

TEST_F(GeneratorTest, AsksForTheWindowAndReportsTheToken) {
    connect({kFirst});
    const auto infer = question(on(prompt({1, 2, 3})), kFirst);
    EXPECT_EQ(infer.tokens, (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_EQ(infer.top, 1U);
    const auto told = on(answer(kFirst, infer, 9), kStart + 20ms).told<node::TokenGenerated>();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].request, 42U);
    EXPECT_EQ(told[0].token, 9U);
    EXPECT_EQ(told[0].took, 20ms);
    EXPECT_TRUE(told[0].last);
}

/// Text with which a generator with tokenizer `given` ends for a run with tokenizer `of_run`.
std::string verdict(const std::string& given, const std::string& of_run) {
    Generator::Options options;
    options.coordinator_address = "here:7117";
    options.tokenizer_sha256 = given;
    Generator generator(std::move(options));
    swarm::run::RunConfig config;
    if (!of_run.empty()) {
        config.tokenizer = "spm:300";
        config.tokenizer_sha256 = of_run;
        swarm::run::follow_tokenizer(config);
    }
    protocol::Assign assign;
    assign.run_file = swarm::run::to_toml(config);
    Actions actions;
    generator.on(node::Woke{}, kStart, actions.out);
    generator.on(node::LinkUp{kCoordinator, Lane::Control, {5}, true}, kStart, actions.out);
    generator.on(received(kCoordinator, assign, 1), kStart, actions.out);
    const auto failed = actions.told<node::RunFailed>();
    return failed.empty() ? "" : failed.at(0).text;
}

TEST(Generator, TakesOnlyTheRunsOwnTokenizer) {
    const std::string one(64, 'a');
    EXPECT_EQ(verdict("", ""), "");
    EXPECT_EQ(verdict(one, one), "");
    EXPECT_NE(verdict("", one).find("spm:300; name tokenizer.model"), std::string::npos);
    EXPECT_NE(verdict(one, "").find("leave --tokenizer out"), std::string::npos);
    EXPECT_NE(verdict(one, std::string(64, 'b')).find("is not the run's"), std::string::npos);
}

/// A generator that was given no tokenizer, and a run with this digest of a tokenizer.
class OwnTokenizerTest : public testing::Test {
 protected:
    OwnTokenizerTest() {
        Generator::Options options;
        options.coordinator_address = "here:7117";
        options.tokenizer_sha256 = std::nullopt;
        options.patience = 30s;
        generator_.emplace(std::move(options));
        on(node::Woke{});
        on(node::LinkUp{kCoordinator, Lane::Control, {5}, true});
        on(node::LinkUp{kCoordinator, Lane::Bulk, {5}, true});
    }

    Actions assign(const std::string& of_run) {
        swarm::run::RunConfig config;
        if (!of_run.empty()) {
            config.tokenizer = "spm:300";
            config.tokenizer_sha256 = of_run;
            swarm::run::follow_tokenizer(config);
        }
        protocol::Assign body;
        body.run_file = swarm::run::to_toml(config);
        return on(received(kCoordinator, body, 1));
    }

    template <class Event>
    Actions on(Event event, TimePoint now = kStart) {
        Actions actions;
        generator_->on(node::Event(std::move(event)), now, actions.out);
        return actions;
    }

    static node::Received chunk(const std::string& bytes) {
        protocol::Chunk body;
        body.chunk = 0;
        const auto view = std::as_bytes(std::span(bytes));
        node::Received event{kCoordinator, Lane::Bulk, {0, 0, body}, {}};
        event.payload = node::Payload(
            {protocol::Dtype::Bytes,
             protocol::CodecId::None,
             {static_cast<std::uint32_t>(view.size())}},
            std::vector<std::byte>(view.begin(), view.end())
        );
        return event;
    }

    std::string digest_ =
        to_hex(swarm::sha256(std::as_bytes(std::span(std::string_view("pieces")))));
    std::optional<Generator> generator_;
};

TEST_F(OwnTokenizerTest, OfARunOfBytesIsToldAtOnce) {
    const auto told = assign("").told<node::TokenizerKnown>();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].file, "");
}

TEST_F(OwnTokenizerTest, ComesFromTheCoordinator) {
    const Actions asked = assign(digest_);
    EXPECT_TRUE(asked.told<node::TokenizerKnown>().empty());
    const auto questions = asked.sent<protocol::Fetch>(kCoordinator);
    ASSERT_EQ(questions.size(), 1U);
    EXPECT_TRUE(questions[0].tokenizer);
    const auto told = on(chunk("pieces")).told<node::TokenizerKnown>();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].file, "pieces");
    EXPECT_TRUE(on(chunk("pieces")).told<node::TokenizerKnown>().empty());
}

TEST_F(OwnTokenizerTest, IsAskedForAgainAfterSilenceAndOnANewLink) {
    assign(digest_);
    EXPECT_TRUE(on(node::Woke{}, kStart + 4s).sent<protocol::Fetch>(kCoordinator).empty());
    EXPECT_EQ(on(node::Woke{}, kStart + 5s).sent<protocol::Fetch>(kCoordinator).size(), 1U);
    on(node::LinkDown{kCoordinator, Lane::Bulk}, kStart + 6s);
    on(node::Woke{}, kStart + 7s);
    const Actions linked = on(node::LinkUp{kCoordinator, Lane::Bulk, {5}, true}, kStart + 8s);
    EXPECT_EQ(linked.sent<protocol::Fetch>(kCoordinator).size(), 1U);
}

TEST_F(OwnTokenizerTest, OfAnotherDigestEndsTheRole) {
    assign(digest_);
    const auto failed = on(chunk("other")).told<node::RunFailed>();
    ASSERT_EQ(failed.size(), 1U);
    EXPECT_EQ(failed[0].exit_code, 3);
    EXPECT_NE(failed[0].text.find("with --tokenizer"), std::string::npos);
}

TEST_F(OwnTokenizerTest, ThatDoesNotComeEndsTheWait) {
    assign(digest_);
    EXPECT_LE(generator_->next_deadline(), kStart + 30s);
    const auto failed = on(node::Woke{}, kStart + 30s).told<node::RunFailed>();
    ASSERT_EQ(failed.size(), 1U);
    EXPECT_EQ(failed[0].text, "the coordinator has not sent the run's tokenizer in 30 s");
}

TEST_F(GeneratorTest, SlidesTheWindowOverGeneratedTokens) {
    connect({kFirst});
    const auto first = question(on(prompt({1, 2, 3, 4}, 2)), kFirst);
    const Actions actions = on(answer(kFirst, first, 5));
    EXPECT_FALSE(actions.told<node::TokenGenerated>().at(0).last);
    const auto second = question(actions, kFirst);
    EXPECT_EQ(second.tokens, (std::vector<std::uint32_t>{2, 3, 4, 5}));
    EXPECT_TRUE(on(answer(kFirst, second, 6)).told<node::TokenGenerated>().at(0).last);
}

TEST_F(GeneratorTest, AsksForSeveralCandidatesAtATemperature) {
    connect({kFirst});
    node::Asked asked = prompt({1});
    std::get<node::GenerateRequest>(asked.request).temperature = 1;
    EXPECT_EQ(question(on(asked), kFirst).top, protocol::kTopTokensMax);
}

TEST_F(GeneratorTest, KeepsARequestUntilTheRosterComes) {
    on(node::Woke{});
    EXPECT_TRUE(on(prompt({1})).told<node::GenerationFailed>().empty());
    on(node::LinkUp{kCoordinator, Lane::Control, {5}, true});
    on(received(kCoordinator, assignment(), 1));
    on(received(kCoordinator, protocol::Roster{1, {member(kFirst)}}, 2));
    question(link(kFirst), kFirst);
}

TEST_F(GeneratorTest, AsksAnotherMemberAfterARefusal) {
    connect({kFirst, kSecond});
    const auto infer = question(on(prompt({1})), kFirst);
    const auto again = question(on(refusal(kFirst, infer)), kSecond);
    EXPECT_EQ(again.tokens, infer.tokens);
    EXPECT_NE(again.request, infer.request);
}

TEST_F(GeneratorTest, AsksTheOnlyMemberAgainAfterItsRest) {
    connect({kFirst});
    const auto infer = question(on(prompt({1})), kFirst);
    EXPECT_TRUE(on(refusal(kFirst, infer)).sent<protocol::Infer>(kFirst).empty());
    ASSERT_LE(generator_.next_deadline(), kStart + 100ms);
    question(on(node::Woke{}, kStart + 100ms), kFirst);
}

TEST_F(GeneratorTest, AsksAnotherMemberInTheTurnInWhichALinkBreaks) {
    connect({kFirst, kSecond});
    question(on(prompt({1})), kFirst);
    question(on(node::LinkDown{kFirst, Lane::Bulk}), kSecond);
}

TEST_F(GeneratorTest, AsksAnotherMemberAfterFiveSecondsOfSilence) {
    connect({kFirst, kSecond});
    question(on(prompt({1})), kFirst);
    EXPECT_TRUE(on(node::Woke{}, kStart + 5s - 1ns).sent<protocol::Infer>(kSecond).empty());
    question(on(node::Woke{}, kStart + 5s), kSecond);
}

TEST_F(GeneratorTest, TakesALateAnswerToTheSameTokenOnce) {
    connect({kFirst, kSecond});
    const auto early = question(on(prompt({1}, 2)), kFirst);
    const auto late = question(on(node::Woke{}, kStart + 5s), kSecond);
    EXPECT_EQ(on(answer(kFirst, early, 7), kStart + 6s).told<node::TokenGenerated>().size(), 1U);
    EXPECT_TRUE(on(answer(kSecond, late, 7), kStart + 6s).told<node::TokenGenerated>().empty());
}

TEST_F(GeneratorTest, IgnoresAnswersOfPeersThatWereNotAsked) {
    connect({kFirst, kSecond});
    const auto infer = question(on(prompt({1})), kFirst);
    EXPECT_TRUE(on(answer(kSecond, infer, 7)).told<node::TokenGenerated>().empty());
}

TEST_F(GeneratorTest, CountsATokenOutsideTheVocabularyAsARefusal) {
    connect({kFirst, kSecond});
    const auto infer = question(on(prompt({1})), kFirst);
    const Actions actions = on(answer(kFirst, infer, 256));
    EXPECT_TRUE(actions.told<node::TokenGenerated>().empty());
    question(actions, kSecond);
}

TEST_F(GeneratorTest, CountsAnAnswerWithoutTokensAsARefusal) {
    connect({kFirst, kSecond});
    const auto infer = question(on(prompt({1})), kFirst);
    question(on(received(kFirst, Inferred{infer.request, false, {}})), kSecond);
}

TEST_F(GeneratorTest, GivesUpAfterSixtySecondsWithoutAToken) {
    connect({});
    on(prompt({1}));
    EXPECT_TRUE(on(node::Woke{}, kStart + 60s - 1ns).told<node::GenerationFailed>().empty());
    const auto failed = on(node::Woke{}, kStart + 60s).told<node::GenerationFailed>();
    ASSERT_EQ(failed.size(), 1U);
    EXPECT_EQ(failed[0].request, 42U);
    EXPECT_EQ(failed[0].reason.find('\n'), std::string::npos);
    EXPECT_NE(failed[0].reason.find("60 s"), std::string::npos);
}

TEST_F(GeneratorTest, MeasuresItsPatiencePerToken) {
    connect({kFirst});
    const auto infer = question(on(prompt({1}, 2)), kFirst);
    on(answer(kFirst, infer, 7), kStart + 50s);
    EXPECT_TRUE(on(node::Woke{}, kStart + 109s).told<node::GenerationFailed>().empty());
    EXPECT_EQ(on(node::Woke{}, kStart + 110s).told<node::GenerationFailed>().size(), 1U);
}

TEST_F(GeneratorTest, GoesOnWithoutTheCoordinator) {
    connect({kFirst});
    const auto infer = question(on(prompt({1}, 2)), kFirst);
    on(node::LinkDown{kCoordinator, Lane::Control});
    on(node::LinkDown{kCoordinator, Lane::Bulk});
    question(on(answer(kFirst, infer, 7)), kFirst);
}

TEST_F(GeneratorTest, RefusesRequestsThatItCannotContinue) {
    connect({kFirst});
    for (const node::Asked& asked : {prompt({}), prompt({1}, 0), prompt({256})}) {
        const Actions actions = on(asked);
        EXPECT_EQ(actions.told<node::GenerationFailed>().size(), 1U);
        EXPECT_TRUE(actions.sent<protocol::Infer>(kFirst).empty());
    }
}

TEST_F(GeneratorTest, RefusesMoreRequestsThanItsBound) {
    on(node::Woke{});
    for (std::size_t i = 0; i < Generator::kRequestsMax; ++i) {
        EXPECT_TRUE(on(prompt({1})).told<node::GenerationFailed>().empty());
    }
    EXPECT_EQ(on(prompt({1})).told<node::GenerationFailed>().size(), 1U);
}

TEST_F(GeneratorTest, EndsTheProgramWhenNoCoordinatorAnswersInTime) {
    on(node::Woke{});
    const auto failed = on(node::Woke{}, kStart + 30s).told<node::RunFailed>();
    ASSERT_EQ(failed.size(), 1U);
    EXPECT_EQ(failed[0].exit_code, 4);
    EXPECT_EQ(generator_.next_deadline(), swarm::kNever);
}

TEST_F(GeneratorTest, SaysWhyNoCoordinatorWasReachedInTime) {
    on(node::Woke{});
    on(node::DialFailed{PeerId{}, Lane::Control, trouble()}, kStart + 1s);
    const auto failed = on(node::Woke{}, kStart + 30s).told<node::RunFailed>();
    ASSERT_EQ(failed.size(), 1U);
    EXPECT_EQ(
        failed[0].text,
        "no coordinator at here:7117 in time: " + trouble().detail +
            "; is `swarm train` running there, and is the port right?"
    );
}

std::string text_after(swarm::ErrorCode code) {
    Generator::Options options;
    options.coordinator_address = "here:7117";
    options.first_contact_within = 30s;
    Generator generator(std::move(options));
    Actions actions;
    generator.on(node::Woke{}, kStart, actions.out);
    const swarm::Error error{code, swarm::Reaction::Retry, "detail"};
    generator.on(node::DialFailed{PeerId{}, Lane::Control, error}, kStart + 1s, actions.out);
    generator.on(node::Woke{}, kStart + 30s, actions.out);
    return actions.told<node::RunFailed>().at(0).text;
}

TEST_F(GeneratorTest, AsksWhatFitsTheReasonOfTheLastDial) {
    const std::string begin = "no coordinator at here:7117 in time: detail";
    using swarm::ErrorCode;
    EXPECT_EQ(
        text_after(ErrorCode::NotFound),
        begin + "; is the name right, and does this machine have a name server?"
    );
    EXPECT_EQ(
        text_after(ErrorCode::Unreachable),
        begin + "; is `swarm train` running there, and is the port right?"
    );
    EXPECT_EQ(text_after(ErrorCode::ConnectionLost), begin) << "another swarm key, for example";
    EXPECT_EQ(text_after(ErrorCode::Unauthorised), begin);
}

TEST_F(GeneratorTest, WakesInTheFutureAfterEachWake) {
    connect({kFirst, kSecond});
    on(prompt({1}));
    for (TimePoint now = kStart; now < kStart + 70s;) {
        on(node::Woke{}, now);
        ASSERT_GT(generator_.next_deadline(), now);
        now = generator_.next_deadline();
    }
}

}  // namespace
}  // namespace stacking
