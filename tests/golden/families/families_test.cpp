// Tiny models of every family give the logits and greedy ids of transformers (families.json, made
// by families.py), from both file formats, whole and in stages.
#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stages/files/strict_json.hpp"
#include "tests/golden/families/written_model.hpp"
#include "tests/places.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace swarm::golden {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using stacking::CacheId;
using stacking::SessionRow;
using stacking::StageInput;
using stacking::TokenId;
using stacking::kernels::WeightFormat;
using stacking::llama::LlamaSessions;
using stacking::models::ModelSource;

constexpr std::size_t kLogitStep = 5;
constexpr float kTolerance = 1e-4F;

const json::array& all_golden() {
    static const json::value kAll = [] {
        const auto text = stacking::models::read_text(
            test::source_dir() + "/tests/golden/families/families.json", 1U << 20
        );
        return *stages::parse_strict_json(*text);
    }();
    return kAll.as_array();
}

/// One session of a model that is cut into stages.
class Session {
 public:
    Session(const ModelSource& model, std::uint32_t stages) {
        for (const auto& layout : stacking::models::split(model.architecture(), stages)) {
            auto weights = stacking::llama::load_stage(model, layout, WeightFormat::Fp32);
            EXPECT_TRUE(weights.has_value()) << weights.error().detail;
            stages_.push_back(std::make_unique<LlamaSessions>(*weights, LlamaSessions::Options{}));
            EXPECT_TRUE(stages_.back()->reserve(kCache, kPositions).has_value());
            EXPECT_TRUE(stages_.back()->reserve(kNeighbour, kPositions).has_value());
        }
    }

    /// Reads the tokens and returns the logits after the last one.
    std::vector<float> read(const std::vector<TokenId>& tokens) {
        std::vector<SessionRow> rows;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            rows.push_back({kCache, position_++});
        }
        return read(rows, tokens);
    }

    /// Reads one token in a call that reads `neighbours` of another session before it.
    std::vector<float> read_beside(TokenId token, const std::vector<TokenId>& neighbours) {
        std::vector<SessionRow> rows;
        for (std::size_t i = 0; i < neighbours.size(); ++i) {
            rows.push_back({kNeighbour, neighbour_position_++});
        }
        rows.push_back({kCache, position_++});
        std::vector<TokenId> tokens = neighbours;
        tokens.push_back(token);
        return read(rows, tokens);
    }

 private:
    std::vector<float> read(
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

    static constexpr CacheId kCache{1};
    static constexpr CacheId kNeighbour{2};
    static constexpr std::uint32_t kPositions = 96;

    std::vector<std::unique_ptr<LlamaSessions>> stages_;
    std::uint32_t position_ = 0;
    std::uint32_t neighbour_position_ = 0;
};

std::vector<TokenId> tokens_of(const json::value& list) {
    std::vector<TokenId> tokens;
    for (const json::value& token : list.as_array()) {
        tokens.push_back(token.to_number<TokenId>());
    }
    return tokens;
}

struct Answer {
    std::vector<float> logits;  // after the prompt
    std::vector<TokenId> ids;

    bool operator==(const Answer&) const = default;
};

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

class Families : public testing::TestWithParam<std::size_t> {
 protected:
    void expect_golden(const ModelSource& model, const Answer& found) const {
        const json::array& wanted = golden.at("logits").as_array();
        ASSERT_EQ(found.logits.size(), model.architecture().model.vocabulary);
        float worst = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            worst = std::max(
                worst, std::fabs(found.logits[i * kLogitStep] - wanted[i].to_number<float>())
            );
        }
        EXPECT_LE(worst, kTolerance);
        EXPECT_EQ(found.ids, tokens_of(golden.at("ids")));
    }

    /// Compares the whole model with the golden answer, and cuts of it with the whole.
    void expect_golden_at_any_cut(const ModelSource& model) const {
        const Answer whole = answer(model, golden, 1);
        expect_golden(model, whole);
        for (const std::uint32_t stages : {2U, 3U}) {
            EXPECT_TRUE(answer(model, golden, stages) == whole) << stages << " stages";
        }
    }

    [[nodiscard]] ModelSource open_folder(const fs::path& folder) const {
        auto model = stacking::models::open_hf_folder(folder);
        EXPECT_TRUE(model.has_value()) << model.error().detail;
        return std::move(*model);
    }

    const json::object& golden = all_golden()[GetParam()].as_object();
    stages::test::ScratchFolder scratch;
};

TEST_P(Families, AFolderAnswersLikeTheReference) {
    write_folder(golden, scratch.path() / "model");
    expect_golden_at_any_cut(open_folder(scratch.path() / "model"));
}

TEST_P(Families, AGgufAnswersLikeTheReference) {
    if (golden.at("gguf").is_null()) {
        return;  // GGUF has no keys for these traits
    }
    auto model = stacking::models::open_gguf(
        std::make_unique<stacking::models::MemoryBytes>(make_gguf(golden))
    );
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    expect_golden_at_any_cut(*model);
}

TEST_P(Families, NeitherChunksNorNeighboursChangeABit) {
    write_folder(golden, scratch.path() / "model");
    const ModelSource model = open_folder(scratch.path() / "model");
    const std::vector<TokenId> prompt = tokens_of(golden.at("prompt"));
    Session alone(model, 1);
    Session beside(model, 1);
    std::vector<float> wanted;
    for (const TokenId token : prompt) {
        wanted = alone.read({token});
        EXPECT_EQ(beside.read_beside(token, {prompt[0], token, prompt[1]}), wanted);
    }
    Session whole(model, 1);
    EXPECT_EQ(whole.read(prompt), wanted);
}

/// families.py --exported reads the same folders by transformers, when SWARM_EXPORTED names one.
TEST_P(Families, AnExportedFolderAnswersLikeTheReference) {
    write_folder(golden, scratch.path() / "model");
    const char* const kept = std::getenv("SWARM_EXPORTED");
    const fs::path exported = (kept == nullptr ? scratch.path() / "exported" : fs::path(kept)) /
                              std::string(golden.at("name").as_string());
    const auto written = stacking::models::write_hf_folder(
        open_folder(scratch.path() / "model"), exported, [](std::uint64_t, std::uint64_t) {}
    );
    ASSERT_TRUE(written.has_value()) << written.error().detail;
    const ModelSource model = open_folder(exported);
    expect_golden(model, answer(model, golden, 1));
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
    std::string name(all_golden()[info.param].as_object().at("name").as_string());
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(
    Golden, Families, testing::Range(std::size_t{0}, all_golden().size()), name_of
);

}  // namespace
}  // namespace swarm::golden
