#include "stacking/models/training/peft_folder.hpp"

#include "stacking/models/model_digest.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stages/files/checkpoint.hpp"
#include "stages/files/safetensors.hpp"
#include "stages/files/safetensors_header.hpp"
#include "stages/files/strict_json.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace stacking::models {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using stages::StageState;
using swarm::ErrorCode;

constexpr const char* kQueries = "base_model.model.model.layers.1.self_attn.q_proj";

swarm::run::RunConfig config(std::uint32_t rank) {
    swarm::run::RunConfig run;
    run.name = "small";
    run.stages = 1;
    run.model.layers = 3;
    run.model.width = 16;
    run.model.kv_heads = 2;
    run.model.ffn_width = 24;
    run.model.context = 12;
    run.lora.rank = rank;
    run.lora.alpha = 5;
    run.lora.on = {"attn.wk", "attn.wq", "mlp.w2"};
    return run;
}

/// Writes a checkpoint whose frozen weights are the same for every rank, 0 included.
ModelSource trained(const fs::path& parent, std::uint32_t rank) {
    const swarm::run::RunConfig run = config(rank);
    const auto layout = swarm::run::partition(run).front();
    std::vector<float> weights;
    std::vector<float> frozen;
    int at = 0;
    for (const auto& tensor : all_tensors(layout)) {
        auto& values = tensor.frozen ? frozen : weights;
        const bool adapter = !tensor.frozen && rank > 0;
        for (std::uint64_t i = 0; i < tensor.spec->elements(); ++i) {
            const auto draw = static_cast<int>((i * 37 + tensor.spec->name.size()) % 101) - 50;
            values.push_back(static_cast<float>(adapter ? draw + ++at % 7 : draw) / 97.0F);
        }
    }
    const std::vector<float> zeros(weights.size());
    StageState state = StageState::from_tensors(layout, {0, 9}, weights, zeros, zeros, frozen);
    const StageState* const view = &state;
    const auto written = stages::write_checkpoint(parent, run, std::span(&view, 1));
    EXPECT_TRUE(written.has_value());
    auto model = open_run_checkpoint(parent);
    EXPECT_TRUE(model.has_value()) << model.error().detail;
    return std::move(*model);
}

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The values of a tensor, with its shape.
struct Values {
    std::vector<std::uint32_t> shape;
    std::vector<float> values;
};

using Tensors = std::map<std::string, Values>;

class PeftFolderTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(write_peft_folder(run, folder).has_value());
        const std::string weights = bytes_of(folder / kPeftWeightsFile);
        const auto parsed = stages::Safetensors::parse(std::as_bytes(std::span(weights)));
        for (const auto& [name, tensor] : parsed->tensors()) {
            tensors[name] = {tensor.shape, {tensor.values.begin(), tensor.values.end()}};
        }
        members = stages::parse_strict_json(bytes_of(folder / kPeftConfigFile))->as_object();
    }

    void write(const json::object& changed) const {
        std::ofstream(folder / kPeftConfigFile) << json::serialize(changed);
    }

    void write(const Tensors& changed) const {
        std::vector<stages::NamedTensor> named;
        for (const auto& [name, tensor] : changed) {
            named.push_back({name, tensor.shape, tensor.values});
        }
        write(stages::write_safetensors(named));
    }

    void write(std::span<const std::byte> file) const {
        std::ofstream(folder / kPeftWeightsFile, std::ios::binary)
            .write(
                reinterpret_cast<const char*>(file.data()),
                static_cast<std::streamsize>(file.size())
            );
    }

    void expect_refused(ErrorCode code, const std::string& why) {
        ModelSource base = trained(scratch.path() / "base", 0);
        const auto added = add_peft_folder(folder, base);
        ASSERT_TRUE(added.has_error()) << why;
        EXPECT_EQ(added.error().code, code) << added.error().detail;
        EXPECT_NE(added.error().detail.find(why), std::string::npos) << added.error().detail;
        EXPECT_EQ(added.error().detail.find('\n'), std::string::npos) << added.error().detail;
        EXPECT_NE(added.error().detail.find(folder.string()), std::string::npos)
            << added.error().detail;
        for (const auto& [name, tensor] : base.tensors()) {
            EXPECT_EQ(tensor.adapter, nullptr) << name;
        }
    }

    void expect_refused(
        const char* key, const json::value& value, ErrorCode code, const std::string& why
    ) {
        json::object changed = members;
        changed[key] = value;
        write(changed);
        expect_refused(code, why);
    }

    stages::test::ScratchFolder scratch;
    const fs::path folder = scratch.path() / "adapter";
    const ModelSource run = trained(scratch.path() / "run", 3);
    Tensors tensors;
    json::object members;
};

