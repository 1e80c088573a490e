// SmolLM2 computed by this program against reference answers of another program (smollm2.json):
// fp32 logits and ids, for any cut into stages; and the distance of bf16 and int8 weights from
// them.
#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/gguf_model.hpp"
#include "stages/files/strict_json.hpp"
#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>

namespace swarm::golden {
namespace {

namespace json = boost::json;
using stacking::CacheId;
using stacking::SessionRow;
using stacking::TokenId;
using stacking::kernels::WeightFormat;
using stacking::llama::LlamaSessions;
using stacking::llama::WeightChoice;
using stacking::models::ModelSource;

constexpr std::size_t kSteps = 48;

struct Prompt {
    std::vector<TokenId> ids;
    std::vector<TokenId> greedy;
    std::map<TokenId, double> top_last;
    std::map<TokenId, double> top_after;
    double nll = 0;
    double sum = 0;
    double l2 = 0;
    double logsumexp = 0;
};

std::map<TokenId, double> read_top(const json::value& top) {
    std::map<TokenId, double> logits;
    const json::array& ids = top.at("ids").as_array();
    const json::array& values = top.at("logits").as_array();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        logits[ids[i].to_number<TokenId>()] = values[i].to_number<double>();
    }
    return logits;
}

std::vector<TokenId> read_ids(const json::value& ids) {
    std::vector<TokenId> read;
    for (const json::value& id : ids.as_array()) {
        read.push_back(id.to_number<TokenId>());
    }
    return read;
}

struct Golden {
    double tolerance = 0;
    std::vector<Prompt> prompts;
};

Golden read_golden() {
    const auto text = stacking::models::read_text(
        swarm::test::source_dir() + "/tests/golden/smollm2.json", 1U << 20
    );
    const json::value all = *stages::parse_strict_json(*text);
    Golden golden;
    golden.tolerance = all.at("tolerance").at("logits_abs").to_number<double>();
    for (const json::value& prompt : all.at("prompts").as_array()) {
        golden.prompts.push_back(
            {.ids = read_ids(prompt.at("ids")),
             .greedy = read_ids(prompt.at("greedy48")),
             .top_last = read_top(prompt.at("top10_last")),
             .top_after = read_top(prompt.at("top10_after_48")),
             .nll = prompt.at("prompt_mean_nll").to_number<double>(),
             .sum = prompt.at("logits_sum").to_number<double>(),
             .l2 = prompt.at("logits_l2").to_number<double>(),
             .logsumexp = prompt.at("logsumexp").to_number<double>()}
        );
    }
    return golden;
}

/// Runs all stages of a model in one process, one after the other.
class Pipeline {
 public:
    Pipeline(const ModelSource& model, std::uint32_t stages, WeightChoice choice) {
        for (const auto& layout : split(model.architecture(), stages)) {
            auto weights = stacking::llama::load_stage(model, layout, choice);
            if (!weights) {
                throw std::runtime_error(weights.error().detail);
            }
            stages_.push_back(std::make_unique<LlamaSessions>(*weights, LlamaSessions::Options{}));
        }
    }

    void reserve(CacheId cache, std::uint32_t positions) {
        for (const auto& stage : stages_) {
            ASSERT_TRUE(stage->reserve(cache, positions).has_value());
        }
    }

    void drop(CacheId cache) {
        for (const auto& stage : stages_) {
            stage->drop(cache);
        }
    }

    std::vector<float> forward(
        std::span<const SessionRow> rows,
        std::span<const TokenId> tokens,
        std::span<const std::uint32_t> wanted
    ) {
        stacking::StageInput input = tokens;
        std::vector<float> hidden;
        for (const auto& stage : stages_) {
            const bool last = stage == stages_.back();
            auto out = stage->forward(rows, input, last ? wanted : wanted.first(0));
            EXPECT_TRUE(out.has_value()) << out.error().detail;
            hidden = std::move(*out);
            input = std::span<const float>(hidden);
        }
        return hidden;
    }

