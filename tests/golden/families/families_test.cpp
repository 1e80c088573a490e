// Tiny models of every family give the logits and greedy ids of transformers (families.json, made
// by families.py), from both file formats, whole and in stages.
#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stages/files/strict_json.hpp"
#include "tests/golden/families/session.hpp"
#include "tests/golden/families/written_model.hpp"
#include "tests/places.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <boost/json/array.hpp>
#include <gtest/gtest.h>

#include <cstdlib>

namespace swarm::golden {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using stacking::TokenId;
using stacking::models::ModelSource;

const json::array& all_golden() {
    static const json::value kAll = [] {
        const auto text = stacking::models::read_text(
            test::source_dir() + "/tests/golden/families/families.json", 1U << 20
        );
        return *stages::parse_strict_json(*text);
    }();
    return kAll.as_array();
}

class Families : public testing::TestWithParam<std::size_t> {
 protected:
    /// Compares the whole model with the golden answer, and cuts of it with the whole.
    void expect_golden_at_any_cut(const ModelSource& model) const {
        const Answer whole = answer(model, golden, 1);
        expect_golden(model, golden, whole);
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
    expect_golden(model, golden, answer(model, golden, 1));
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
