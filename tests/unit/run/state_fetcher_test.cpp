#include "swarm/run/state_fetcher.hpp"

#include "swarm/protocol/limits.hpp"
#include "tests/start.hpp"
#include "tests/unit/run/script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace swarm::run {
namespace {

using namespace std::chrono_literals;
using Outcome = StateFetcher::Outcome;
using swarm::test::kStart;
using test::Actions;

constexpr PeerId kFirst{{1}};
constexpr PeerId kSecond{{2}};
constexpr ParameterVersion kVersion{0, 4};
constexpr StageIndex kStage{1};
constexpr std::uint32_t kChunks = 10;
constexpr std::uint64_t kLastChunkBytes = 100;
constexpr std::uint64_t kStateBytes = (kChunks - 1) * protocol::kChunkBytes + kLastChunkBytes;

node::Payload payload_of(std::vector<std::byte> bytes) {
    const protocol::TensorEnvelope envelope{
        protocol::Dtype::Bytes, {}, {static_cast<std::uint32_t>(bytes.size())}};
    return {envelope, std::move(bytes)};
}

node::Payload chunk_payload(std::uint32_t index) {
    const std::size_t bytes = index + 1 < kChunks ? protocol::kChunkBytes : kLastChunkBytes;
    return payload_of(std::vector<std::byte>(bytes, static_cast<std::byte>(index)));
}

node::Payload manifest_payload() {
    std::vector<std::byte> manifest;
    for (std::uint32_t i = 0; i < kChunks; ++i) {
        const Digest digest = sha256(chunk_payload(i).bytes());
        manifest.insert(manifest.end(), digest.bytes.begin(), digest.bytes.end());
    }
    return payload_of(manifest);
}

class StateFetcherTest : public testing::Test {
 protected:
    struct Asked {
        PeerId donor;
        std::optional<std::uint32_t> chunk;
    };

    void note(const Actions& actions) {
        for (const node::Send& send : actions.all<node::Send>()) {
            asked_.push_back({send.peer, std::get<protocol::Fetch>(send.message.body).chunk});
        }
    }

    void advance(TimePoint now = kStart) {
        Actions actions;
        fetcher_.advance(actions.at(now));
        note(actions);
    }

    void lose(PeerId donor) {
        Actions actions;
        fetcher_.donor_lost(donor, actions.at(kStart));
        note(actions);
    }

    void link_down(PeerId donor, TimePoint now = kStart) {
        Actions actions;
        fetcher_.link_down(donor, actions.at(now));
        note(actions);
    }

    void link_up(PeerId donor, TimePoint now = kStart) {
        Actions actions;
        fetcher_.link_up(donor, actions.at(now));
        note(actions);
    }

    void deliver(PeerId from, std::optional<std::uint32_t> chunk, node::Payload payload) {
        Actions actions;
        const protocol::Chunk message{kVersion, kStage, chunk};
        fetcher_.on(from, message, std::move(payload), actions.at(kStart));
        note(actions);
    }

    void deliver(const Asked& asked) {
        deliver(
            asked.donor, asked.chunk, asked.chunk ? chunk_payload(*asked.chunk) : manifest_payload()
        );
    }

    void refuse(const Asked& asked, bool busy, TimePoint now = kStart) {
        Actions actions;
        fetcher_.on(
            asked.donor,
            protocol::ChunkRefused{kVersion, kStage, asked.chunk, busy},
            actions.at(now)
        );
        note(actions);
    }

    std::vector<Asked> take_asked() { return std::exchange(asked_, {}); }

    /// Delivers the manifest, so that the first chunks are asked for.
    std::vector<Asked> start() {
        advance();
        deliver(take_asked().at(0));
        return take_asked();
    }

    /// Delivers every chunk that is asked for.
    void serve(std::vector<Asked> open) {
        while (!open.empty()) {
            for (const Asked& asked : open) {
                deliver(asked);
            }
            open = take_asked();
        }
    }

    void expect_complete() {
        ASSERT_EQ(fetcher_.outcome(), Outcome::Complete);
        const auto chunks = fetcher_.take_chunks();
        ASSERT_EQ(chunks.size(), kChunks);
        for (std::uint32_t i = 0; i < kChunks; ++i) {
            EXPECT_EQ(chunks[i].bytes()[0], static_cast<std::byte>(i));
        }
    }

