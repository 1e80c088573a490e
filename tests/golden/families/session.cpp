#include "tests/golden/families/session.hpp"

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace swarm::golden {

namespace json = boost::json;
using stacking::CacheId;
using stacking::SessionRow;
using stacking::StageInput;
using stacking::TokenId;
using stacking::llama::LlamaSessions;
using stacking::models::ModelSource;

namespace {

constexpr CacheId kCache{1};
constexpr CacheId kNeighbour{2};
constexpr std::uint32_t kPositions = 96;
constexpr std::size_t kLogitStep = 5;
constexpr float kTolerance = 1e-4F;

}  // namespace

Session::Session(
    const ModelSource& model, std::uint32_t stages, stacking::llama::WeightChoice choice
) {
    for (const auto& layout : stacking::models::split(model.architecture(), stages)) {
        auto weights = stacking::llama::load_stage(model, layout, choice);
        EXPECT_TRUE(weights.has_value()) << weights.error().detail;
        stages_.push_back(std::make_unique<LlamaSessions>(*weights, LlamaSessions::Options{}));
        EXPECT_TRUE(stages_.back()->reserve(kCache, kPositions).has_value());
        EXPECT_TRUE(stages_.back()->reserve(kNeighbour, kPositions).has_value());
    }
}

std::vector<float> Session::read(const std::vector<TokenId>& tokens) {
    std::vector<SessionRow> rows;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        rows.push_back({kCache, position_++});
    }
    return read(rows, tokens);
}

std::vector<float> Session::read_beside(TokenId token, const std::vector<TokenId>& neighbours) {
    std::vector<SessionRow> rows;
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
        rows.push_back({kNeighbour, neighbour_position_++});
    }
    rows.push_back({kCache, position_++});
    std::vector<TokenId> tokens = neighbours;
    tokens.push_back(token);
    return read(rows, tokens);
}

std::vector<float> Session::read(
    const std::vector<SessionRow>& rows, const std::vector<TokenId>& tokens
) {
    StageInput input = std::span<const TokenId>(tokens);
    std::vector<float> hidden;
    const auto last = static_cast<std::uint32_t>(rows.size() - 1);
    for (const auto& stage : stages_) {
        const bool is_last = stage == stages_.back();
        auto out = stage->forward(rows, input, std::span(&last, is_last ? 1 : 0));
        EXPECT_TRUE(out.has_value()) << out.error().detail;
        hidden = std::move(*out);
        input = std::span<const float>(hidden);
    }
    return hidden;
}

std::vector<TokenId> tokens_of(const json::value& list) {
    std::vector<TokenId> tokens;
    for (const json::value& token : list.as_array()) {
        tokens.push_back(token.to_number<TokenId>());
    }
    return tokens;
}

Answer answer(const ModelSource& model, const json::object& golden, std::uint32_t stages) {
    Session session(model, stages);
    Answer found;
    std::vector<float> logits = session.read(tokens_of(golden.at("prompt")));
    found.logits = logits;
    for (std::size_t i = 0; i < golden.at("ids").as_array().size(); ++i) {
        const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
        found.ids.push_back(static_cast<TokenId>(best));
        logits = session.read({found.ids.back()});
    }
    return found;
}

void expect_golden(const ModelSource& model, const json::object& golden, const Answer& found) {
    const json::array& wanted = golden.at("logits").as_array();
    ASSERT_EQ(found.logits.size(), model.architecture().model.vocabulary);
    float worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        worst =
            std::max(worst, std::fabs(found.logits[i * kLogitStep] - wanted[i].to_number<float>()));
    }
    EXPECT_LE(worst, kTolerance);
    EXPECT_EQ(found.ids, tokens_of(golden.at("ids")));
}

}  // namespace swarm::golden
