// The real checkpoint against reference answers of another program (smollm2.json).
#include "stacking/models/gguf_model.hpp"
#include "stacking/models/tensor_names.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/digest.hpp"
#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include <string>

namespace swarm::golden {
namespace {

namespace json = boost::json;
using stacking::models::ModelSource;

json::value read_smollm2() {
    const auto text = stacking::models::read_text(
        swarm::test::source_dir() + "/tests/golden/smollm2.json", 1U << 20
    );
    return *stages::parse_strict_json(*text);
}

class SmolLM2 : public testing::Test {
 protected:
    void SetUp() override {
        auto file = stacking::models::open_file(smollm2_file());
        ASSERT_TRUE(file.has_value()) << file.error().detail << "; " << kFetchIt;
        auto opened = stacking::models::open_gguf(std::move(*file));
        ASSERT_TRUE(opened.has_value()) << opened.error().detail;
        model.emplace(std::move(*opened));
    }

    json::value golden = read_smollm2();
    std::optional<ModelSource> model;
};

/// Looks through all names for ours: "model.layers.14.mlp.down_proj.weight" -> "layers.14.mlp.w2".
std::string our_name(const ModelSource& model, std::string_view foreign) {
    for (const auto& tensor : stacking::models::tensors_of(model.architecture())) {
        const auto place = stacking::models::place_of(
            tensor, model.architecture(), stacking::models::Naming::HuggingFace
        );
        if (place.name == foreign) {
            return tensor.name;
        }
    }
    return "no such tensor";
}

TEST_F(SmolLM2, HasTheReferencesConfiguration) {
    const json::object& config = golden.at("model").at("config").as_object();
    const auto number = [&](const char* key) { return config.at(key).to_number<double>(); };
    const swarm::run::ModelConfig& found = model->architecture().model;
    EXPECT_EQ(found.layers, number("num_hidden_layers"));
    EXPECT_EQ(found.width, number("hidden_size"));
    EXPECT_EQ(found.heads, number("num_attention_heads"));
    EXPECT_EQ(found.kv_heads, number("num_key_value_heads"));
    EXPECT_EQ(found.ffn_width, number("intermediate_size"));
    EXPECT_EQ(found.vocabulary, number("vocab_size"));
    EXPECT_EQ(found.context, number("max_position_embeddings"));
    EXPECT_EQ(found.rope_base, number("rope_theta"));
    EXPECT_EQ(static_cast<float>(found.norm_epsilon), static_cast<float>(number("rms_norm_eps")));
    EXPECT_EQ(model->architecture().tied_embeddings, config.at("tie_word_embeddings").as_bool());
    EXPECT_EQ(*model->architecture().begin_token, number("bos_token_id"));
    EXPECT_EQ(model->architecture().end_tokens.at(0), number("eos_token_id"));
    // The number is one more than in the file, because the tied head counts as a tensor of its own.
    EXPECT_EQ(
        model->tensors().size(), golden.at("state_dict").at("count").to_number<std::size_t>() + 1
    );
}

TEST_F(SmolLM2, TensorsAreTheReferencesBitForBit) {
    const json::object& hashes = golden.at("tensor_sha256").as_object();
    ASSERT_EQ(hashes.size(), 10U);
    for (const auto& entry : hashes) {
        const std::string name = our_name(*model, entry.key());
        const auto values = model->read(name);
        ASSERT_TRUE(values.has_value()) << entry.key() << ": " << values.error().detail;
        EXPECT_EQ(
            to_hex(sha256(std::as_bytes(std::span(*values)))),
            std::string(entry.value().at("sha256").as_string())
        ) << name;
        const auto& shape = model->tensors().find(name)->second.shape;
        EXPECT_EQ(json::array(shape.begin(), shape.end()), entry.value().at("shape")) << name;
    }
}

TEST_F(SmolLM2, AnySplitIntoStagesReadsTheSameWeights) {
    const auto hash_of_split = [&](std::uint32_t stages) {
        Sha256 hash;
        for (const auto& layout : split(model->architecture(), stages)) {
            const auto weights = model->read_stage(layout);
            EXPECT_TRUE(weights.has_value()) << weights.error().detail;
            hash.add(std::as_bytes(std::span(*weights)));
        }
        return to_hex(hash.finish());
    };
    const std::string three = hash_of_split(3);
    EXPECT_EQ(hash_of_split(7), three);
    EXPECT_EQ(hash_of_split(30), three);
}

}  // namespace
}  // namespace swarm::golden
