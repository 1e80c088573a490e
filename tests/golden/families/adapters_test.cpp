// Tiny models with adapters that PyPI peft saved (adapters.json, made by adapters.py) give the
// logits and greedy ids that peft computed, from both file formats, whole and in stages.
#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/training/peft_folder.hpp"
#include "stages/files/safetensors.hpp"
#include "stages/files/strict_json.hpp"
#include "tests/golden/families/session.hpp"
#include "tests/golden/families/written_model.hpp"
#include "tests/places.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <fstream>
#include <list>

namespace swarm::golden {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using stacking::models::ModelSource;

json::array read_golden(const std::string& name) {
    const auto text = stacking::models::read_text(
        test::source_dir() + "/tests/golden/families/" + name, 1U << 20
    );
    return stages::parse_strict_json(*text)->as_array();
}

const json::array& all_adapters() {
    static const json::array kAll = read_golden("adapters.json");
    return kAll;
}

json::object model_of(const json::object& golden) {
    for (const json::value& model : read_golden("families.json")) {
        if (model.as_object().at("name") == golden.at("name")) {
            return model.as_object();
        }
    }
    return {};
}

/// Writes the folder as peft did, with weights that are a function of their names.
void write_adapters(const json::object& golden, const fs::path& folder) {
    fs::create_directories(folder);
    std::ofstream(folder / "adapter_config.json") << json::serialize(golden.at("adapter"));
    std::list<std::vector<float>> values;
    std::vector<stages::NamedTensor> tensors;
    for (const auto& [key, shape] : golden.at("shapes").as_object()) {
        const auto rows = shape.at(0).to_number<std::uint32_t>();
        const auto columns = shape.at(1).to_number<std::uint32_t>();
        std::vector<float>& drawn = values.emplace_back(uniform(key, std::size_t{rows} * columns));
        for (float& value : drawn) {
            value = 0.5F * (value - 0.5F);
        }
        tensors.push_back({key, {rows, columns}, drawn});
    }
    const std::vector<std::byte> file = stages::write_safetensors(tensors);
    std::ofstream(folder / "adapter_model.safetensors", std::ios::binary)
        .write(
            reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size())
        );
}

class Adapters : public testing::TestWithParam<std::size_t> {
 protected:
    void SetUp() override { write_adapters(golden, scratch.path() / "adapter"); }

    void expect_as_peft(ModelSource& model) const {
        const Answer plain = answer(model, golden, 1);
        const auto added = stacking::models::add_peft_folder(scratch.path() / "adapter", model);
        ASSERT_TRUE(added.has_value()) << added.error().detail;
        const Answer whole = answer(model, golden, 1);
        expect_golden(model, golden, whole);
        EXPECT_NE(plain.ids, whole.ids) << "the adapters make no difference";
        EXPECT_TRUE(answer(model, golden, 2) == whole);
        Session as_stored(model, 1, stacking::llama::WeightChoice::as_is());
        EXPECT_EQ(as_stored.read(tokens_of(golden.at("prompt"))), whole.logits);
    }

    const json::object& golden = all_adapters()[GetParam()].as_object();
    const json::object base = model_of(golden);
    stages::test::ScratchFolder scratch;
};

TEST_P(Adapters, OfPeftOnAFolderAnswerLikePeft) {
    write_folder(base, scratch.path() / "model");
    auto model = stacking::models::open_hf_folder(scratch.path() / "model");
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    expect_as_peft(*model);
}

TEST_P(Adapters, OfPeftOnAGgufAnswerLikePeft) {
    auto model =
        stacking::models::open_gguf(std::make_unique<stacking::models::MemoryBytes>(make_gguf(base))
        );
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    expect_as_peft(*model);
}

std::string name_of_case(const testing::TestParamInfo<std::size_t>& info) {
    std::string name(all_adapters()[info.param].as_object().at("name").as_string());
    std::erase(name, '-');
    return name;
}

INSTANTIATE_TEST_SUITE_P(
    Golden, Adapters, testing::Range(std::size_t{0}, all_adapters().size()), name_of_case
);

}  // namespace
}  // namespace swarm::golden
