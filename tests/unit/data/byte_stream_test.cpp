#include "swarm/data/byte_stream.hpp"

#include "swarm/base/rng.hpp"
#include "tests/unit/data/data_bed.hpp"

#include <algorithm>

namespace swarm::data::test {
namespace {

/// Text that packs badly, so that its packed form has several reads.
std::string drawn_text(std::size_t bytes) {
    Rng rng(7, 0);
    std::string text;
    while (text.size() < bytes) {
        text.push_back(static_cast<char>('a' + rng.below(26)));
    }
    return text;
}

class ByteStreamTest : public DataBed {
 protected:
    /// Reads to the end or to the first error, which `error` gets.
    std::string read(const std::string& name, std::uint64_t from, std::size_t at_once) {
        error.reset();
        consumed = 0;
        const auto format = format_of(name);
        auto stream = open_stream({input(name), format.value()}, from);
        if (stream.has_error()) {
            error = stream.error();
            return {};
        }
        std::string text;
        std::vector<char> bytes(at_once);
        while (true) {
            const auto count = (*stream)->read(bytes);
            if (count.has_error()) {
                error = count.error();
                return text;
            }
            if (*count == 0) {
                consumed = (*stream)->consumed();
                return text;
            }
            text.append(bytes.data(), *count);
        }
    }

    std::optional<Error> error;
    std::uint64_t consumed = 0;
};

TEST_F(ByteStreamTest, GivesTheSameBytesFromEveryFormatAndPlace) {
    const std::string text = drawn_text(1'000'000);
    const std::string_view first = std::string_view(text).substr(0, 300'000);
    const std::string_view second = std::string_view(text).substr(300'000);
    write("a.jsonl", text);
    write("a.jsonl.gz", gzip(first) + gzip(second));
    write("a.jsonl.zst", zstd(first) + zstd(second));
    for (const std::string name : {"a.jsonl", "a.jsonl.gz", "a.jsonl.zst"}) {
        for (const std::uint64_t from : {0U, 1U, 299'999U, 300'000U, 700'000U, 1'000'000U}) {
            EXPECT_TRUE(read(name, from, 100'000) == text.substr(from)) << name << ' ' << from;
            EXPECT_FALSE(error) << error->detail;
            EXPECT_EQ(consumed, fs::file_size(input(name))) << name << ' ' << from;
        }
        EXPECT_TRUE(read(name, 999'000, 1) == text.substr(999'000)) << name;
    }
}

TEST_F(ByteStreamTest, APackedFileThatEndsEarlyGivesWhatCameBefore) {
    const std::string text = drawn_text(200'000);
    for (const auto& [name, packed] : std::map<std::string, std::string>{
             {"a.jsonl.gz", gzip(text)}, {"a.jsonl.zst", zstd(text)}}) {
        for (const std::size_t cut :
             {std::size_t{0}, std::size_t{5}, packed.size() / 2, packed.size() - 1}) {
            write(name, packed.substr(0, cut));
            const std::string came = read(name, 0, 4096);
            ASSERT_TRUE(error) << name << ' ' << cut;
            EXPECT_EQ(error->code, ErrorCode::Malformed);
            EXPECT_NE(error->detail.find("ends early"), std::string::npos) << error->detail;
            EXPECT_TRUE(text.starts_with(came)) << name << ' ' << cut;
        }
    }
}

TEST_F(ByteStreamTest, DamageIsAnErrorAndNoCrash) {
    const std::string text = drawn_text(50'000);
    Rng rng(11, 0);
    for (const auto& [name, packed] : std::map<std::string, std::string>{
             {"a.jsonl.gz", gzip(text)}, {"a.jsonl.zst", zstd(text)}}) {
        for (int i = 0; i < 50; ++i) {
            std::string bad = packed;
            bad[rng.below(bad.size())] ^= static_cast<char>(1 + rng.below(255));
            write(name, bad);
            read(name, 0, 4096);  // gzip notices all but a change in its header
        }
        write(name, "no packed bytes at all");
        read(name, 0, 4096);
        ASSERT_TRUE(error) << name;
        EXPECT_NE(error->detail.find("damaged"), std::string::npos) << error->detail;
    }
}

TEST_F(ByteStreamTest, AFileThatHasGoneIsNamed) {
    read("gone.jsonl", 0, 10);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, ErrorCode::NotFound);
    EXPECT_NE(error->detail.find("gone.jsonl: No such file"), std::string::npos) << error->detail;
}

}  // namespace
}  // namespace swarm::data::test