 private:
    std::vector<std::unique_ptr<LlamaSessions>> stages_;
};

std::vector<SessionRow> rows_of(CacheId cache, std::uint32_t from, std::size_t count) {
    std::vector<SessionRow> rows;
    for (std::size_t i = 0; i < count; ++i) {
        rows.push_back({cache, from + static_cast<std::uint32_t>(i)});
    }
    return rows;
}

double log_sum_exp(std::span<const float> logits) {
    const double most = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float logit : logits) {
        sum += std::exp(logit - most);
    }
    return most + std::log(sum);
}

TokenId best(std::span<const float> logits) {
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

double largest_error(const std::map<TokenId, double>& wanted, std::span<const float> logits) {
    double error = 0;
    for (const auto& [token, logit] : wanted) {
        error = std::max(error, std::fabs(logit - double{logits[token]}));
    }
    return error;
}

/// Results of one run over all prompts; each step of the decodes is one batch of all prompts.
struct Answers {
    std::vector<std::vector<float>> last;   // logits of all prompt positions
    std::vector<std::vector<float>> after;  // logits after 48 tokens
    std::vector<std::vector<TokenId>> ids;
};

Answers answer(Pipeline& pipeline, const Golden& golden, std::size_t vocabulary) {
    Answers answers;
    std::vector<TokenId> next;
    std::vector<SessionRow> rows;
    std::vector<std::uint32_t> all(golden.prompts.size());
    for (std::size_t i = 0; i < golden.prompts.size(); ++i) {
        const auto& ids = golden.prompts[i].ids;
        const auto filled = static_cast<std::uint32_t>(ids.size());
        const CacheId cache{i + 1};
        pipeline.reserve(cache, filled + kSteps);
        std::vector<std::uint32_t> wanted(ids.size());
        std::iota(wanted.begin(), wanted.end(), 0U);
        answers.last.push_back(pipeline.forward(rows_of(cache, 0, filled), ids, wanted));
        next.push_back(best(std::span(answers.last.back()).last(vocabulary)));
        rows.push_back({cache, filled});
        all[i] = static_cast<std::uint32_t>(i);
    }
    answers.ids.resize(rows.size());
    for (std::size_t step = 0; step < kSteps; ++step) {
        const std::vector<float> logits = pipeline.forward(rows, next, all);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            answers.ids[i].push_back(next[i]);
            const auto mine = std::span(logits).subspan(i * vocabulary, vocabulary);
            next[i] = best(mine);
            ++rows[i].position;
            if (step + 1 == kSteps) {
                answers.after.emplace_back(mine.begin(), mine.end());
            }
        }
    }
    return answers;
}

class SmolLM2Text : public testing::Test {
 protected:
    void SetUp() override {
        auto file = stacking::models::open_file(smollm2_file());
        ASSERT_TRUE(file.has_value()) << file.error().detail << "; " << kFetchIt;
        auto opened = stacking::models::open_gguf(std::move(*file));
        ASSERT_TRUE(opened.has_value()) << opened.error().detail;
        model.emplace(std::move(*opened));
        vocabulary = model->architecture().model.vocabulary;
    }

    Answers answer_with(std::uint32_t stages, WeightChoice choice) {
        Pipeline pipeline(*model, stages, choice);
        return answer(pipeline, golden, vocabulary);
    }

    const Golden golden = read_golden();
    std::optional<ModelSource> model;
    std::size_t vocabulary = 0;
};

