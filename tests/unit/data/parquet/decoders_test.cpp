#include "swarm/data/limits.hpp"
#include "swarm/data/parquet/delta_decoder.hpp"
#include "swarm/data/parquet/page_codec.hpp"
#include "swarm/data/parquet/run_decoder.hpp"
#include "swarm/data/parquet/text_decoder.hpp"
#include "swarm/data/parquet/thrift_reader.hpp"
#include "tests/unit/data/data_bed.hpp"
#include "tests/unit/data/parquet/table_file.hpp"

#include <snappy-c.h>

namespace swarm::data::parquet::test {
namespace {

using Numbers = std::vector<std::uint32_t>;

template <class Decoder>
Numbers take_all(Decoder decoder, std::size_t most = 1000) {
    Numbers numbers;
    while (numbers.size() < most) {
        const auto next = decoder.next();
        if (!next) {
            break;
        }
        numbers.push_back(*next);
    }
    return numbers;
}

std::string bytes_of(std::initializer_list<int> values) {
    std::string bytes;
    for (const int value : values) {
        bytes += static_cast<char>(value);
    }
    return bytes;
}

TEST(RunDecoder, ReadsRunsAndPackedNumbers) {
    // The format's own example: 0 to 7 in three bits each.
    const std::string packed = bytes_of({0x03, 0x88, 0xC6, 0xFA});
    EXPECT_EQ(take_all(RunDecoder(packed, 3)), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
    const std::string run = bytes_of({0x0A, 0x05});
    EXPECT_EQ(take_all(RunDecoder(run, 3)), Numbers(5, 5));
    EXPECT_EQ(take_all(RunDecoder(run + bytes_of({0x00, 0x01}) + packed, 3)).size(), 13U);
    const std::string wide = bytes_of({0x04, 0x44, 0x33, 0x22, 0x11});
    EXPECT_EQ(take_all(RunDecoder(wide, 32)), Numbers(2, 0x11223344));
    EXPECT_EQ(take_all(RunDecoder("", 0), 3), Numbers(3, 0));
}

TEST(RunDecoder, EndsWhereTheBytesEnd) {
    const std::string packed = bytes_of({0x03, 0x88, 0xC6, 0xFA});
    EXPECT_EQ(take_all(RunDecoder(packed.substr(0, 3), 3)), (Numbers{0, 1, 2, 3, 4}));
    EXPECT_EQ(take_all(RunDecoder(packed.substr(0, 1), 3)), Numbers{});
    EXPECT_EQ(take_all(RunDecoder(bytes_of({0x04, 0x44}), 32)), Numbers{});
    EXPECT_EQ(take_all(RunDecoder(std::string(9, '\xFF'), 7)), Numbers{});  // a head of 63 bits
    EXPECT_EQ(take_all(RunDecoder(std::string(9, '\0'), 8)), Numbers{});    // empty runs
}

TEST(DeltaDecoder, ReadsTheExamplesOfTheFormat) {
    // Blocks of 128 in 4 miniblocks; 1 to 5: each difference is the smallest, in no bits.
    const std::string head = bytes_of({0x80, 0x01, 0x04, 0x05, 0x02});
    const std::string even = head + bytes_of({0x02, 0, 0, 0, 0});
    const std::string with_more = even + "behind";
    auto decoder = DeltaDecoder::open(with_more);
    ASSERT_TRUE(decoder);
    EXPECT_EQ(*decoder->end(), even.size());
    EXPECT_EQ(take_all(*decoder), (Numbers{1, 2, 3, 4, 5}));
    // 7 5 3 1 2 3 4 5: differences -2 -2 -2 1 1 1 1, smallest -2, in two bits.
    const std::string mixed = bytes_of({0x80, 0x01, 0x04, 0x08, 0x0E, 0x03, 2, 0xFF, 0, 0}) +
                              bytes_of({0xC0, 0x3F, 0, 0, 0, 0, 0, 0});
    decoder = DeltaDecoder::open(mixed);
    ASSERT_TRUE(decoder);
    EXPECT_EQ(*decoder->end(), mixed.size());
    EXPECT_EQ(take_all(*decoder), (Numbers{7, 5, 3, 1, 2, 3, 4, 5}));
    decoder->next();
    EXPECT_EQ(*decoder->end(), mixed.size());
    decoder = DeltaDecoder::open(std::string_view(mixed).substr(0, mixed.size() - 1));
    EXPECT_FALSE(decoder->end());
    EXPECT_EQ(take_all(*decoder), Numbers{7});
}

TEST(DeltaDecoder, RefusesHeadsThatLie) {
    for (const auto& head : {
             bytes_of({0x80, 0x01, 0x04, 0x05}),              // no first value
             bytes_of({0x00, 0x04, 0x05, 0x02}),              // blocks of none
             bytes_of({0x80, 0x01, 0x00, 0x05, 0x02}),        // no miniblocks
             bytes_of({0x80, 0x01, 0x08, 0x05, 0x02}),        // miniblocks of 16
             bytes_of({0x80, 0x01, 0x03, 0x05, 0x02}),        // no whole number
             bytes_of({0x80, 0x80, 0x08, 0x04, 0x05, 0x02}),  // blocks of 131,072
         }) {
        EXPECT_FALSE(DeltaDecoder::open(head));
    }
    const std::string wide = bytes_of({0x80, 0x01, 0x04, 0x05, 0, 0, 33, 0, 0, 0});
    EXPECT_FALSE(DeltaDecoder::open(wide)->end());
}

TEST(TextDecoder, HoldsLengthsAgainstThePage) {
    const std::string lengths = bytes_of({0x80, 0x01, 0x04, 0x02, 0x06, 0, 0, 0, 0, 0});  // 3 3
    const std::string cut = lengths + "onetw";
    auto texts = *make_text_decoder(Encoding::DeltaLengthByteArray, cut, nullptr);
    EXPECT_EQ(*texts->next(), "one");
    EXPECT_TRUE(texts->next().has_error());
    // Both texts share three bytes with the one before, and the first has none before it.
    const std::string shared = lengths + lengths + "onetwo";
    texts = *make_text_decoder(Encoding::DeltaByteArray, shared, nullptr);
    EXPECT_TRUE(texts->next().has_error());
    EXPECT_FALSE(make_text_decoder(Encoding::DeltaByteArray, lengths, nullptr));
    EXPECT_FALSE(make_text_decoder(Encoding::BitPacked, lengths, nullptr));
}

TEST(PageCodec, UnpacksToTheSizeThatIsAskedFor) {
    // So long that its packed bytes are read in several parts.
    std::string text;
    for (std::uint32_t i = 1; text.size() < 3 * kReadBytes; i = i * 1664525 + 1013904223) {
        text += std::to_string(i);
    }
    std::size_t bytes = ::snappy_max_compressed_length(text.size());
    std::string snappy(bytes, '\0');
    ASSERT_EQ(::snappy_compress(text.data(), text.size(), snappy.data(), &bytes), SNAPPY_OK);
    snappy.resize(bytes);
    const std::string half = text.substr(0, 20);
    const std::string members = data::test::gzip(half) + data::test::gzip(text.substr(20));
    const auto unpacks = [](PageCodec codec, const std::string& packed, std::string& to) {
        const MemoryBytes file("xx" + packed + "xx");
        std::vector<char> buffer;
        PackedPage page(file, 2, packed.size(), buffer);
        return may_unpack_to(codec, page, to.size()) && unpack_page(codec, page, to).has_value();
    };
    const auto check = [&](PageCodec codec, const std::string& packed) {
        std::string to(text.size(), '\0');
        EXPECT_TRUE(unpacks(codec, packed, to));
        EXPECT_TRUE(to == text);
        EXPECT_FALSE(unpacks(codec, packed.substr(0, packed.size() - 1), to));
        EXPECT_FALSE(unpacks(codec, packed + "x", to));
        to.push_back('\0');
        EXPECT_FALSE(unpacks(codec, packed, to));
        to.resize(text.size() - 1);
        EXPECT_FALSE(unpacks(codec, packed, to));
    };
    ASSERT_GT(data::test::zstd(text).size(), kReadBytes);
    check(PageCodec::Plain, text);
    check(PageCodec::Snappy, snappy);
    check(PageCodec::Gzip, data::test::gzip(text));
    check(PageCodec::Gzip, members);
    check(PageCodec::Zstd, data::test::zstd(text));
}

TEST(ThriftReader, TakesAndSkipsEachType) {
    ThriftStruct inner;
    inner.i32(1, -5).boolean(2, true).text(3, "inner");
    ThriftStruct outer;
    outer.boolean(1, true).head(2, 3).raw("x").head(3, 7).raw("12345678");  // a byte, a double
    outer.head(4, 11).raw(bytes_of({2, 0x85})).raw(bytes_of({1, 'a', 2, 1, 'b', 4}));  // a map
    outer.head(5, 11).varint(0).head(6, 10).raw(bytes_of({0x21, 1, 0}));  // no map, a set of bools
    outer.head(7, 13).raw("1234567890123456").nested(8, inner).list(9, {inner, inner});
    outer.i64(10, -1LL << 60).head(10, 6).raw(bytes_of({22})).varint(14);  // an id of its own: 11
    const std::string bytes = outer.done();
    ThriftReader skipped(bytes);
    skipped.skip(ThriftType::Struct);
    EXPECT_TRUE(skipped.ok());
    EXPECT_EQ(skipped.position(), bytes.size());
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        ThriftReader cut(std::string_view(bytes).substr(0, length));
        cut.skip(ThriftType::Struct);
        EXPECT_TRUE(!cut.ok() && cut.has_ended()) << length;
    }
    ThriftReader in(bytes);
    ThriftFields fields(in);
    std::int64_t ten = 0;
    std::int64_t eleven = 0;
    while (fields.next()) {
        if (fields.id() == 10) {
            ten = in.i64(fields.type());
        } else if (fields.id() == 11) {
            eleven = in.i64(fields.type());
        } else {
            in.skip(fields.type());
        }
    }
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(ten, -1LL << 60);
    EXPECT_EQ(eleven, 7);
}

TEST(ThriftReader, RefusesOtherTypesAndLengthsBeyondTheEnd) {
    const auto first = [](const ThriftStruct& value, auto take) {
        const std::string bytes = value.done();
        ThriftReader in(bytes);
        ThriftFields fields(in);
        EXPECT_TRUE(fields.next());
        take(in, fields.type());
        return in.ok();
    };
    const auto number = [](ThriftReader& in, ThriftType type) { in.i32(type); };
    const auto text = [](ThriftReader& in, ThriftType type) { in.binary(type); };
    const auto list = [](ThriftReader& in, ThriftType type) { in.list(type, ThriftType::Struct); };
    EXPECT_TRUE(first(ThriftStruct().i32(1, 7), number));
    EXPECT_FALSE(first(ThriftStruct().text(1, "7"), number));
    EXPECT_FALSE(first(ThriftStruct().i64(1, 1LL << 31), number));
    EXPECT_FALSE(first(ThriftStruct().i32(1, 7), text));
    EXPECT_FALSE(first(ThriftStruct().head(1, 8).varint(100), text));
    EXPECT_FALSE(first(ThriftStruct().head(1, 8).raw(std::string(12, '\xFF')), text));
    EXPECT_TRUE(first(ThriftStruct().list(1, {}), list));
    EXPECT_FALSE(first(ThriftStruct().head(1, 9).raw("\xFC").varint(1ULL << 40), list));
    EXPECT_FALSE(first(ThriftStruct().head(1, 9).raw("\x15").raw("1"), list));  // a list of numbers
}

}  // namespace
}  // namespace swarm::data::parquet::test