TEST_F(PeftFolderTest, GivesTheMergedWeightsOfItsRunBitForBit) {
    ModelSource model = trained(scratch.path() / "base", 0);
    const std::vector<float> before = *model.read("layers.1.attn.wq");
    const std::vector<float> plain = *model.read("layers.1.attn.wv");
    const auto added = add_peft_folder(folder, model);
    ASSERT_TRUE(added.has_value()) << added.error().detail;
    for (const auto& tensor : tensors_of(run.architecture())) {
        EXPECT_EQ(*model.read(tensor.name), *run.read(tensor.name)) << tensor.name;
    }
    EXPECT_NE(*model.read("layers.1.attn.wq"), before);
    EXPECT_EQ(*model.read("layers.1.attn.wv"), plain);
    EXPECT_EQ(*identity_of(model), *identity_of(run)) << "peers would not find each other";
}

TEST_F(PeftFolderTest, ReadsValuesOf16Bits) {
    std::vector<stages::SafetensorsEntry> entries;
    std::vector<std::byte> values;
    for (auto& [name, tensor] : tensors) {
        const std::uint64_t begin = values.size();
        for (float& value : tensor.values) {
            const auto bits = std::bit_cast<std::uint32_t>(value);
            const auto half = static_cast<std::uint16_t>(bits >> 16U);
            value = std::bit_cast<float>(std::uint32_t{half} << 16U);
            values.push_back(static_cast<std::byte>(half & 0xFFU));
            values.push_back(static_cast<std::byte>(half >> 8U));
        }
        entries.push_back({name, "BF16", tensor.shape, begin, values.size()});
    }
    ModelSource wanted = trained(scratch.path() / "base", 0);
    write(tensors);
    ASSERT_TRUE(add_peft_folder(folder, wanted).has_value());
    const std::string header = stages::make_safetensors_header(entries, "pt");
    const auto bytes = std::as_bytes(std::span(header));
    values.insert(values.begin(), bytes.begin(), bytes.end());
    write(values);
    ModelSource model = trained(scratch.path() / "base", 0);
    const auto added = add_peft_folder(folder, model);
    ASSERT_TRUE(added.has_value()) << added.error().detail;
    EXPECT_EQ(*identity_of(model), *identity_of(wanted));
}

TEST_F(PeftFolderTest, NamesTheMemberThatWouldChangeTheAnswer) {
    const std::pair<const char*, json::value> features[] = {
        {"use_dora", true},
        {"use_rslora", true},
        {"modules_to_save", {"lm_head"}},
        {"rank_pattern", json::object{{"q_proj", 2}}},
        {"alpha_pattern", json::object{{"q_proj", 2}}},
        {"fan_in_fan_out", true},
        {"lora_bias", true},
        {"layer_replication", json::array{json::array{0, 2}}},
        {"a_later_feature", 3}};
    for (const auto& [key, value] : features) {
        expect_refused(key, value, ErrorCode::Unsupported, std::string(key) + " is ");
    }
    expect_refused("bias", "all", ErrorCode::Unsupported, "bias is \"all\"; only \"none\"");
    expect_refused("peft_type", "IA3", ErrorCode::Unsupported, "peft_type is \"IA3\"");
    expect_refused("peft_type", nullptr, ErrorCode::Malformed, "peft_type is missing");
    expect_refused("init_lora_weights", "pissa", ErrorCode::Unsupported, "init_lora_weights");
}

TEST_F(PeftFolderTest, RefusesSizesThatCannotBe) {
    expect_refused("r", 0, ErrorCode::Malformed, "r is 0; it must be 1 to 1024");
    expect_refused("r", 1025, ErrorCode::TooLarge, "r is 1025; it must be 1 to 1024");
    expect_refused("r", "three", ErrorCode::Malformed, "r is \"three\", no count");
    expect_refused("r", nullptr, ErrorCode::Malformed, "r is missing");
    expect_refused("r", 4, ErrorCode::Mismatch, "but the model and r make it (4, ");
    expect_refused("lora_alpha", nullptr, ErrorCode::Malformed, "lora_alpha is missing");
    expect_refused("lora_alpha", "six", ErrorCode::Malformed, "lora_alpha is \"six\", no number");
    for (const double alpha : {0.0, -4.0, 1e7, std::numeric_limits<double>::max()}) {
        expect_refused("lora_alpha", alpha, ErrorCode::Malformed, "lora_alpha must be above 0");
    }
}

