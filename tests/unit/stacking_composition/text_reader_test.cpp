#include "stacking/composition/text_reader.hpp"

#include <gtest/gtest.h>

#include <map>

namespace stacking::composition {
namespace {

using swarm::ErrorCode;

/// A stage that adds one to each number that passes. All its logits are the number of the row.
class Adding final : public SessionCompute {
 public:
    Adding(bool first, bool last, std::uint32_t width)
        : shape_{first, last, width, 4, 16, 1, first, last} {}

    [[nodiscard]] StageShape shape() const override { return shape_; }

    swarm::Result<> reserve(CacheId cache, std::uint32_t positions) override {
        reserved_[cache] = positions;
        return {};
    }

    void truncate(CacheId cache, std::uint32_t positions) override {
        EXPECT_TRUE(reserved_.contains(cache));
        cut_at = positions;
    }

    void drop(CacheId cache) override { reserved_.erase(cache); }

    void shrink(CacheId /*cache*/, std::uint32_t /*positions*/) override {}

    swarm::Result<> share(CacheId /*from*/, CacheId /*to*/, std::uint32_t /*positions*/) override {
        return {};
    }

    swarm::Result<std::vector<float>> run_layers(
        std::span<const SessionRow> rows, const StageInput& input
    ) override {
        EXPECT_EQ(reserved_.size(), 1U);  // caches of earlier texts were dropped
        EXPECT_LT(rows.back().position, reserved_.at(rows.back().cache));
        first_position = rows.front().position;
        std::vector<float> values;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const float in = shape_.first ? static_cast<float>(std::get<0>(input)[i])
                                          : std::get<1>(input)[i * shape_.width];
            values.insert(values.end(), shape_.width, in + 1);
        }
        return values;
    }

    std::vector<float> logits(std::span<const float> outputs) override {
        std::vector<float> logits;
        for (std::size_t at = 0; at < outputs.size(); at += shape_.width) {
            logits.insert(logits.end(), shape_.vocabulary, outputs[at]);
        }
        return logits;
    }

    std::uint32_t cut_at = 0;
    std::uint32_t first_position = 0;  // that of the newest call

 private:
    StageShape shape_;
    std::map<CacheId, std::uint32_t> reserved_;
};

ModelReader::Stages stages(const std::vector<Adding*>& computes) {
    ModelReader::Stages stages;
    for (Adding* const compute : computes) {
        stages.emplace_back(compute);
    }
    return stages;
}

TEST(ModelReader, PassesEachStagesOutputOn) {
    auto reader = *ModelReader::make(stages(
        {new Adding(true, false, 2), new Adding(false, false, 2), new Adding(false, true, 2)}
    ));
    for (int text = 0; text < 2; ++text) {
        ASSERT_TRUE(reader->begin(4).has_value());
        const std::vector<TokenId> tokens{3, 1};
        EXPECT_EQ(
            *reader->read(tokens, TextReader::Wanted::AfterEach),
            (std::vector<float>{6, 6, 6, 6, 4, 4, 4, 4})
        );
        const std::vector<TokenId> more{0};
        EXPECT_EQ(
            *reader->read(more, TextReader::Wanted::AfterLast), (std::vector<float>{3, 3, 3, 3})
        );
    }
}

TEST(ModelReader, GoesOnBehindTheBeginningThatItKeeps) {
    auto* const first = new Adding(true, false, 2);
    auto* const last = new Adding(false, true, 2);
    auto reader = *ModelReader::make(stages({first, last}));
    ASSERT_TRUE(reader->begin(4).has_value());
    const std::vector<TokenId> tokens{3, 1, 2};
    ASSERT_TRUE(reader->read(tokens, TextReader::Wanted::AfterLast).has_value());
    EXPECT_EQ(*reader->resume(2, 8), 2U);
    EXPECT_EQ(first->cut_at, 2U);
    EXPECT_EQ(last->cut_at, 2U);
    const std::vector<TokenId> more{0, 1, 2, 3, 0};
    ASSERT_TRUE(reader->read(more, TextReader::Wanted::AfterLast).has_value());
    EXPECT_EQ(first->first_position, 2U);
    EXPECT_EQ(last->first_position, 2U);
}

TEST(ModelReader, KeepsWhatStagesBeforeTheLastOneSay) {
    auto reader = *ModelReader::make(stages(
        {new Adding(true, false, 2), new Adding(false, true, 2), new Adding(false, true, 2)}
    ));
    reader->keep_exits();
    ASSERT_TRUE(reader->begin(4).has_value());
    const std::vector<TokenId> tokens{3, 1};
    EXPECT_EQ(
        *reader->read(tokens, TextReader::Wanted::AfterEach),
        (std::vector<float>{6, 6, 6, 6, 4, 4, 4, 4})
    );
    const std::vector<std::vector<float>> said{{5, 5, 5, 5, 3, 3, 3, 3}};
    EXPECT_EQ(reader->exits(), said) << "the first stage has no head";
    ASSERT_TRUE(reader->read(tokens, TextReader::Wanted::AfterLast).has_value());
    EXPECT_EQ(reader->exits(), (std::vector<std::vector<float>>{{3, 3, 3, 3}}));
}

/// All four logits are equal, so the best token's probability is a quarter.
TEST(ModelReader, EndsATokensPathAtTheFirstHeadThatIsSureEnough) {
    for (const auto& [threshold, expected] :
         std::vector<std::pair<double, float>>{{0, 5}, {0.24, 5}, {0.26, 6}, {1, 6}, {2, 6}}) {
        auto reader = *ModelReader::make(
            stages(
                {new Adding(true, false, 2), new Adding(false, true, 2), new Adding(false, true, 2)}
            ),
            threshold
        );
        ASSERT_TRUE(reader->begin(4).has_value());
        const std::vector<TokenId> tokens{3};
        EXPECT_EQ(
            *reader->read(tokens, TextReader::Wanted::AfterEach), std::vector<float>(4, expected)
        ) << threshold;
    }
}

/// bf16 rounds 301 to 300 and keeps 302.
TEST(ModelReader, PassesRowsOnAsTheyAreCoded) {
    using enum compression::CodecId;
    using Codecs = std::vector<RowCodec>;
    for (const auto& [codecs, expected] : std::vector<std::pair<Codecs, float>>{
             {{}, 303}, {{Bf16}, 301}, {{None, Bf16}, 303}, {{Bf16, None}, 302}, {{{}}, 303}}) {
        auto reader = *ModelReader::make(
            stages(
                {new Adding(true, false, 2),
                 new Adding(false, false, 2),
                 new Adding(false, true, 2)}
            ),
            2,
            codecs
        );
        ASSERT_TRUE(reader->begin(4).has_value());
        const std::vector<TokenId> tokens{300};
        EXPECT_EQ(
            *reader->read(tokens, TextReader::Wanted::AfterEach), std::vector<float>(4, expected)
        );
    }
}

TEST(ModelReader, RefusesStagesThatAreNoModel) {
    const auto code_of = [](const std::vector<Adding*>& computes) {
        const auto made = ModelReader::make(stages(computes));
        EXPECT_TRUE(made.has_error());
        return made.error().code;
    };
    EXPECT_EQ(code_of({}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({new Adding(true, false, 2)}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({new Adding(false, true, 2)}), ErrorCode::Mismatch);
    EXPECT_EQ(
        code_of({new Adding(true, false, 2), new Adding(false, true, 3)}), ErrorCode::Mismatch
    );
}

}  // namespace
}  // namespace stacking::composition