/// Returns the logits of all positions of the prompt, (positions, V).
void check_prompt(const Prompt& prompt, std::span<const float> logits, double tolerance) {
    const std::size_t vocabulary = logits.size() / prompt.ids.size();
    double nll = 0;
    for (std::size_t at = 0; at + 1 < prompt.ids.size(); ++at) {
        const auto next = logits.subspan(at * vocabulary, vocabulary);
        nll += log_sum_exp(next) - double{next[prompt.ids[at + 1]]};
    }
    EXPECT_NEAR(nll / static_cast<double>(prompt.ids.size() - 1), prompt.nll, tolerance);
    const auto last = logits.last(vocabulary);
    EXPECT_NEAR(log_sum_exp(last), prompt.logsumexp, tolerance);
    double sum = 0;
    double squares = 0;
    for (const float logit : last) {
        sum += double{logit};
        squares += double{logit} * double{logit};
    }
    EXPECT_NEAR(sum, prompt.sum, tolerance * static_cast<double>(vocabulary));
    EXPECT_NEAR(std::sqrt(squares), prompt.l2, tolerance * std::sqrt(vocabulary));
}

TEST_F(SmolLM2Text, LogitsAndGreedyIdsAreTheReferencesInAnyNumberOfStages) {
    std::optional<Answers> first;
    for (const std::uint32_t stages : {1U, 2U, 3U, 5U, 30U}) {
        const Answers answers = answer_with(stages, WeightFormat::Fp32);
        double error = 0;
        for (std::size_t i = 0; i < golden.prompts.size(); ++i) {
            const Prompt& prompt = golden.prompts[i];
            const auto last = std::span(answers.last[i]).last(vocabulary);
            EXPECT_EQ(answers.ids[i], prompt.greedy) << stages << " stages, prompt " << i;
            check_prompt(prompt, answers.last[i], golden.tolerance);
            error = std::max(error, largest_error(prompt.top_last, last));
            error = std::max(error, largest_error(prompt.top_after, answers.after[i]));
        }
        EXPECT_LE(error, golden.tolerance) << stages << " stages";
        std::printf("%2u stages: largest error of a top-10 logit %.2g\n", stages, error);
        if (!first) {
            first = answers;
        }
        EXPECT_EQ(answers.last, first->last) << stages << " stages change bits";
        EXPECT_EQ(answers.after, first->after) << stages << " stages change bits";
    }
}

/// The golden model is Q4_1 with an embedding of Q8_0.
TEST_F(SmolLM2Text, KeptAsStoredItsLogitsHaveTheSameBits) {
    const Answers wide = answer_with(1, WeightFormat::Fp32);
    for (const std::uint32_t stages : {1U, 3U}) {
        const Answers kept = answer_with(stages, WeightChoice::as_is());
        for (std::size_t i = 0; i < golden.prompts.size(); ++i) {
            EXPECT_EQ(kept.ids[i], golden.prompts[i].greedy) << stages << " stages, prompt " << i;
        }
        EXPECT_EQ(kept.last, wide.last) << stages << " stages";
        EXPECT_EQ(kept.after, wide.after) << stages << " stages";
    }
}

TEST_F(SmolLM2Text, KeptAsStoredItTakesTheMemoryOfItsFile) {
    const auto layout = split(model->architecture(), 1).front();
    const auto weights = *stacking::llama::load_stage(*model, layout, WeightChoice::as_is());
    std::uint64_t bytes = weights->embedding->bytes();
    for (const stacking::llama::LayerWeights& layer : weights->layers) {
        for (const auto* const matrix :
             {&layer.query_key_value,
              &layer.attention_out,
              &layer.experts.front().gate_up,
              &layer.experts.front().down}) {
            bytes += matrix->bytes();
        }
    }
    const std::uint64_t stored =  // the head is the embedding
        model->stored_bytes(layout) - model->tensors().at("head.weight").bytes;
    const std::uint64_t promised = kept_bytes(*model, layout, WeightChoice::as_is());
    std::printf("kept %zu bytes of %zu\n", std::size_t{bytes}, std::size_t{stored});
    EXPECT_LE(static_cast<double>(bytes), 1.1 * static_cast<double>(stored));
    const std::uint64_t norms = 2 * weights->layers.size() + 1;
    EXPECT_EQ(bytes + norms * model->architecture().model.width * sizeof(float), promised);
}

