#include "stacking/row_coding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stacking {
namespace {

using swarm::ErrorCode;
using swarm::protocol::CodecId;

std::vector<float> rows_of(std::size_t count, std::size_t width) {
    std::vector<float> rows;
    for (std::size_t i = 0; i < count * width; ++i) {
        rows.push_back(std::sin(static_cast<float>(i)) * static_cast<float>(1 + i / width));
    }
    return rows;
}

TEST(RowCoding, EachRowTakesItsOwnBytes) {
    const auto bytes = [](const char* name, std::size_t width) {
        return row_bytes(*find_row_codec(name), width);
    };
    EXPECT_EQ(bytes("none", 576), 2304U);
    EXPECT_EQ(bytes("bf16", 576), 1152U);
    EXPECT_EQ(bytes("fp16", 576), 1152U);
    EXPECT_EQ(bytes("int8", 576), 576U + 4 * 9);
    EXPECT_EQ(bytes("int8", 100), 100U + 4 * 2);  // the second group has 36 values
    const auto three = encode_rows(*find_row_codec("int8"), 100, rows_of(3, 100));
    ASSERT_FALSE(three.has_error());
    EXPECT_EQ(three->size(), 3 * bytes("int8", 100));
}

TEST(RowCoding, ARowsBytesDoNotDependOnOtherRows) {
    constexpr std::size_t kValues = 100;
    const std::vector<float> rows = rows_of(5, kValues);
    for (const CodecId id : {CodecId::None, CodecId::Int8, CodecId::Bf16, CodecId::Fp16}) {
        const compression::Codec& codec = *find_row_codec(id);
        const auto together = *encode_rows(codec, kValues, rows);
        std::vector<std::byte> alone;
        for (std::size_t row = 0; row < 5; ++row) {
            const auto one = std::span(rows).subspan(row * kValues, kValues);
            const auto coded = *encode_rows(codec, kValues, one);
            alone.insert(alone.end(), coded.begin(), coded.end());
        }
        EXPECT_EQ(together, alone) << codec.name();
        std::vector<float> decoded(rows.size());
        ASSERT_FALSE(decode_rows(codec, kValues, together, decoded).has_error());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            EXPECT_NEAR(decoded[i], rows[i], 0.03) << codec.name();
        }
    }
}

TEST(RowCoding, UncodableValuesAndUnreadableBytesAreTypedErrors) {
    const compression::Codec& int8 = *find_row_codec("int8");
    const std::vector<float> nan{1, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_EQ(encode_rows(int8, 2, nan).error().code, ErrorCode::NotFinite);
    std::vector<std::byte> coded = *encode_rows(int8, 2, rows_of(2, 2));
    std::ranges::fill(std::span(coded).last(row_bytes(int8, 2)), std::byte{0xff});
    std::vector<float> rows(4);
    EXPECT_EQ(decode_rows(int8, 2, coded, rows).error().code, ErrorCode::Malformed);
}

TEST(RowCoding, NamesTheCodecsThatRowsMayHave) {
    EXPECT_EQ(row_codec_names(), "none, int8, bf16, fp16");
    EXPECT_EQ(find_row_codec("int4"), nullptr);
    EXPECT_EQ(find_row_codec("zip"), nullptr);
    EXPECT_EQ(find_row_codec(CodecId::Sparse), nullptr);
    using Codecs = std::vector<RowCodec>;
    EXPECT_EQ(parse_row_codecs("int8"), Codecs{CodecId::Int8});
    EXPECT_EQ(parse_row_codecs("none,bf16"), (Codecs{CodecId::None, CodecId::Bf16}));
    EXPECT_EQ(parse_row_codecs("auto,int8"), (Codecs{std::nullopt, CodecId::Int8}));
    EXPECT_EQ(to_text(std::vector{CodecId::None, CodecId::Bf16}), "none,bf16");
    for (const char* const wrong : {"", "int8,", ",int8", "int8/int8", "int4", "auto/int8"}) {
        EXPECT_FALSE(parse_row_codecs(wrong)) << wrong;
    }
}

TEST(RowCoding, TheLastNamedCodecHoldsForAllFurtherLinks) {
    const std::vector<RowCodec> codecs{CodecId::None, CodecId::Int8};
    EXPECT_EQ(codec_of_link(codecs, 0), CodecId::None);
    EXPECT_EQ(codec_of_link(codecs, 1), CodecId::Int8);
    EXPECT_EQ(codec_of_link(codecs, 7), CodecId::Int8);
    EXPECT_EQ(codec_of_link({}, 3), CodecId::None);
}

}  // namespace
}  // namespace stacking
