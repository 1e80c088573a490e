#include "stacking/models/gguf_header.hpp"

#include "stacking/models/limits.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"

#include <gtest/gtest.h>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using test::Bytes;
using test::Gguf;
using test::GgufBuilder;

swarm::Result<GgufHeader> read(std::vector<std::byte> bytes) {
    return read_gguf_header(MemoryBytes(std::move(bytes)));
}

/// Checks the code of the refusal, and that its detail contains `text`.
void expect_refused(const GgufBuilder& file, ErrorCode code, const std::string& text) {
    const auto header = read(file.bytes());
    ASSERT_TRUE(header.has_error()) << text;
    EXPECT_EQ(header.error().code, code) << header.error().detail;
    EXPECT_NE(header.error().detail.find(text), std::string::npos) << header.error().detail;
    EXPECT_EQ(header.error().detail.find('\n'), std::string::npos);
}

TEST(GgufHeader, ReadsAllThirteenTypesOfValues) {
    GgufBuilder file;
    file.key("u8", Gguf::U8, std::uint8_t{200})
        .key("i8", Gguf::I8, std::int8_t{-100})
        .key("u16", Gguf::U16, std::uint16_t{60000})
        .key("i16", Gguf::I16, std::int16_t{-30000})
        .key("u32", Gguf::U32, std::uint32_t{4'000'000'000})
        .key("i32", Gguf::I32, std::int32_t{-2'000'000'000})
        .key("f32", Gguf::F32, 0.1F)
        .key("bool", Gguf::Bool, std::uint8_t{1})
        .text("string", "four")
        .key("u64", Gguf::U64, ~std::uint64_t{0})
        .key("i64", Gguf::I64, std::int64_t{-1})
        .key("f64", Gguf::F64, 0.1)
        .texts("tokenizer.ggml.tokens", {"a", "", "bc"})
        .numbers("tokenizer.ggml.token_type", {1, -3});
    const auto header = read(file.bytes());
    ASSERT_TRUE(header.has_value()) << header.error().detail;
    EXPECT_EQ(*header->find<std::uint64_t>("u8"), 200U);
    EXPECT_EQ(*header->find<std::int64_t>("i8"), -100);
    EXPECT_EQ(*header->find<std::uint64_t>("u16"), 60000U);
    EXPECT_EQ(*header->find<std::int64_t>("i16"), -30000);
    EXPECT_EQ(*header->find<std::uint64_t>("u32"), 4'000'000'000U);
    EXPECT_EQ(*header->find<std::int64_t>("i32"), -2'000'000'000);
    EXPECT_EQ(*header->find<double>("f32"), double{0.1F});
    EXPECT_EQ(*header->find<bool>("bool"), true);
    EXPECT_EQ(*header->find<std::string>("string"), "four");
    EXPECT_EQ(*header->find<std::uint64_t>("u64"), ~std::uint64_t{0});
    EXPECT_EQ(*header->find<std::int64_t>("i64"), -1);
    EXPECT_EQ(*header->find<double>("f64"), 0.1);
    EXPECT_EQ(
        *header->find<std::vector<std::string>>("tokenizer.ggml.tokens"),
        (std::vector<std::string>{"a", "", "bc"})
    );
    EXPECT_EQ(
        *header->find<std::vector<std::int64_t>>("tokenizer.ggml.token_type"),
        (std::vector<std::int64_t>{1, -3})
    );
    EXPECT_EQ(header->find<bool>("u8"), nullptr);
    EXPECT_EQ(header->find<bool>("nobody"), nullptr);
}

TEST(GgufHeader, KeepsTheScoresOfATokenizer) {
    Bytes scores;
    scores.add(Gguf::F32).add(std::uint64_t{2}).add(1.5F).add(-2.0F);
    GgufBuilder file;
    file.raw("tokenizer.ggml.scores", Gguf::Array, scores).raw("other.scores", Gguf::Array, scores);
    const auto header = read(file.bytes());
    ASSERT_TRUE(header.has_value()) << header.error().detail;
    const auto* const kept = header->find<std::vector<float>>("tokenizer.ggml.scores");
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(*kept, (std::vector<float>{1.5F, -2.0F}));
    EXPECT_FALSE(header->metadata.contains("other.scores"));
}

TEST(GgufHeader, SkipsUnknownArrays) {
    Bytes nested;
    nested.add(Gguf::Array).add(std::uint64_t{2});
    nested.add(Gguf::String).add(std::uint64_t{1}).text("within");
    nested.add(Gguf::F64).add(std::uint64_t{2}).add(1.0).add(2.0);
    GgufBuilder file;
    file.raw("unknown.nested", Gguf::Array, nested).u32("after", 7);
    const auto header = read(file.bytes());
    ASSERT_TRUE(header.has_value()) << header.error().detail;
    EXPECT_FALSE(header->metadata.contains("unknown.nested"));
    EXPECT_EQ(*header->find<std::uint64_t>("after"), 7U);
}

TEST(GgufHeader, PlacesTensorsInTheFile) {
    const auto bytes = test::small_gguf().bytes();
    const auto header = read(bytes);
    ASSERT_TRUE(header.has_value()) << header.error().detail;
    ASSERT_EQ(header->tensors.size(), 20U);
    const GgufTensor& embedding = header->tensors.front();
    EXPECT_EQ(embedding.name, "token_embd.weight");
    EXPECT_EQ(embedding.shape, (std::vector<std::uint32_t>{6, 8}));
    EXPECT_EQ(embedding.bytes, 6U * 8 * 4);
    EXPECT_EQ(embedding.offset % 32, 0U);
    const GgufTensor& last = header->tensors.back();
    EXPECT_EQ(last.offset + last.bytes, bytes.size());
}

TEST(GgufHeader, RefusesEveryTruncation) {
    const auto whole = test::small_gguf().bytes();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        ASSERT_TRUE(
            read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}).has_error()
        ) << size;
    }
}

TEST(GgufHeader, SurvivesEveryFlippedBitOfItsHeader) {
    const auto whole = test::small_gguf().bytes();
    const std::uint64_t header_bytes = read(whole)->tensors.front().offset;
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < 8 * header_bytes; ++bit) {
        auto file = whole;
        file[bit / 8] ^= std::byte{1} << (bit % 8);
        refused += read(file).has_error() ? 1 : 0;
    }
    // Flipped letters of names and keys, numbers of the configuration and some offsets pass.
    EXPECT_GT(refused, 2 * header_bytes);
}

TEST(GgufHeader, RefusesOtherFiles) {
    EXPECT_EQ(read({}).error().code, ErrorCode::Malformed);
    EXPECT_EQ(read(std::vector<std::byte>(100)).error().code, ErrorCode::Malformed);
    GgufBuilder old;
    old.version = 2;
    expect_refused(old, ErrorCode::Unsupported, "version 2");
    GgufBuilder swapped;
    swapped.version = 0x03000000;
    expect_refused(swapped, ErrorCode::Unsupported, "big-endian");
}

TEST(GgufHeader, RefusesCountsThatTheFileCannotHold) {
    for (const std::uint64_t count : {std::uint64_t{1'000'000'000}, ~std::uint64_t{0}}) {
        GgufBuilder tensors;
        tensors.claimed_tensors = count;
        expect_refused(tensors, ErrorCode::Malformed, "the file ends within");
        GgufBuilder keys;
        keys.claimed_keys = count;
        expect_refused(keys, ErrorCode::Malformed, "the file ends within");
        for (const Gguf type : {Gguf::U8, Gguf::String, Gguf::I32, Gguf::F64, Gguf::Array}) {
            Bytes lie;
            lie.add(type).add(count);
            for (const char* const key : {"unknown", "tokenizer.ggml.tokens"}) {
                GgufBuilder array;
                array.raw(key, Gguf::Array, lie);
                expect_refused(array, ErrorCode::Malformed, "the file ends within an array");
            }
        }
        Bytes text;
        text.add(count);
        GgufBuilder string;
        string.raw("text", Gguf::String, text);
        expect_refused(string, ErrorCode::Malformed, "the file ends within a string");
    }
}

TEST(GgufHeader, RefusesValuesAboveTheirBounds) {
    GgufBuilder many_keys;
    for (std::uint64_t i = 0; i <= kGgufKeysMax; ++i) {
        many_keys.u32("key" + std::to_string(i), 0);
    }
    expect_refused(many_keys, ErrorCode::TooLarge, "4097 keys");
    GgufBuilder long_text;
    long_text.text("text", std::string(kGgufStringBytesMax + 1, 'a'));
    expect_refused(long_text, ErrorCode::TooLarge, "a string of 1048577 bytes");
    GgufBuilder large_array;
    large_array.numbers("tokenizer.ggml.token_type", std::vector<std::int32_t>(kGgufArrayMax + 1));
    expect_refused(large_array, ErrorCode::TooLarge, "1048577 entries");
    Bytes deep;
    for (int i = 0; i < 100; ++i) {
        deep.add(Gguf::Array).add(std::uint64_t{1});
    }
    GgufBuilder nested;
    nested.raw("deep", Gguf::Array, deep);
    expect_refused(nested, ErrorCode::TooLarge, "arrays within arrays");
}

TEST(GgufHeader, RefusesBadValues) {
    GgufBuilder boolean;
    boolean.key("bool", Gguf::Bool, std::uint8_t{2});
    expect_refused(boolean, ErrorCode::Malformed, "neither 0 nor 1");
    GgufBuilder type;
    type.key("odd", Gguf{13}, std::uint64_t{0});
    expect_refused(type, ErrorCode::Malformed, "unknown type 13");
    GgufBuilder twice;
    twice.u32("key", 1).f32("key", 1);
    expect_refused(twice, ErrorCode::Malformed, "comes twice");
    for (const std::uint32_t alignment : {0U, 3U, 1U << 17U}) {
        GgufBuilder odd;
        odd.u32("general.alignment", alignment);
        expect_refused(odd, ErrorCode::Malformed, "general.alignment");
    }
}

TEST(GgufHeader, RefusesTensorsThatDoNotFitTheFile) {
    const std::vector<float> eight(8);
    const auto with_entry =
        [&](const std::vector<std::uint64_t>& sizes, std::uint32_t type, std::uint64_t offset) {
            GgufBuilder file;
            file.f32_tensor("first", {8}, eight);
            file.add_entry("second", sizes, type, offset);
            return file;
        };
    expect_refused(with_entry({8}, 0, 32), ErrorCode::Malformed, "does not lie in the file");
    expect_refused(
        with_entry({8}, 0, ~std::uint64_t{0} - 31), ErrorCode::Malformed, "does not lie in the file"
    );
    expect_refused(with_entry({1}, 0, 4), ErrorCode::Malformed, "does not lie in the file");
    expect_refused(with_entry({8}, 0, 0), ErrorCode::Malformed, "overlaps");
    expect_refused(with_entry({0}, 0, 0), ErrorCode::Malformed, "shape");
    expect_refused(with_entry({}, 0, 0), ErrorCode::Malformed, "0 dimensions");
    expect_refused(with_entry({1, 1, 1, 1, 1}, 0, 0), ErrorCode::Malformed, "5 dimensions");
    expect_refused(with_entry({1ULL << 40U}, 0, 0), ErrorCode::Malformed, "a dimension of second");
    const std::uint64_t large = (1ULL << 32U) - 1;
    expect_refused(with_entry({large, large, large}, 0, 0), ErrorCode::Malformed, "shape");
    expect_refused(with_entry({48}, 8, 0), ErrorCode::Malformed, "whole blocks of Q8_0");
    expect_refused(with_entry({256}, 17, 0), ErrorCode::Unsupported, "second is stored as IQ2_XS");
    expect_refused(with_entry({32}, 99, 0), ErrorCode::Unsupported, "type 99");
    GgufBuilder twice;
    twice.f32_tensor("first", {8}, eight).f32_tensor("first", {8}, eight);
    expect_refused(twice, ErrorCode::Malformed, "two tensors are named first");
}

TEST(GgufHeader, TensorsOfEveryTypeAreHeldAgainstTheFile) {
    struct Type {
        std::uint32_t number;
        const char* name;
        std::uint64_t values;
        std::size_t bytes;
    };

    constexpr Type kTypes[] = {
        {2, "Q4_0", 32, 18},
        {3, "Q4_1", 32, 20},
        {6, "Q5_0", 32, 22},
        {7, "Q5_1", 32, 24},
        {8, "Q8_0", 32, 34},
        {10, "Q2_K", 256, 84},
        {11, "Q3_K", 256, 110},
        {12, "Q4_K", 256, 144},
        {13, "Q5_K", 256, 176},
        {14, "Q6_K", 256, 210},
        {20, "IQ4_NL", 32, 18},
        {23, "IQ4_XS", 256, 136}};
    for (const Type& type : kTypes) {
        const auto with = [&](const std::vector<std::uint64_t>& sizes, std::size_t bytes) {
            test::Bytes data;
            data.add_all(std::vector<std::byte>(bytes));
            GgufBuilder file;
            file.tensor("it", sizes, type.number, data);
            return file;
        };
        const std::uint64_t values = type.values;
        const auto whole =
            read_gguf_header(MemoryBytes(with({2 * values, 3}, 6 * type.bytes).bytes()));
        ASSERT_TRUE(whole.has_value()) << type.name << whole.error().detail;
        EXPECT_EQ(name_of(whole->tensors[0].type), type.name);
        EXPECT_EQ(whole->tensors[0].bytes, 6 * type.bytes);
        expect_refused(
            with({2 * values, 3}, 6 * type.bytes - 1),
            ErrorCode::Malformed,
            "it does not lie in the file"
        );
        expect_refused(
            with({values + values / 2, 2}, 3 * type.bytes),
            ErrorCode::Malformed,
            std::string("rows of it are no whole blocks of ") + type.name
        );
    }
}

TEST(GgufHeader, PrintsNamesOfTheFileWithoutTheirControlCharacters) {
    GgufBuilder file;
    file.u32("bad\x1b[2J\nname", 1).u32("bad\x1b[2J\nname", 1);
    expect_refused(file, ErrorCode::Malformed, "bad?[2J?name");
}

}  // namespace
}  // namespace stacking::models
