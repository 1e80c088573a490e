#include "compression/codec.hpp"

#include <gtest/gtest.h>

namespace compression {
namespace {

TEST(CodecRegistry, FindsEachCodecByNameAndByNumber) {
    for (const CodecId id :
         {CodecId::None,
          CodecId::Int8,
          CodecId::Bf16,
          CodecId::Fp16,
          CodecId::Int4,
          CodecId::HadamardInt4,
          CodecId::Sparse}) {
        const Codec* codec = find_codec(id);
        ASSERT_NE(codec, nullptr) << static_cast<int>(id);
        EXPECT_EQ(codec->id(), id);
        EXPECT_EQ(find_codec(codec->name()), codec);
    }
}

TEST(CodecRegistry, KnowsNoCodecThatIsNotRegistered) {
    EXPECT_EQ(find_codec("int3"), nullptr);
    EXPECT_EQ(find_codec(""), nullptr);
    EXPECT_EQ(find_codec(static_cast<CodecId>(200)), nullptr);
}

TEST(CodecRegistry, HasACodecForEveryNumberThatAnEnvelopeMayCarryButBytePlanes) {
    for (int id = 0; id <= static_cast<int>(swarm::protocol::kLastCodecId); ++id) {
        const bool of_floats = static_cast<CodecId>(id) != CodecId::BytePlanes;
        EXPECT_EQ(find_codec(static_cast<CodecId>(id)) != nullptr, of_floats) << id;
    }
}

TEST(CodecRegistry, NamesEveryCodecOfTheLegsForErrorTexts) {
    EXPECT_EQ(codec_names(), "none, int8, bf16, fp16, int4, hadamard-int4");
}

}  // namespace
}  // namespace compression
