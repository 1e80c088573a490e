// Draws that depend on the text before them: penalties, biases and bounds give the tokens of one
// process, whichever peers die meanwhile.
#include "tests/simulation/sessions/session_crashes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// Texts of five tokens, so that they repeat themselves.
SessionBedOptions few_words() {
    SessionBedOptions options;
    options.model.vocabulary = 5;
    options.model.spread = 2;
    return options;
}

node::SessionRequest drawn_request(Replay replay) {
    node::SessionRequest request = session_request(1, 5, 20, replay);
    for (std::uint32_t& token : request.prompt) {
        token %= 5;
    }
    request.sampling.temperature = 0.8;
    request.sampling.seed = 3;
    return request;
}

node::SessionRequest penalised(Replay replay = Replay::Exact) {
    node::SessionRequest request = drawn_request(replay);
    request.sampling.min_p = 0.05;
    request.sampling.repetition_penalty = 1.3;
    request.sampling.presence_penalty = 0.4;
    request.sampling.frequency_penalty = 0.7;
    request.sampling.generated_from = 5;
    request.sampling.biases = {{2, 0.5}, {90, 1}};
    return request;
}

std::vector<std::uint32_t> text_of(const node::SessionRequest& request) {
    SessionBed bed(few_words());
    bed.ask(request);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    return bed.told(1).tokens;
}

TEST(SessionDraws, EachOptionChangesTheText) {
    const std::vector<std::uint32_t> plain = text_of(drawn_request(Replay::Exact));
    std::set<std::vector<std::uint32_t>> texts{plain, text_of(penalised())};
    node::SessionRequest request = drawn_request(Replay::Exact);
    request.sampling.repetition_penalty = 4;
    texts.insert(text_of(request));
    request = drawn_request(Replay::Exact);
    request.sampling.presence_penalty = 3;
    texts.insert(text_of(request));
    request = drawn_request(Replay::Exact);
    request.sampling.frequency_penalty = 3;
    texts.insert(text_of(request));
    request = drawn_request(Replay::Exact);
    request.sampling.min_p = 0.9;
    texts.insert(text_of(request));
    EXPECT_EQ(texts.size(), 6U);
}

TEST(SessionDraws, ABiasForbidsOrForcesAToken) {
    node::SessionRequest request = drawn_request(Replay::Exact);
    request.sampling.biases = {{4, -100}};
    const std::vector<std::uint32_t> without = text_of(request);
    EXPECT_EQ(std::ranges::count(without, 4U), 0);
    request.sampling.biases = {{4, 100}};
    const std::vector<std::uint32_t> only = text_of(request);
    EXPECT_EQ(std::ranges::count(only, 4U), 20);
}

TEST(SessionDraws, APenaltyOfFrequencySpreadsTheWordsEvenly) {
    node::SessionRequest request = drawn_request(Replay::Exact);
    request.sampling.frequency_penalty = 50;
    request.sampling.generated_from = 5;
    const std::vector<std::uint32_t> text = text_of(request);
    for (std::uint32_t token = 0; token < 5; ++token) {
        EXPECT_EQ(std::ranges::count(text, token), 4) << token;
    }
}

TEST(SessionDraws, WithPenaltiesSurviveACrashBeforeEveryEvent) {
    for (const Replay replay : {Replay::Exact, Replay::Fast}) {
        EXPECT_GT(moves_under_crashes(few_words(), penalised(replay)), 20U);
    }
}

TEST(SessionDraws, WithPenaltiesMayExitEarly) {
    node::SessionRequest request = penalised();
    request.exit_threshold = 0.45;
    EXPECT_GT(moves_under_crashes(few_words(), request), 20U);
}

TEST(SessionDraws, AnEnsembleRefusesPenalties) {
    SessionBedOptions options = few_words();
    options.members = 2;
    SessionBed bed(options);
    bed.ask(stack_request(penalised(), {1, 1}));
    EXPECT_TRUE(bed.run(10s));
    EXPECT_NE(bed.told(1).failure.find("without penalties"), std::string::npos);
}

}  // namespace
}  // namespace sim
