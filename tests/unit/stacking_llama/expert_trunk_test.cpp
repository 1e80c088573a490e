// A mixture in parts: a trunk that lacks experts, and lenders that hold them.
#include "stacking/llama/llama_lender.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace stacking::llama::test {
namespace {

constexpr CacheId kTrunkFirst{1};
constexpr CacheId kTrunkSecond{2};
const LackingExperts kNothing{};

ExpertSet set_of(std::initializer_list<std::uint32_t> experts) {
    ExpertSet set;
    for (const std::uint32_t expert : experts) {
        set.add(expert);
    }
    return set;
}

std::shared_ptr<const StageWeights> weights_with(const HeldParts& held) {
    const models::ModelSource model = random_mixture();
    const auto layout = models::layers_of(model.architecture(), 0, kLayers);
    const auto loaded = load_stage(model, layout, WeightChoice::as_is(), Exits::None, held);
    EXPECT_TRUE(loaded);
    return *loaded;
}

/// The same, with a bottleneck in front of a layer, out of matrices of a second copy.
std::shared_ptr<const StageWeights> narrow_weights_with(const HeldParts& held) {
    const auto narrow = std::const_pointer_cast<StageWeights>(weights_with(held));
    const auto donor = std::const_pointer_cast<StageWeights>(weights_with({}));
    auto& layers = donor->layers;
    narrow->bottlenecks.push_back(
        {2,
         std::move(layers[0].attention_out),
         std::move(layers[1].attention_out),
         std::move(layers[0].experts[0].gate_up)}
    );
    return narrow;
}

/// A call of rows of two sessions: the prompt of one, and one position of the other.
struct TwoSessions {
    std::vector<SessionRow> rows;
    std::vector<TokenId> tokens;

    TwoSessions() {
        for (std::uint32_t at = 0; at < 9; ++at) {
            add(kTrunkFirst, at);
        }
        add(kTrunkSecond, 0);
    }

    void add(CacheId cache, std::uint32_t position) {
        rows.push_back({cache, position});
        tokens.push_back(token_of(cache.value, position));
    }

    [[nodiscard]] StageInput input() const { return std::span<const TokenId>(tokens); }
};

using LoadWeights = std::function<std::shared_ptr<const StageWeights>(const HeldParts&)>;

/// A trunk, and lenders that hold one expert each.
class Parts {
 public:
    explicit Parts(const ExpertSet& own, const LoadWeights& load = weights_with)
        : trunk_(load({true, own}), {}) {
        for (std::uint32_t expert = 0; expert < 4; ++expert) {
            lenders_.emplace(
                expert,
                std::make_unique<LlamaLender>(weights_with({false, set_of({expert})}), nullptr)
            );
        }
        for (const CacheId cache : {kTrunkFirst, kTrunkSecond}) {
            EXPECT_TRUE(trunk_.reserve(cache, 64));
        }
    }

    std::vector<float> run(
        const TwoSessions& call, const LackingExperts& lacking_of_first = kNothing
    ) {
        std::vector<const LackingExperts*> lacking;
        for (const SessionRow& row : call.rows) {
            lacking.push_back(row.cache == kTrunkFirst ? &lacking_of_first : &kNothing);
        }
        auto step = trunk_.begin(call.rows, call.input(), lacking);
        EXPECT_TRUE(step);
        while (const auto* const stop = std::get_if<ExpertStop>(&*step)) {
            ++stops_;
            std::vector<std::vector<float>> outputs;
            for (const ExpertVisit& visit : stop->visits) {
                EXPECT_FALSE(
                    lacking_of_first.contains({stop->layer, visit.expert}) &&
                    call.rows[visit.rows.front()].cache == kTrunkFirst
                );
                if (nobody_.contains({stop->layer, visit.expert})) {
                    outputs.emplace_back();
                    continue;
                }
                outputs.push_back(
                    *lenders_.at(visit.expert)->run({stop->layer, visit.expert}, visit.values)
                );
            }
            if (drops_) {
                trunk_.drop(kTrunkFirst);
            }
            *step = trunk_.go_on(outputs);
        }
        return std::get<std::vector<float>>(*step);
    }

