// Blocks of every type decode to the bits of PyPI gguf (weight_blocks.json, weight_blocks.py).
#include "stacking/blocks/coding.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/rng.hpp"
#include "tests/places.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace swarm::golden {
namespace {

namespace json = boost::json;
using stacking::blocks::WeightType;

constexpr std::size_t kBlocks = 1024;
constexpr std::size_t kChunk = 128;
constexpr std::size_t kDigits = 16;  // kept digits of a digest
constexpr std::uint16_t kHalves[] = {
    0x0000,
    0x8000,
    0x0001,
    0x83ff,
    0x0400,
    0x3c00,
    0xbc00,
    0x2e66,
    0x7bff,
    0xfbff,
    0x7c00,
    0xfc00,
    0x7e00};

struct Quantised {
    WeightType type;
    std::vector<std::size_t> halves;  // offsets of a block's fp16 numbers
};

/// In the order of weight_blocks.py; the place is the seed.
std::vector<Quantised> quantised_types() {
    return {
        {WeightType::Q4_0, {0}},
        {WeightType::Q4_1, {0, 2}},
        {WeightType::Q5_0, {0}},
        {WeightType::Q5_1, {0, 2}},
        {WeightType::Q8_0, {0}},
        {WeightType::Q2_K, {80, 82}},
        {WeightType::Q3_K, {108}},
        {WeightType::Q4_K, {0, 2}},
        {WeightType::Q5_K, {0, 2}},
        {WeightType::Q6_K, {208}},
        {WeightType::IQ4_NL, {0}},
        {WeightType::IQ4_XS, {0}}};
}

std::vector<std::byte> random_bytes(std::uint64_t seed, std::size_t count) {
    std::vector<std::byte> bytes((count + 7) / 8 * 8);
    for (std::size_t word = 0; word < bytes.size() / 8; ++word) {
        const std::uint64_t bits = mix_bits(seed + (word + 1) * 0x9e3779b97f4a7c15);
        std::memcpy(bytes.data() + word * 8, &bits, 8);
    }
    bytes.resize(count);
    return bytes;
}

std::vector<std::byte> make_blocks(std::uint64_t seed, const Quantised& made) {
    const std::size_t size = block_size(made.type).bytes;
    std::vector<std::byte> blocks = random_bytes(seed, kBlocks * size);
    for (std::size_t number = 0; number < kBlocks; ++number) {
        const std::size_t turn = number / 4;
        std::byte* const block = blocks.data() + number * size;
        const std::vector<std::byte> before(block, block + size);
        if (number % 4 >= 2) {
            std::fill_n(block, size, static_cast<std::byte>(turn % 256));
        }
        std::size_t divisor = 1;
        for (const std::size_t at : made.halves) {
            std::memcpy(block + at, before.data() + at, 2);
            if (number % 2 == 1) {
                std::memcpy(block + at, &kHalves[turn / divisor % std::size(kHalves)], 2);
            }
            divisor *= std::size(kHalves);
        }
    }
    return blocks;
}

std::vector<float> decode(WeightType type, std::span<const std::byte> bytes) {
    const auto block = block_size(type);
    std::vector<float> values(bytes.size() / block.bytes * block.values);
    decode_weights(type, bytes, values);
    return values;
}

std::string digest_of(std::vector<float> values) {
    for (float& value : values) {
        value = std::isnan(value) ? std::bit_cast<float>(0x7fc00000U) : value;
    }
    return to_hex(sha256(std::as_bytes(std::span(values)))).substr(0, kDigits);
}

json::object read_digests() {
    std::ifstream file(test::source_dir() + "/tests/golden/weight_blocks.json");
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_object();
}

TEST(WeightBlocks, EveryQuantisedTypeDecodesToTheBitsOfGguf) {
    const json::object digests = read_digests();
    std::uint64_t seed = 0;
    for (const Quantised& made : quantised_types()) {
        const auto blocks = make_blocks(seed++, made);
        const json::array& wanted = digests.at(name_of(made.type)).as_array();
        ASSERT_EQ(wanted.size(), kBlocks / kChunk);
        const std::size_t chunk = kChunk * block_size(made.type).bytes;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const auto part = std::span(blocks).subspan(i * chunk, chunk);
            EXPECT_EQ(digest_of(decode(made.type, part)), wanted[i].as_string().c_str())
                << name_of(made.type) << ", blocks from " << i * kChunk;
        }
    }
}

TEST(WeightBlocks, AllValuesOfTheSmallFloatsAreTheirs) {
    const json::object digests = read_digests();
    std::vector<std::uint16_t> halves(65'536);
    std::iota(halves.begin(), halves.end(), std::uint16_t{0});
    for (const WeightType type : {WeightType::F16, WeightType::BF16}) {
        EXPECT_EQ(
            digest_of(decode(type, std::as_bytes(std::span(halves)))),
            digests.at(name_of(type)).as_array().at(0).as_string().c_str()
        ) << name_of(type);
    }
    std::vector<std::uint8_t> bytes(256);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    EXPECT_EQ(
        digest_of(decode(WeightType::F8_E4M3, std::as_bytes(std::span(bytes)))),
        digests.at("F8_E4M3").as_array().at(0).as_string().c_str()
    );
}

/// Kernels fuse the addition, which is the same only while the product is exact.
TEST(WeightBlocks, AScaleTimesALevelIsExact) {
    std::uint64_t seed = 0;
    for (const Quantised& made : quantised_types()) {
        const auto coding = stacking::blocks::coding_of(made.type);
        const auto blocks = make_blocks(seed++, made);
        const std::size_t size = block_size(made.type).bytes;
        for (std::size_t at = 0; at < blocks.size(); at += size) {
            stacking::blocks::Block block;
            take_apart(made.type, blocks.data() + at, block);
            for (std::size_t i = 0; i < coding.values; ++i) {
                const float scale = scale_of(coding, block, i / coding.group).scale;
                const int level = level_of(coding, block.codes[i]);
                if (std::isfinite(scale)) {
                    const double exact = double{scale} * level;
                    ASSERT_EQ(double{scale * static_cast<float>(level)}, exact)
                        << name_of(made.type);
                }
            }
        }
    }
}

}  // namespace
}  // namespace swarm::golden
