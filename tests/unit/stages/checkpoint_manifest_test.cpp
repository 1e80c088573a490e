#include "stages/files/checkpoint_manifest.hpp"

#include <gtest/gtest.h>

namespace stages {
namespace {

CheckpointManifest sample() {
    CheckpointManifest manifest;
    manifest.version = {3, 12};
    manifest.run_file = "[run]\nname = \"x\"\n";
    manifest.files.push_back({"layers.0.safetensors", 123, std::string(64, 'a')});
    manifest.files.push_back({"head.safetensors", 1ULL << 40, std::string(64, 'b')});
    return manifest;
}

TEST(CheckpointManifest, ReadsBackWhatItWrote) {
    const auto read = parse_manifest(to_json(sample()));
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(read->version, sample().version);
    EXPECT_EQ(read->run_file, sample().run_file);
    ASSERT_EQ(read->files.size(), 2U);
    EXPECT_EQ(read->files[1].name, "head.safetensors");
    EXPECT_EQ(read->files[1].bytes, 1ULL << 40);
    EXPECT_EQ(read->files[1].sha256, std::string(64, 'b'));
}

TEST(CheckpointManifest, RefusesEveryFlippedBit) {
    const std::string whole = to_json(sample());
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string text = whole;
        text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_TRUE(parse_manifest(text).has_error()) << "bit " << bit;
    }
}

TEST(CheckpointManifest, RefusesEveryTruncationButThatOfTheLastNewline) {
    const std::string whole = to_json(sample());
    for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
        EXPECT_TRUE(parse_manifest(whole.substr(0, size)).has_error()) << size;
    }
}

TEST(CheckpointManifest, RefusesNamesThatLeadOutOfTheFolder) {
    for (const char* const name : {"../secret", "/etc/passwd", "a/b", ".hidden", ""}) {
        CheckpointManifest manifest = sample();
        manifest.files[0].name = name;
        EXPECT_TRUE(parse_manifest(to_json(manifest)).has_error()) << name;
    }
}

}  // namespace
}  // namespace stages
