// Weights of a Hugging Face folder that are stored as F8_E4M3.
#include "stacking/models/f8_weights.hpp"

#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/model_digest.hpp"
#include "stages/files/safetensors_header.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace stacking::models {
namespace {

namespace fs = std::filesystem;
using stages::SafetensorsEntry;
using stages::test::ScratchFolder;
using swarm::ErrorCode;

constexpr const char* kName = "model.layers.1.mlp.down_proj.weight";  // (8, 12)
constexpr std::size_t kRows = 8;
constexpr std::size_t kColumns = 12;

struct Scales {
    std::string name;
    std::vector<std::uint32_t> shape;
    std::vector<float> values;
};

float from_byte(std::size_t i) {
    const auto byte = static_cast<std::byte>(i);
    float value = 0;
    decode_weights(WeightType::F8_E4M3, std::span(&byte, 1), std::span(&value, 1));
    return value;
}

/// A folder of the small model, one of whose matrices is replaced by the bytes 0, 1, 2, ...
class F8Weights : public testing::Test {
 protected:
    void SetUp() override {
        auto model = open_gguf(std::make_unique<MemoryBytes>(test::small_gguf().bytes()));
        ASSERT_TRUE(model.has_value());
        const auto ignore = [](std::uint64_t /*written*/, std::uint64_t /*all*/) {};
        ASSERT_TRUE(write_hf_folder(*model, folder(), ignore).has_value());
        std::ifstream in(folder() / "model.safetensors", std::ios::binary);
        whole_ = std::string(std::istreambuf_iterator<char>(in), {});
    }

    [[nodiscard]] fs::path folder() const { return scratch_.path() / "model"; }

    void write(const std::vector<Scales>& scales) const {
        std::uint64_t length = 0;
        std::memcpy(&length, whole_.data(), sizeof length);
        const std::string values = whole_.substr(sizeof length + length);
        const auto entries =
            *stages::parse_safetensors_header(whole_.substr(sizeof length, length), values.size());
        std::vector<SafetensorsEntry> written;
        std::string bytes;
        const auto add = [&](SafetensorsEntry entry, const std::string& data) {
            entry.begin = bytes.size();
            bytes += data;
            entry.end = bytes.size();
            written.push_back(std::move(entry));
        };
        for (const SafetensorsEntry& entry : entries) {
            if (entry.name != kName) {
                add(entry, values.substr(entry.begin, entry.end - entry.begin));
                continue;
            }
            std::string small(small_shape_ ? 1 : kRows * kColumns, '\0');
            for (std::size_t i = 0; i < small.size(); ++i) {
                small[i] = static_cast<char>(i);
            }
            add({entry.name, "F8_E4M3", small_shape_.value_or(entry.shape), 0, 0}, small);
        }
        for (const Scales& each : scales) {
            const auto* const data = reinterpret_cast<const char*>(each.values.data());
            add({each.name, "F32", each.shape, 0, 0}, {data, each.values.size() * sizeof(float)});
        }
        std::ofstream(folder() / "model.safetensors", std::ios::binary)
            << stages::make_safetensors_header(written, "pt") << bytes;
    }

    void expect_values(const std::vector<float>& scale_of_row) const {
        const auto model = open_hf_folder(folder());
        ASSERT_TRUE(model.has_value()) << model.error().detail;
        const auto values = model->read("layers.1.mlp.w2");
        ASSERT_TRUE(values.has_value()) << values.error().detail;
        for (std::size_t i = 0; i < kRows * kColumns; ++i) {
            ASSERT_EQ((*values)[i], from_byte(i) * scale_of_row[i / kColumns]) << i;
        }
    }

    void expect_refused(const std::string& why) const {
        const auto model = open_hf_folder(folder());
        ASSERT_TRUE(model.has_error()) << why;
        EXPECT_EQ(model.error().code, ErrorCode::Unsupported) << model.error().detail;
        EXPECT_NE(model.error().detail.find(why), std::string::npos) << model.error().detail;
    }

