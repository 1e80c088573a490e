#include "stacking/sharing/manifest_fetch.hpp"

#include "tests/unit/stacking_sharing/bench.hpp"

#include <gtest/gtest.h>

namespace stacking::sharing {
namespace {

using namespace std::chrono_literals;
using protocol::FileChunk;
using protocol::FileFetch;
using protocol::FileRefused;

constexpr PeerId kFirst{{1}};
constexpr PeerId kSecond{{2}};

class ManifestFetchTest : public testing::Test {
 protected:
    ManifestFetchTest() : manifest(protocol::kChunkBytes + 5, std::byte{7}) {
        manifest.back() = std::byte{8};
        fetch.emplace(swarm::sha256(manifest));
    }

    std::vector<std::pair<PeerId, FileFetch>> asked() {
        node::Outbox out;
        fetch->advance({now, out});
        return sent<FileFetch>(out);
    }

    void up(PeerId donor) { fetch->donor_up(donor, static_cast<std::uint32_t>(manifest.size())); }

    void give(PeerId from, std::uint32_t chunk, bool honest = true) {
        const std::size_t at = chunk * protocol::kChunkBytes;
        const std::size_t size = std::min<std::size_t>(protocol::kChunkBytes, manifest.size() - at);
        std::vector<std::byte> bytes(size);
        std::copy_n(manifest.begin() + static_cast<std::ptrdiff_t>(at), size, bytes.begin());
        bytes[0] ^= honest ? std::byte{0} : std::byte{1};
        fetch->take(from, FileChunk{swarm::sha256(manifest), true, chunk}, bytes, now);
    }

    std::vector<std::byte> manifest;
    std::optional<ManifestFetch> fetch;
    TimePoint now{1s};
};

TEST_F(ManifestFetchTest, TakesItChunkByChunkFromOneServer) {
    up(kFirst);
    up(kSecond);
    ASSERT_EQ(asked().size(), 1U);
    give(kSecond, 0);  // it was not asked
    give(kFirst, 0);
    const auto next = asked();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].first, kFirst);
    EXPECT_EQ(next[0].second.chunk, 1U);
    give(kFirst, 1);
    ASSERT_TRUE(fetch->is_complete());
    EXPECT_EQ(fetch->bytes(), manifest);
}

TEST_F(ManifestFetchTest, BeginsAnewWithAnotherServerAfterALie) {
    up(kFirst);
    up(kSecond);
    asked();
    give(kFirst, 0, false);
    asked();
    give(kFirst, 1);
    EXPECT_TRUE(fetch->is_liar(kFirst));
    const auto next = asked();
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next[0].first, kSecond);
    EXPECT_EQ(next[0].second.chunk, 0U);
    give(kSecond, 0);
    asked();
    give(kSecond, 1);
    EXPECT_TRUE(fetch->is_complete());
}

TEST_F(ManifestFetchTest, AsksAnotherServerAfterSilenceRefusalOrLoss) {
    up(kFirst);
    up(kSecond);
    asked();
    now = fetch->next_deadline();
    EXPECT_EQ(now, TimePoint(1s) + ManifestFetch::kAnswerWithin);
    EXPECT_EQ(asked().at(0).first, kSecond);
    fetch->take(kSecond, FileRefused{swarm::sha256(manifest), true, 0, false}, now);
    EXPECT_TRUE(asked().empty());
    now = fetch->next_deadline();
    EXPECT_EQ(asked().at(0).first, kFirst);
    fetch->donor_down(kFirst);
    EXPECT_EQ(asked().at(0).first, kSecond);
    fetch->take(kSecond, FileRefused{swarm::sha256(manifest), true, 0, true}, now);
    now = fetch->next_deadline();
    EXPECT_EQ(asked().at(0).first, kSecond);  // it was busy only
}

TEST_F(ManifestFetchTest, TakesNoMoreThanWasTold) {
    fetch->donor_up(kFirst, 5);
    asked();
    give(kFirst, 0);
    EXPECT_TRUE(fetch->is_liar(kFirst));
    EXPECT_EQ(fetch->next_deadline(), swarm::kNever);
}

}  // namespace
}  // namespace stacking::sharing
