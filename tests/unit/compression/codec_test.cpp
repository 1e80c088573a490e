#include "compression/codec.hpp"

#include <gtest/gtest.h>

namespace compression {
namespace {

TEST(CodecRegistry, FindsEachCodecByNameAndByNumber) {
    for (const CodecId id : {CodecId::None, CodecId::Int8}) {
        const Codec* codec = find_codec(id);
        ASSERT_NE(codec, nullptr) << static_cast<int>(id);
        EXPECT_EQ(codec->id(), id);
        EXPECT_EQ(find_codec(codec->name()), codec);
    }
}

TEST(CodecRegistry, KnowsNoCodecNobodyRegistered) {
    EXPECT_EQ(find_codec("int3"), nullptr);
    EXPECT_EQ(find_codec(""), nullptr);
    EXPECT_EQ(find_codec(static_cast<CodecId>(200)), nullptr);
}

TEST(CodecRegistry, NamesEveryCodecForErrorTexts) {
    EXPECT_EQ(codec_names(), "none, int8");
}

}  // namespace
}  // namespace compression
