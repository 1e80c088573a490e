#include "stages/files/safetensors.hpp"

#include "stages/files/safetensors_header.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace stages {
namespace {

using swarm::ErrorCode;

std::vector<std::byte> file_of(const std::string& header, std::size_t buffer_bytes) {
    std::vector<std::byte> file(8 + header.size() + buffer_bytes);
    const std::uint64_t length = header.size();
    std::memcpy(file.data(), &length, sizeof(length));
    std::memcpy(file.data() + 8, header.data(), header.size());
    return file;
}

const std::vector<float> kFirst{1, 2, 3, 4, 5, 6};
const std::vector<float> kSecond{-7};

std::vector<std::byte> two_tensors() {
    const std::vector<NamedTensor> tensors{
        {"layers.0.attn.wo", {2, 3}, kFirst},
        {"layers.0.attn_norm", {1}, kSecond},
        {"empty", {0, 4}, {}}};
    return write_safetensors(tensors);
}

ErrorCode code_for(const std::string& header, std::size_t buffer_bytes) {
    const auto parsed = Safetensors::parse(file_of(header, buffer_bytes));
    EXPECT_TRUE(parsed.has_error()) << header;
    return parsed.has_error() ? parsed.error().code : ErrorCode::Usage;
}

TEST(Safetensors, ReadsBackWhatItWrote) {
    auto parsed = Safetensors::parse(two_tensors());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().detail;
    const Safetensors moved = std::move(*parsed);
    ASSERT_EQ(moved.tensors().size(), 3U);
    const NamedTensor* const first = moved.find("layers.0.attn.wo");
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->shape, (std::vector<std::uint32_t>{2, 3}));
    EXPECT_TRUE(std::ranges::equal(first->values, kFirst));
    EXPECT_TRUE(std::ranges::equal(moved.find("layers.0.attn_norm")->values, kSecond));
    EXPECT_EQ(moved.find("nobody"), nullptr);
}

TEST(Safetensors, ReadsAFileOfAnotherWriter) {
    const std::string header = R"({"__metadata__":{"format":"pt"},)"
                               R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
                               R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
    auto file = file_of(header, 12);
    const std::vector<float> values{1.5F, 2.5F, 3.5F};
    std::memcpy(file.data() + 8 + header.size(), values.data(), 12);
    const auto parsed = Safetensors::parse(file);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().detail;
    EXPECT_EQ(parsed->find("a")->values[0], 1.5F);
    EXPECT_EQ(parsed->find("b")->values[1], 3.5F);
}

TEST(Safetensors, BeginsItsValuesAtAMultipleOfEight) {
    const auto file = two_tensors();
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof(length));
    EXPECT_EQ(length % 8, 0U);
    EXPECT_EQ(file.size(), 8 + length + 28);
}

TEST(Safetensors, RefusesEveryTruncation) {
    const auto file = two_tensors();
    for (std::size_t size = 0; size < file.size(); ++size) {
        EXPECT_TRUE(Safetensors::parse(std::span(file).first(size)).has_error()) << size;
    }
}

TEST(Safetensors, SurvivesEveryFlippedBitOfItsHeader) {
    const auto whole = two_tensors();
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * (whole.size() - 28); ++bit) {
        auto file = whole;
        file[bit / 8] ^= std::byte{1} << (bit % 8);
        refused += Safetensors::parse(file).has_error() ? 1 : 0;
    }
    // Other letters in a name, spaces at the end, and shapes of the same size still pass.
    EXPECT_GT(refused, 4 * whole.size());
}

TEST(Safetensors, RefusesHolesOverlapsAndBytesAtTheEnd) {
    const auto header = [](const char* second_offsets) {
        return std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)") +
               R"("b":{"dtype":"F32","shape":[1],"data_offsets":)" + second_offsets + "}}";
    };
    EXPECT_TRUE(Safetensors::parse(file_of(header("[4,8]"), 8)).has_value());
    EXPECT_EQ(code_for(header("[8,12]"), 12), ErrorCode::Malformed);
    EXPECT_EQ(code_for(header("[0,4]"), 4), ErrorCode::Malformed);
    EXPECT_EQ(code_for(header("[2,6]"), 6), ErrorCode::Malformed);
    EXPECT_EQ(code_for(header("[4,8]"), 12), ErrorCode::Malformed);
    EXPECT_EQ(code_for(header("[4,8]"), 7), ErrorCode::Malformed);
    EXPECT_EQ(code_for(header("[8,4]"), 8), ErrorCode::Malformed);
    EXPECT_EQ(code_for(header("[-4,8]"), 8), ErrorCode::Malformed);
    EXPECT_EQ(code_for(header("[4,8,12]"), 8), ErrorCode::Malformed);
}

TEST(Safetensors, RefusesShapesThatDoNotFitOrOverflow) {
    const auto header = [](const char* shape) {
        return std::string(R"({"a":{"dtype":"F32","shape":)") + shape +
               R"(,"data_offsets":[0,8]}})";
    };
    EXPECT_TRUE(Safetensors::parse(file_of(header("[1,2]"), 8)).has_value());
    for (const char* const shape :
         {"[3]",
          "[1,1]",
          "[-2,-1]",
          "[0.5,4]",
          "\"2\"",
          "[4294967296]",
          "[4294967295,4294967295,4294967295]",
          "[65536,65536,65536,65536,2]"}) {
        EXPECT_EQ(code_for(header(shape), 8), ErrorCode::Malformed) << shape;
    }
}

TEST(Safetensors, RefusesANameThatComesTwice) {
    EXPECT_EQ(
        code_for(
            R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
            8
        ),
        ErrorCode::Malformed
    );
}

TEST(Safetensors, RefusesOtherTypesByName) {
    const auto file = file_of(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4);
    const auto parsed = Safetensors::parse(file);
    ASSERT_TRUE(parsed.has_error());
    EXPECT_EQ(parsed.error().code, ErrorCode::Unsupported);
    EXPECT_NE(parsed.error().detail.find("a is BF16"), std::string::npos);
}

TEST(Safetensors, RefusesAHeaderAboveItsLimitBeforeReadingIt) {
    std::vector<std::byte> file(16);
    std::fill(file.begin(), file.begin() + 8, std::byte{0xff});
    EXPECT_EQ(Safetensors::parse(file).error().code, ErrorCode::TooLarge);
}

TEST(Safetensors, TheLimitOfAHeaderIsTheOneInItsMessage) {
    const auto length_of = [](std::uint64_t length) {
        std::array<std::byte, kSafetensorsLengthBytes> bytes{};
        std::memcpy(bytes.data(), &length, sizeof length);
        return read_safetensors_length(bytes, 1ULL << 40);
    };
    EXPECT_EQ(*length_of(100'000'000), 100'000'000U);
    const auto above = length_of(100'000'001);
    ASSERT_TRUE(above.has_error());
    EXPECT_EQ(above.error().code, ErrorCode::TooLarge);
    EXPECT_EQ(
        above.error().detail, "safetensors: a header of 100000001 bytes; at most 100000000 are read"
    );
}

TEST(Safetensors, RefusesHeadersOfAnotherForm) {
    for (const char* const header :
         {"", "[]", "{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"dtype\":\"F32\"}}", "nul"}) {
        EXPECT_EQ(code_for(header, 0), ErrorCode::Malformed) << header;
    }
}

}  // namespace
}  // namespace stages