/// Logits that choose each greedy token when the reference's tokens are fed, (48, V) per prompt.
std::vector<std::vector<float>> forced(Pipeline& pipeline, const Golden& golden) {
    std::vector<std::vector<float>> logits;
    for (std::size_t i = 0; i < golden.prompts.size(); ++i) {
        std::vector<TokenId> ids = golden.prompts[i].ids;
        std::vector<std::uint32_t> wanted(kSteps);
        std::iota(wanted.begin(), wanted.end(), static_cast<std::uint32_t>(ids.size() - 1));
        ids.insert(ids.end(), golden.prompts[i].greedy.begin(), golden.prompts[i].greedy.end());
        const CacheId cache{100 + i};
        pipeline.reserve(cache, static_cast<std::uint32_t>(ids.size()));
        logits.push_back(pipeline.forward(rows_of(cache, 0, ids.size()), ids, wanted));
        pipeline.drop(cache);
    }
    return logits;
}

struct Narrowing {
    double error_max = 0;  // largest error of a logit
    double error_rms = 0;
    std::size_t agreed = 0;  // equal tokens of 48 per prompt, each after the reference's tokens
    std::size_t common =
        0;  // equal tokens before the first other one, after the model's own tokens
};

Narrowing compare(
    const std::vector<std::vector<float>>& wide,
    const std::vector<std::vector<float>>& narrow,
    const Golden& golden
) {
    Narrowing result;
    double squares = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < wide.size(); ++i) {
        const std::size_t vocabulary = wide[i].size() / kSteps;
        bool same = true;
        for (std::size_t at = 0; at < kSteps; ++at) {
            const auto row = std::span(narrow[i]).subspan(at * vocabulary, vocabulary);
            const bool agrees = best(row) == golden.prompts[i].greedy[at];
            same = same && agrees;
            result.agreed += agrees ? 1U : 0U;
            result.common += same ? 1U : 0U;
        }
        for (std::size_t at = 0; at < wide[i].size(); ++at) {
            const double error = double{narrow[i][at]} - double{wide[i][at]};
            result.error_max = std::max(result.error_max, std::fabs(error));
            squares += error * error;
        }
        count += wide[i].size();
    }
    result.error_rms = std::sqrt(squares / static_cast<double>(count));
    return result;
}

/// The bounds are measured values, rounded up (errors) or down (agreement). Runs repeat bit for
/// bit.
TEST_F(SmolLM2Text, NarrowWeightsMoveLogitsByLittle) {
    struct Bound {
        WeightFormat format;
        double error_max;
        double error_rms;
        std::size_t agreed;
        std::size_t common;
    };

    constexpr Bound kBounds[] = {
        {WeightFormat::Bf16, 0.27, 0.033, 144, 144}, {WeightFormat::Int8, 1.14, 0.206, 144, 144}};
    Pipeline exact(*model, 1, WeightFormat::Fp32);
    const auto wide = forced(exact, golden);
    const Narrowing none = compare(wide, wide, golden);
    EXPECT_EQ(none.agreed, kSteps * golden.prompts.size());
    for (const Bound& bound : kBounds) {
        Pipeline pipeline(*model, 1, bound.format);
        const Narrowing found = compare(wide, forced(pipeline, golden), golden);
        std::printf(
            "%s: logits differ by %.3f at most, %.4f rms; %zu of %zu greedy tokens agree, %zu "
            "before the first other one\n",
            std::string(name_of(bound.format)).c_str(),
            found.error_max,
            found.error_rms,
            found.agreed,
            none.agreed,
            found.common
        );
        EXPECT_LE(found.error_max, bound.error_max) << name_of(bound.format);
        EXPECT_LE(found.error_rms, bound.error_rms) << name_of(bound.format);
        EXPECT_GE(found.agreed, bound.agreed) << name_of(bound.format);
        EXPECT_GE(found.common, bound.common) << name_of(bound.format);
    }
}

}  // namespace
}  // namespace swarm::golden
