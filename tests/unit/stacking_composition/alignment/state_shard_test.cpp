#include "stacking/composition/alignment/state_shard.hpp"

#include "stages/files/safetensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stacking::composition {
namespace {

using stages::NamedTensor;

StateShard some_shard() {
    return {2, 3, {7, 0, 262'143, 1, 2, 3}, {1, 2, 3, 4, 5, 6, -1, 0, 0.5F, 8, 9, 10}};
}

std::vector<std::byte> file_of(
    std::vector<std::uint32_t> token_shape,
    std::vector<float> tokens,
    std::vector<std::uint32_t> row_shape,
    std::vector<float> rows,
    const char* name = "rows"
) {
    const NamedTensor tensors[] = {
        {"tokens", std::move(token_shape), tokens}, {name, std::move(row_shape), rows}};
    return stages::write_safetensors(tensors);
}

void expect_no_states(const std::vector<std::byte>& file, const std::string& what) {
    const auto parsed = parse_shard(file, "f");
    ASSERT_FALSE(parsed.has_value()) << what;
    EXPECT_NE(parsed.error().detail.find("f is no file of states"), std::string::npos);
    EXPECT_NE(parsed.error().detail.find(what), std::string::npos) << parsed.error().detail;
}

TEST(StateShard, ReadsBack) {
    const StateShard shard = some_shard();
    EXPECT_EQ(shard.sequences(), 2U);
    const auto parsed = parse_shard(to_file(shard), "f");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().detail;
    EXPECT_EQ(*parsed, shard);
}

TEST(StateShard, AFileThatIsCutOrNoneIsRefused) {
    auto file = to_file(some_shard());
    file.pop_back();
    expect_no_states(file, "");
    expect_no_states({}, "");
    expect_no_states(file_of({1, 2}, {1, 2}, {1, 1, 1}, {1}, "row"), "\"tokens\" and \"rows\"");
}

TEST(StateShard, ShapesThatDoNotFitAreRefused) {
    expect_no_states(file_of({1, 2}, {1, 2}, {1, 2, 1}, {1, 2}), "shapes");
    expect_no_states(file_of({2, 2}, {1, 2, 3, 4}, {1, 1, 1}, {1}), "shapes");
    expect_no_states(file_of({2}, {1, 2}, {1, 1, 1}, {1}), "shapes");
    const std::uint32_t many = kShardSequences + 1;
    expect_no_states(
        file_of(
            {many, 2},
            std::vector<float>(std::size_t{2} * many),
            {many, 1, 1},
            std::vector<float>(many)
        ),
        "shapes"
    );
}

TEST(StateShard, TokensAreWholeAndRowsAreNumbers) {
    for (const float token : {-1.0F, 0.5F, 16'777'216.0F, std::nanf("")}) {
        expect_no_states(file_of({1, 2}, {token, 2}, {1, 1, 1}, {1}), "token");
    }
    for (const float row : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        expect_no_states(file_of({1, 2}, {1, 2}, {1, 1, 1}, {row}), "no number");
    }
}

TEST(StateShard, NamesSortAsNumbers) {
    EXPECT_EQ(shard_name(7), "shard-000007.safetensors");
    EXPECT_LT(shard_name(9), shard_name(10));
    EXPECT_EQ(shard_name(1'234'567), "shard-1234567.safetensors");
}

TEST(StateManifest, ReadsBackAndRefusesWhatIsNone) {
    const StateManifest manifest{
        StateKind::Targets, 128, 64, 256, 8, 3, "Emma \"W\"\n", {69, 109, 0}};
    const std::string json = to_json(manifest);
    const auto parsed = parse_state_manifest(json, "m");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().detail;
    EXPECT_EQ(*parsed, manifest);
    const std::pair<const char*, const char*> wrong[] = {
        {"\"format\":1", "\"format\":2"},
        {"\"kind\":\"targets\"", "\"kind\":\"rows\""},
        {"\"context\":128", "\"context\":0"},
        {"\"width\":64", "\"width\":\"64\""},
        {"\"batch\":8", "\"batch\":65"},
        {"\"shards\":3", "\"shards\":1000001"},
        {"[69,109,0]", "[69,-109,0]"},
        {"\"sample\":", "\"simple\":"},
        {"{", "["}};
    for (const auto& [right, other] : wrong) {
        std::string text = json;
        const std::size_t at = text.find(right);
        ASSERT_NE(at, std::string::npos) << right;
        text.replace(at, std::string(right).size(), other);
        EXPECT_FALSE(parse_state_manifest(text, "m").has_value()) << text;
    }
}

}  // namespace
}  // namespace stacking::composition
