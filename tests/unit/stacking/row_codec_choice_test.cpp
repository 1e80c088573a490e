#include "stacking/row_codec_choice.hpp"

#include <gtest/gtest.h>

namespace stacking {
namespace {

using compression::CodecId;

constexpr std::size_t kWidth = 576;  // 2,304 bytes in fp32, 612 in int8
constexpr double kMbit = 125'000;

TEST(RowCodecChoice, IsInt8UntilTheLinkWasMeasured) {
    EXPECT_EQ(choose_row_codec({.width = kWidth, .device = {1e3, 1e2}}), CodecId::Int8);
}

/// A row takes 10 ms of computing. The bytes that int8 saves are 0.14 ms of the line at 100 Mb/s,
/// which do not count, and 1.4 ms at 10 Mb/s, which do.
TEST(RowCodecChoice, IsLessLossyOnAFasterLine) {
    const swarm::protocol::RowRates slow_device{100, 100};
    EXPECT_EQ(choose_row_codec({100 * kMbit, kWidth, slow_device}), CodecId::None);
    EXPECT_EQ(choose_row_codec({25 * kMbit, kWidth, slow_device}), CodecId::Bf16);
    EXPECT_EQ(choose_row_codec({10 * kMbit, kWidth, slow_device}), CodecId::Int8);
}

TEST(RowCodecChoice, TheFasterOfPrefillAndDecodeDecides) {
    EXPECT_EQ(choose_row_codec({100 * kMbit, kWidth, {5'000, 100}}), CodecId::Int8);
    EXPECT_EQ(choose_row_codec({100 * kMbit, kWidth, {100, 5'000}}), CodecId::Int8);
}

TEST(RowCodecChoice, AnUnmeasuredDeviceCountsAsTakingNoTime) {
    EXPECT_EQ(choose_row_codec({1'000 * kMbit, kWidth, {}}), CodecId::Int8);
    EXPECT_EQ(choose_row_codec({100'000 * kMbit, kWidth, {}}), CodecId::None)
        << "coding costs more";
}

}  // namespace
}  // namespace stacking