    /// The matrix has one weight and this shape; none: its own shape.
    std::optional<std::vector<std::uint32_t>> small_shape_;
    ScratchFolder scratch_;
    std::string whole_;
};

TEST_F(F8Weights, AreTheirBytesWithoutAScale) {
    write({});
    expect_values(std::vector<float>(kRows, 1.0F));
}

TEST_F(F8Weights, AreMultipliedByTheScaleOfTheirTensorRowOrBlock) {
    const std::string name = kName;
    write({{name + "_scale", {}, {0.3F}}});
    expect_values(std::vector<float>(kRows, 0.3F));
    write({{name + "_scale_inv", {1, 1}, {0.7F}}});  // one block of at most 128 x 128
    expect_values(std::vector<float>(kRows, 0.7F));
    const std::vector<float> rows = {1, 2, 3, 4, 5, 6, 7, 0.1F};
    write({{name + "_scale", {8, 1}, rows}});
    expect_values(rows);
    write({{"model.layers.1.mlp.down_proj.input_scale", {}, {9.0F}}, {name + "_scale", {8}, rows}});
    expect_values(rows);
}

TEST_F(F8Weights, OfAnUnknownSchemeAreRefusedByName) {
    write({{std::string(kName) + "_scale", {8, 3}, std::vector<float>(24, 1.0F)}});
    expect_refused("down_proj.weight_scale is no scale per tensor");
    write({{std::string(kName) + "_zero_point", {1}, {0.0F}}});
    expect_refused("down_proj.weight_zero_point");
}

TEST_F(F8Weights, AScaleThatTheConfigurationPromisesMustBeThere) {
    const auto path = folder() / "config.json";
    std::ifstream in(path);
    auto config = boost::json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
    config.get_object()["quantization_config"] = {{"quant_method", "fp8"}};
    std::ofstream(path) << boost::json::serialize(config);
    write({});
    expect_refused("down_proj.weight is F8_E4M3 without a scale");
    write({{std::string(kName) + "_scale_inv", {1, 1}, {0.5F}}});
    expect_values(std::vector<float>(kRows, 0.5F));
}

TEST_F(F8Weights, AMatrixWithoutAShapeIsRefused) {
    small_shape_ = std::vector<std::uint32_t>{};
    write({{std::string(kName) + "_scale", {1}, {1.0F}}});
    const auto model = open_hf_folder(folder());
    ASSERT_TRUE(model.has_error());
    EXPECT_NE(model.error().detail.find("down_proj.weight is ()"), std::string::npos)
        << model.error().detail;
}

TEST_F(F8Weights, OtherScalesMakeAnotherModel) {
    const auto identity = [&](float scale) {
        write({{std::string(kName) + "_scale", {1}, {scale}}});
        return *identity_of(*open_hf_folder(folder()));
    };
    EXPECT_NE(identity(1.0F), identity(2.0F));
    EXPECT_EQ(identity(1.0F), identity(1.0F));
}

TEST_F(F8Weights, ABlockOfScalesCoversIts128Columns) {
    const WeightScales scales{128, 128, {1, 2, 3, 4, 5, 6}};  // (2, 3)
    std::vector<float> row(300, 1.0F);
    scale_row(scales, 130, row);
    EXPECT_EQ(row[127], 4.0F);
    EXPECT_EQ(row[128], 5.0F);
    EXPECT_EQ(row[299], 6.0F);
}

TEST(Quantisation, OtherMethodsThanF8AreRefused) {
    const auto refuse = [](const char* text) {
        return refuse_quantisation(boost::json::parse(text));
    };
    EXPECT_EQ(refuse(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})"), "");
    EXPECT_EQ(refuse(R"({"quant_method": "compressed-tensors", "format": "float-quantized"})"), "");
    EXPECT_NE(refuse(R"({"quant_method": "gptq"})").find("\"gptq\""), std::string::npos);
    EXPECT_NE(refuse(R"({"quant_method": "compressed-tensors", "format": "pack"})"), "");
    EXPECT_NE(refuse("[]"), "");
    EXPECT_EQ(
        refuse(R"({"quant_method": "fp8", "weight_block_size": [64, 128]})"),
        "weight_block_size is not [128, 128]"
    );
    const auto refuse_blocks = [&](const std::string& structure) {
        return refuse((R"({"quant_method": "compressed-tensors", "format": "float-quantized",)"
                       R"("config_groups": {"group_0": {"weights": {"block_structure": )" +
                       structure + "}}}}")
                          .c_str());
    };
    EXPECT_EQ(refuse_blocks("null"), "");
    EXPECT_EQ(refuse_blocks("[128, 128]"), "");
    EXPECT_EQ(refuse_blocks("\"128x128\""), "");
    EXPECT_EQ(refuse_blocks("[64, 64]"), "block_structure is not [128, 128]");
}

}  // namespace
}  // namespace stacking::models