    LlamaSessions trunk_;
    std::map<std::uint32_t, std::unique_ptr<LlamaLender>> lenders_;
    LackingExperts nobody_;  // nobody computes these
    bool drops_ = false;     // the first session ends while the call waits
    std::size_t stops_ = 0;
};

std::vector<float> whole(
    const TwoSessions& call, const std::shared_ptr<const StageWeights>& weights = weights_with({})
) {
    LlamaSessions all(weights, {});
    for (const CacheId cache : {kTrunkFirst, kTrunkSecond}) {
        EXPECT_TRUE(all.reserve(cache, 64));
    }
    return *all.run_layers(call.rows, call.input());
}

std::vector<float> rows_of_second(const std::vector<float>& out) {
    return {out.end() - kWidth, out.end()};
}

TEST(ExpertTrunk, GivesTheBitsOfOneProcessWhicheverExpertsAreElsewhere) {
    const TwoSessions call;
    for (const ExpertSet& own : {ExpertSet(), set_of({1}), set_of({0, 3}), set_of({0, 1, 2, 3})}) {
        Parts parts(own);
        EXPECT_EQ(parts.run(call), whole(call)) << own.list().size();
        EXPECT_EQ(parts.stops_, own.list().size() == 4 ? 0U : std::size_t{kLayers});
    }
}

TEST(ExpertTrunk, PassesTheBottlenecksOfItsModel) {
    const TwoSessions call;
    const auto expected = whole(call, narrow_weights_with({}));
    EXPECT_NE(expected, whole(call));
    for (const ExpertSet& own : {ExpertSet(), set_of({1})}) {
        Parts parts(own, narrow_weights_with);
        EXPECT_EQ(parts.run(call), expected);
    }
}

TEST(ExpertTrunk, GoesOnFromItsOwnCache) {
    TwoSessions call;
    LlamaSessions all(weights_with({}), {});
    Parts parts(set_of({2}));
    for (const CacheId cache : {kTrunkFirst, kTrunkSecond}) {
        ASSERT_TRUE(all.reserve(cache, 64));
    }
    EXPECT_EQ(parts.run(call), *all.run_layers(call.rows, call.input()));
    TwoSessions next;
    next.rows.clear();
    next.tokens.clear();
    next.add(kTrunkSecond, 1);
    next.add(kTrunkFirst, 9);
    EXPECT_EQ(parts.run(next), *all.run_layers(next.rows, next.input()));
}

TEST(ExpertTrunk, LeavesAnExpertOutOfTheSessionThatLacksItAlone) {
    const TwoSessions call;
    const std::vector<float> all = whole(call);
    LackingExperts lacking;
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
        lacking.insert({layer, 1});
    }
    Parts parts({});
    const std::vector<float> out = parts.run(call, lacking);
    EXPECT_NE(out, all);
    EXPECT_EQ(rows_of_second(out), rows_of_second(all));
    for (const float value : out) {
        EXPECT_TRUE(std::isfinite(value));
    }
}

/// Nobody answers for an expert of the last layer: that is the same as a session without it.
TEST(ExpertTrunk, AnEmptyAnswerLeavesTheExpertOut) {
    TwoSessions call;
    call.rows.resize(9);
    call.tokens.resize(9);
    Parts known({});
    const LackingExperts lacking{{kLayers - 1, 0}, {kLayers - 1, 2}};
    const std::vector<float> expected = known.run(call, lacking);
    Parts told({});
    told.nobody_ = lacking;
    EXPECT_EQ(told.run(call), expected);
    const std::vector<float> all = whole(TwoSessions());
    EXPECT_FALSE(std::equal(expected.begin(), expected.end(), all.begin()));
}

