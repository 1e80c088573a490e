#include "stages/files/cached_state.hpp"

#include "swarm/protocol/limits.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace stages {
namespace {

using swarm::node::Payload;

Payload chunk(std::size_t size, unsigned char first) {
    std::vector<std::byte> bytes(size, std::byte{7});
    bytes.front() = std::byte{first};
    return {{}, std::move(bytes)};
}

CachedState some_state() {
    CachedState state{{{1, 2, 3, 0xffffffffffffffff}}, {4, 5'000'000'000}, {6}, "[run]\n", {}};
    state.chunks = {chunk(swarm::protocol::kChunkBytes, 1), chunk(100, 2)};
    return state;
}

std::string bytes_of(const CachedState& state) {
    std::string text;
    for (const Payload& part : to_file(state)) {
        text.append(reinterpret_cast<const char*>(part.bytes().data()), part.bytes().size());
    }
    return text;
}

swarm::Result<CachedState> parse(const std::string& bytes) {
    std::istringstream file(bytes);
    return parse_cached_state(file);
}

TEST(CachedState, IsReadAsItWasWritten) {
    const CachedState written = some_state();
    const auto read = parse(bytes_of(written));
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->coordinator, written.coordinator);
    EXPECT_EQ(read->version, written.version);
    EXPECT_EQ(read->stage, written.stage);
    EXPECT_EQ(read->run_file, written.run_file);
    ASSERT_EQ(read->chunks.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(std::ranges::equal(read->chunks[i].bytes(), written.chunks[i].bytes())) << i;
    }
}

TEST(CachedState, IsRefusedWithAnyBitFlipped) {
    const std::string good = bytes_of(some_state());
    const std::size_t head = good.size() - swarm::protocol::kChunkBytes - 100;
    std::vector<std::size_t> places{head, head + 70'000, good.size() - 100, good.size() - 1};
    for (std::size_t at = 0; at < head; ++at) {
        places.push_back(at);
    }
    for (const std::size_t at : places) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x10);
        const auto read = parse(bad);
        ASSERT_FALSE(read) << "byte " << at;
        EXPECT_EQ(read.error().code, swarm::ErrorCode::Malformed);
    }
}

TEST(CachedState, IsRefusedWhenItIsCutShort) {
    const std::string good = bytes_of(some_state());
    for (std::size_t size = 0; size < good.size(); size += size < 300 ? 1 : 50'000) {
        EXPECT_FALSE(parse(good.substr(0, size))) << size;
    }
    EXPECT_FALSE(parse(good.substr(0, good.size() - 1)));
}

TEST(CachedState, RefusesSizesThatNoStateHas) {
    std::string bad = bytes_of(some_state());
    const std::size_t state_bytes = 8 + 8 * 8;  // offset: the magic and the numbers before it
    bad[state_bytes + 7] = '\x7f';
    const auto read = parse(bad);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().detail.find("sizes"), std::string::npos) << read.error().detail;
}

TEST(CachedState, IsNotFoundWhereThereIsNoFile) {
    const test::ScratchFolder folder;
    const auto read = read_cached_state(folder.path() / "none");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, swarm::ErrorCode::NotFound);
}

TEST(CachedState, ValuesComeBackFromItsChunks) {
    std::vector<float> values(swarm::protocol::kChunkBytes / sizeof(float) + 3);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i) - 1.5F;
    }
    CachedState state = some_state();
    state.chunks = to_chunks(values);
    EXPECT_EQ(state.chunks.size(), 2U);
    const auto read = parse(bytes_of(state));
    ASSERT_TRUE(read);
    EXPECT_EQ(to_values(*read, values.size()), values);
    EXPECT_FALSE(to_values(*read, values.size() + 1));
    EXPECT_FALSE(to_values(*read, std::uint64_t{1} << 62)) << "four times that is nothing";
    EXPECT_TRUE(to_chunks({}).empty());
}

}  // namespace
}  // namespace stages