TEST_F(PeftFolderTest, RefusesModulesThatTheModelDoesNotHave) {
    expect_refused(
        "target_modules",
        {"q_proj", "k_proj", "down_proj", "lm_head"},
        ErrorCode::Unsupported,
        "target_modules names lm_head; in this model adapters are for down_proj, gate_proj, k_proj"
    );
    const ErrorCode malformed = ErrorCode::Malformed;
    expect_refused("target_modules", nullptr, malformed, "target_modules is no list");
    expect_refused("target_modules", json::array(), malformed, "target_modules is no list");
    expect_refused("target_modules", {3, 4, 5}, malformed, "target_modules has 3, no name");
    expect_refused(
        "target_modules",
        {"q_proj", "v_proj", "k_proj", "down_proj"},
        ErrorCode::Mismatch,
        "lacks the tensor base_model.model.model.layers.0.self_attn.v_proj.lora_A.weight"
    );
    expect_refused(
        "target_modules", {"q_proj", "down_proj", "mlp.up_proj"}, ErrorCode::Mismatch, "lacks"
    );
    json::object changed = members;
    changed["target_modules"] = json::array{"q_proj", "down_proj"};
    changed["layers_to_transform"] = json::array{0, 1, 2};
    write(changed);
    expect_refused(malformed, "self_attn.k_proj, which target_modules does not name");
}

TEST_F(PeftFolderTest, TakesAPatternForItsTargets) {
    members["target_modules"] = ".*(q_proj|k_proj|down_proj)";
    write(members);
    ModelSource model = trained(scratch.path() / "base", 0);
    EXPECT_TRUE(add_peft_folder(folder, model).has_value());
    EXPECT_EQ(*identity_of(model), *identity_of(run));
}

TEST_F(PeftFolderTest, RefusesTensorsThatDoNotFit) {
    const std::string out = std::string(kQueries) + kPeftOutEnding;
    const std::string in = std::string(kQueries) + kPeftInEnding;
    Tensors changed = tensors;
    changed.erase(out);
    write(changed);
    expect_refused(ErrorCode::Mismatch, "lacks the tensor " + out);
    changed.erase(in);
    write(changed);
    expect_refused(ErrorCode::Mismatch, "lacks the tensor " + in);
    changed = tensors;
    changed[in].shape = {8, 6};
    write(changed);
    expect_refused(ErrorCode::Mismatch, in + " is (8, 6), but the model and r make it (3, 16)");
    changed = tensors;
    changed["base_model.model.lm_head.lora_A.weight"] = {{1, 1}, {0.5F}};
    write(changed);
    expect_refused(ErrorCode::Mismatch, "lm_head.lora_A.weight, which fits no matrix");
    changed = tensors;
    changed[out].values.back() = std::numeric_limits<float>::quiet_NaN();
    write(changed);
    expect_refused(ErrorCode::NotFinite, "q_proj.lora_B.weight has a weight that is");
    members["target_modules"] = ".*none";
    write(members);
    write(Tensors{});
    expect_refused(ErrorCode::Malformed, "has no adapter");
}

TEST_F(PeftFolderTest, RefusesFilesThatAreDamagedOrNotThere) {
    const std::string weights = bytes_of(folder / kPeftWeightsFile);
    write(std::as_bytes(std::span(weights)).first(weights.size() - 4));
    expect_refused(ErrorCode::Malformed, kPeftWeightsFile);
    fs::remove(folder / kPeftWeightsFile);
    expect_refused(ErrorCode::NotFound, kPeftWeightsFile);
    std::ofstream(folder / kPeftConfigFile) << R"({"r": 3, "r": 3})";
    expect_refused(ErrorCode::Malformed, kPeftConfigFile);
    std::ofstream(folder / kPeftConfigFile) << "[]";
    expect_refused(ErrorCode::Malformed, "no object");
    fs::remove(folder / kPeftConfigFile);
    expect_refused(ErrorCode::NotFound, kPeftConfigFile);
}

TEST_F(PeftFolderTest, RefusesAModelThatHasAdaptersAlready) {
    ModelSource model = trained(scratch.path() / "run", 3);
    const auto added = add_peft_folder(folder, model);
    ASSERT_TRUE(added.has_error());
    EXPECT_EQ(added.error().code, ErrorCode::Unsupported);
    EXPECT_NE(added.error().detail.find("has adapters of its own"), std::string::npos);
    EXPECT_EQ(*identity_of(model), *identity_of(run));
}

}  // namespace
}  // namespace stacking::models