/// Without any expert a row has what attention gave it, in each layer.
TEST(ExpertTrunk, ARowWithoutExpertsStaysFinite) {
    const TwoSessions call;
    Parts parts({});
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
        for (std::uint32_t expert = 0; expert < 4; ++expert) {
            parts.nobody_.insert({layer, expert});
        }
    }
    for (const float value : parts.run(call)) {
        EXPECT_TRUE(std::isfinite(value));
    }
}

TEST(ExpertTrunk, ASessionThatEndsMeanwhileChangesNoOther) {
    const TwoSessions call;
    Parts parts({});
    parts.drops_ = true;
    EXPECT_EQ(rows_of_second(parts.run(call)), rows_of_second(whole(call)));
}

/// NaN in one session's rows does not reach the experts, nor another session.
TEST(ExpertTrunk, ARowThatIsNotFiniteSpoilsItsOwnSessionAlone) {
    const models::ModelSource model = random_mixture();
    const auto layout = models::layers_of(model.architecture(), 1, 3);
    const auto load = [&](const HeldParts& held) {
        return *load_stage(model, layout, WeightChoice::as_is(), Exits::None, held);
    };
    std::vector<float> values(2 * kWidth, 0.25F);
    values[kWidth] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<SessionRow> rows{{kTrunkFirst, 0}, {kTrunkSecond, 0}};
    LlamaSessions all(load({}), {});
    LlamaSessions trunk(load({true, ExpertSet()}), {});
    LlamaLender lender(load({false, std::nullopt}), nullptr);
    for (const CacheId cache : {kTrunkFirst, kTrunkSecond}) {
        ASSERT_TRUE(all.reserve(cache, 8));
        ASSERT_TRUE(trunk.reserve(cache, 8));
    }
    const std::vector<const LackingExperts*> lacking(2, &kNothing);
    auto step = trunk.begin(rows, std::span<const float>(values), lacking);
    ASSERT_TRUE(step);
    while (const auto* const stop = std::get_if<ExpertStop>(&*step)) {
        std::vector<std::vector<float>> outputs;
        for (const ExpertVisit& visit : stop->visits) {
            EXPECT_EQ(visit.rows, std::vector<std::uint32_t>{0});
            outputs.push_back(*lender.run({stop->layer, visit.expert}, visit.values));
        }
        *step = trunk.go_on(outputs);
    }
    const auto& out = std::get<std::vector<float>>(*step);
    const std::vector<float> one =
        *all.run_layers(std::span(rows).first(1), std::span<const float>(values).first(kWidth));
    EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + kWidth), one);
    EXPECT_TRUE(std::isnan(out.back()));
}

TEST(LlamaLender, HoldsItsExpertsOfItsLayersAlone) {
    LlamaLender lender(weights_with({false, set_of({0, 2})}), nullptr);
    EXPECT_TRUE(lender.holds({0, 0}));
    EXPECT_TRUE(lender.holds({kLayers - 1, 2}));
    EXPECT_FALSE(lender.holds({0, 1}));
    EXPECT_FALSE(lender.holds({kLayers, 0}));
    EXPECT_FALSE(lender.holds({0, 4}));
    EXPECT_EQ(lender.run({0, 1}, {}).error().code, swarm::ErrorCode::NotFound);
}

TEST(HeldParts, AreAllThatIsLoaded) {
    const auto bytes_of = [](const StageWeights& stage) {
        std::size_t bytes = 0;
        for (const LayerWeights& layer : stage.layers) {
            bytes += layer.query_key_value.bytes() + layer.attention_out.bytes();
            for (const FeedForwardWeights& expert : layer.experts) {
                bytes += expert.gate_up.bytes() + expert.down.bytes();
            }
        }
        return bytes;
    };
    const auto all = weights_with({});
    const auto trunk = weights_with({true, ExpertSet()});
    const auto one = weights_with({false, set_of({3})});
    EXPECT_EQ(bytes_of(*trunk) + 4 * bytes_of(*one), bytes_of(*all));
    EXPECT_EQ(one->embedding, nullptr);
    EXPECT_EQ(one->head, nullptr);
}

}  // namespace
}  // namespace stacking::llama::test