    StateFetcher fetcher_{
        {kVersion, kStage, kStateBytes, sha256(manifest_payload().bytes())}, {kFirst, kSecond}};
    std::vector<Asked> asked_;
};

TEST_F(StateFetcherTest, AsksAllForTheManifestAlone) {
    advance();
    const auto asked = take_asked();
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_NE(asked[0].donor, asked[1].donor);
    EXPECT_FALSE(asked[0].chunk || asked[1].chunk);
    advance();
    EXPECT_TRUE(take_asked().empty());
}

TEST_F(StateFetcherTest, AsksForTheManifestAgainUntilItComes) {
    advance();
    const auto lost = take_asked();
    advance(kStart + 499ms);
    EXPECT_TRUE(take_asked().empty());
    EXPECT_EQ(fetcher_.next_deadline(), kStart + 500ms);
    advance(kStart + 500ms);
    const auto again = take_asked();
    ASSERT_EQ(again.size(), 2U);
    EXPECT_FALSE(again[0].chunk);
    deliver(again[0]);
    const auto chunks = take_asked();
    EXPECT_EQ(chunks.size(), 2 * protocol::kOpenFetchesMax) << "from both donors at once";
    deliver(lost[0]);  // the first request had arrived
    deliver(again[1]);
    EXPECT_TRUE(take_asked().empty());
    serve(chunks);
    expect_complete();
}

TEST_F(StateFetcherTest, AsksEveryDonorForDifferentChunksUpToTheBound) {
    std::set<std::uint32_t> chunks;
    std::map<PeerId, std::size_t> open;
    for (const Asked& asked : start()) {
        EXPECT_TRUE(chunks.insert(asked.chunk.value()).second);
        ++open[asked.donor];
    }
    EXPECT_EQ(open[kFirst], protocol::kOpenFetchesMax);
    EXPECT_EQ(open[kSecond], protocol::kOpenFetchesMax);
}

TEST_F(StateFetcherTest, EndsWithAllChunksInOrder) {
    serve(start());
    EXPECT_EQ(fetcher_.received(), kChunks);
    EXPECT_EQ(fetcher_.state_hash(), sha256(manifest_payload().bytes()));
    EXPECT_EQ(fetcher_.next_deadline(), kNever);
    expect_complete();
}

TEST_F(StateFetcherTest, LeavesADonorWhoseChunkHasAnotherHash) {
    const auto open = start();
    deliver(open[0].donor, open[0].chunk, chunk_payload(99));
    for (const Asked& asked : take_asked()) {
        EXPECT_NE(asked.donor, open[0].donor);
    }
    EXPECT_EQ(fetcher_.received(), 0U);
    EXPECT_EQ(fetcher_.outcome(), Outcome::Open);
}

TEST_F(StateFetcherTest, KeepsChunksRawThoughTheyTravelPacked) {
    for (std::vector<Asked> open = start(); !open.empty(); open = take_asked()) {
        for (const Asked& asked : open) {
            node::Payload packed = pack_chunk(chunk_payload(asked.chunk.value()));
            EXPECT_LT(packed.bytes().size(), kLastChunkBytes * 10);
            deliver(asked.donor, asked.chunk, std::move(packed));
        }
    }
    EXPECT_EQ(fetcher_.state_hash(), sha256(manifest_payload().bytes()));
    ASSERT_EQ(fetcher_.outcome(), Outcome::Complete);
    const auto chunks = fetcher_.take_chunks();
    for (std::uint32_t i = 0; i < kChunks; ++i) {
        EXPECT_TRUE(std::ranges::equal(chunks[i].bytes(), chunk_payload(i).bytes())) << i;
    }
}

TEST_F(StateFetcherTest, LeavesADonorWhoseChunkDoesNotUnpack) {
    const auto open = start();
    const node::Payload good = pack_chunk(chunk_payload(*open[0].chunk));
    std::vector<std::byte> damaged(good.bytes().begin(), good.bytes().end());
    damaged.back() ^= std::byte{1};
    deliver(open[0].donor, open[0].chunk, {good.envelope(), std::move(damaged)});
    for (const Asked& asked : take_asked()) {
        EXPECT_NE(asked.donor, open[0].donor);
    }
    EXPECT_EQ(fetcher_.received(), 0U);
    EXPECT_EQ(fetcher_.outcome(), Outcome::Open);
}

TEST_F(StateFetcherTest, LeavesADonorThatSendsAnotherPackedChunk) {
    const auto open = start();
    deliver(
        open[0].donor, open[0].chunk, pack_chunk(chunk_payload(99))
    );  // the size of the shorter chunk
    for (const Asked& asked : take_asked()) {
        EXPECT_NE(asked.donor, open[0].donor);
    }
    EXPECT_EQ(fetcher_.received(), 0U);
}

TEST_F(StateFetcherTest, FetchesEverythingFromTheOtherDonorWhenOneIsLost) {
    auto open = start();
    lose(kFirst);
    std::erase_if(open, [](const Asked& asked) { return asked.donor == kFirst; });
    serve(open);
    expect_complete();
}

TEST_F(StateFetcherTest, TakesTheManifestOfTheOtherDonorAfterAWrongOne) {
    advance();
    const auto asked = take_asked();
    deliver(asked[0].donor, std::nullopt, payload_of(std::vector<std::byte>(32 * kChunks)));
    EXPECT_TRUE(take_asked().empty());
    deliver(asked[1]);
    const auto chunks = take_asked();
    EXPECT_EQ(chunks.size(), protocol::kOpenFetchesMax);
    serve(chunks);
    expect_complete();
}

TEST_F(StateFetcherTest, RefusesAManifestOfAnotherSize) {
    advance();
    const auto asked = take_asked();
    deliver(asked[0].donor, std::nullopt, payload_of(std::vector<std::byte>(31)));
    EXPECT_EQ(fetcher_.outcome(), Outcome::Open);
    lose(asked[1].donor);
    EXPECT_EQ(fetcher_.outcome(), Outcome::Failed);
}

TEST_F(StateFetcherTest, AsksABusyDonorAgainAfterAPause) {
    lose(kSecond);
    advance();
    const Asked asked = take_asked().at(0);
    refuse(asked, true);
    EXPECT_TRUE(take_asked().empty());
    ASSERT_EQ(fetcher_.next_deadline(), kStart + 200ms);
    advance(kStart + 200ms);
    EXPECT_EQ(take_asked().size(), 1U);
    EXPECT_GT(fetcher_.next_deadline(), kStart + 200ms);
}

TEST_F(StateFetcherTest, LeavesADonorThatIsBusyForEver) {
    lose(kSecond);
    TimePoint now = kStart;
    for (int i = 0; i < 200 && fetcher_.outcome() == Outcome::Open; ++i) {
        advance(now);
        for (const Asked& asked : take_asked()) {
            refuse(asked, true, now);
        }
        now += 200ms;
    }
    EXPECT_EQ(fetcher_.outcome(), Outcome::Failed);
}

TEST_F(StateFetcherTest, KeepsADonorThatIsBusyNowAndThen) {
    lose(kSecond);
    std::vector<Asked> open = start();
    TimePoint now = kStart;
    for (int chunk = 0; chunk < 4; ++chunk) {
        for (int again = 0; again < 25; ++again) {
            for (const Asked& asked : open) {
                refuse(asked, true, now);
            }
            now += 200ms;
            advance(now);
            open = take_asked();
            ASSERT_FALSE(open.empty()) << chunk << " " << again;
        }
        deliver(open.front());
        open.erase(open.begin());
        const std::vector<Asked> next = take_asked();
        open.insert(open.end(), next.begin(), next.end());
    }
    serve(open);
    expect_complete();
}

TEST_F(StateFetcherTest, LeavesADonorThatDoesNotHaveTheState) {
    auto open = start();
    const Asked refused = open[0];
    refuse(refused, false);
    for (const Asked& asked : take_asked()) {
        EXPECT_NE(asked.donor, refused.donor);
    }
}

/// Each donor may take 10 s, because all donors share a line.
TEST_F(StateFetcherTest, LeavesADonorThatIsSilentForTenSecondsPerDonor) {
    const auto open = start();
    for (const Asked& asked : open) {
        if (asked.donor == kFirst) {
            deliver(asked);
        }
    }
    std::vector<Asked> rest = take_asked();
    EXPECT_EQ(fetcher_.next_deadline(), kStart + 20s);
    advance(kStart + 19s);
    EXPECT_TRUE(take_asked().empty());
    serve(std::exchange(rest, {}));
    EXPECT_EQ(fetcher_.outcome(), Outcome::Open) << "the silent one owes four";
    advance(kStart + 20s);
    rest = take_asked();
    ASSERT_EQ(rest.size(), protocol::kOpenFetchesMax);
    for (const Asked& asked : rest) {
        EXPECT_EQ(asked.donor, kFirst);
    }
    serve(rest);
    expect_complete();
}

TEST_F(StateFetcherTest, FailsWhenNobodySendsAManifest) {
    TimePoint now = kStart;
    for (int i = 0; i < 100 && fetcher_.outcome() == Outcome::Open; ++i) {
        advance(now);
        now = fetcher_.next_deadline();
    }
    EXPECT_EQ(fetcher_.outcome(), Outcome::Failed);
}

TEST_F(StateFetcherTest, AsksOthersForTheChunksOfADonorWhoseLinkIsDown) {
    auto open = start();
    link_down(kFirst);
    std::erase_if(open, [](const Asked& asked) { return asked.donor == kFirst; });
    for (const Asked& asked : take_asked()) {
        EXPECT_EQ(asked.donor, kSecond);
        open.push_back(asked);
    }
    serve(open);
    expect_complete();
}

TEST_F(StateFetcherTest, GoesOnWithADonorWhoseLinkComesBack) {
    lose(kSecond);
    const auto open = start();
    ASSERT_EQ(open.size(), protocol::kOpenFetchesMax);
    deliver(open[0]);
    link_down(kFirst);
    take_asked();
    EXPECT_EQ(fetcher_.outcome(), Outcome::Open);
    EXPECT_EQ(fetcher_.next_deadline(), kStart + 10s);
    link_up(kFirst, kStart + 9s);
    const auto again = take_asked();
    ASSERT_EQ(again.size(), protocol::kOpenFetchesMax);
    EXPECT_NE(again[0].chunk, open[0].chunk) << "what came is kept";
    serve(again);
    expect_complete();
}

TEST_F(StateFetcherTest, FailsWhenTheOnlyLinkStaysDown) {
    lose(kSecond);
    start();
    link_down(kFirst);
    advance(kStart + 10s);
    EXPECT_EQ(fetcher_.outcome(), Outcome::Failed);
}

TEST_F(StateFetcherTest, AsksADonorAgainThatWasAskedBeforeItsLinkWasUp) {
    advance();
    for (const Asked& asked : take_asked()) {
        if (asked.donor == kFirst) {
            deliver(asked);
        }
    }
    const auto lost = take_asked();
    link_up(kSecond);
    const auto again = take_asked();
    ASSERT_EQ(again.size(), protocol::kOpenFetchesMax);
    for (const Asked& asked : again) {
        EXPECT_EQ(asked.donor, kSecond);
    }
    link_up(kFirst);
    EXPECT_TRUE(take_asked().empty()) << "it has answered, so it was reached";
    serve(lost);
    serve(take_asked());
    expect_complete();
}

TEST_F(StateFetcherTest, FailsOnceNoDonorIsLeft) {
    lose(kFirst);
    EXPECT_EQ(fetcher_.outcome(), Outcome::Open);
    lose(kSecond);
    EXPECT_EQ(fetcher_.outcome(), Outcome::Failed);
    EXPECT_EQ(fetcher_.next_deadline(), kNever);
}

TEST_F(StateFetcherTest, TakesNothingItDidNotAskFor) {
    const auto open = start();
    const PeerId other = open[0].donor == kFirst ? kSecond : kFirst;
    deliver(other, open[0].chunk, chunk_payload(*open[0].chunk));
    deliver(kFirst, kChunks + 5, chunk_payload(0));
    deliver(PeerId{{77}}, 0U, chunk_payload(0));
    EXPECT_EQ(fetcher_.received(), 0U);
}

TEST_F(StateFetcherTest, CountsAChunkOnceThoughItComesTwice) {
    const auto open = start();
    deliver(open[0]);
    deliver(open[0]);
    EXPECT_EQ(fetcher_.received(), 1U);
}

}  // namespace
}  // namespace swarm::run
