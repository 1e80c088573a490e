#include "stacking/sharing/file_fetcher.hpp"

#include "tests/unit/stacking_sharing/bench.hpp"

#include <gtest/gtest.h>

namespace stacking::sharing {
namespace {

using namespace std::chrono_literals;
using protocol::FileChunk;
using protocol::FileFetch;
using protocol::FileRefused;
using Pace = FileFetcher::Pace;

constexpr std::uint32_t kChunks = 40;

std::vector<swarm::Digest> hashes() {
    std::vector<swarm::Digest> hashes;
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
        hashes.push_back(swarm::sha256(chunk_bytes(chunk)));
    }
    return hashes;
}

class FileFetcherTest : public testing::Test {
 protected:
    void want(std::uint32_t count) {
        std::vector<std::uint32_t> chunks(count);
        for (std::uint32_t chunk = 0; chunk < count; ++chunk) {
            chunks[chunk] = chunk;
        }
        fetcher.want(chunks);
    }

    /// The requests of one advance().
    std::vector<std::pair<PeerId, FileFetch>> asked(Pace pace = Pace::Ask) {
        node::Outbox out;
        fetcher.advance(pace, {now, out});
        return sent<FileFetch>(out);
    }

    bool give(PeerId from, std::uint32_t chunk, std::vector<std::byte> bytes) {
        return fetcher.take(from, FileChunk{digest_of(5), false, chunk}, bytes, now);
    }

    bool give(PeerId from, std::uint32_t chunk) { return give(from, chunk, chunk_bytes(chunk)); }

    FileFetcher fetcher{digest_of(5), hashes()};
    TimePoint now{1s};
};

TEST_F(FileFetcherTest, AsksFourDonorsForFourChunksEach) {
    want(kChunks);
    for (std::uint64_t donor = 1; donor <= 6; ++donor) {
        fetcher.donor_up({{donor}});
    }
    const auto requests = asked();
    ASSERT_EQ(requests.size(), FileFetcher::kDonorsAtOnce * protocol::kOpenFetchesMax);
    std::set<std::uint32_t> chunks;
    for (const auto& [donor, fetch] : requests) {
        EXPECT_LE(donor.words[0], 4U);
        chunks.insert(fetch.chunk);
    }
    EXPECT_EQ(chunks.size(), requests.size());
    EXPECT_TRUE(asked().empty());
    EXPECT_TRUE(give({{1}}, 0));
    EXPECT_EQ(asked().size(), 1U);  // the donor that has answered gets it
}

TEST_F(FileFetcherTest, EndsWhenAllThatIsWantedHasCome) {
    want(2);
    fetcher.donor_up({{1}});
    EXPECT_EQ(asked().size(), 2U);
    EXPECT_TRUE(give({{1}}, 1));
    EXPECT_FALSE(give({{1}}, 1));  // again
    EXPECT_FALSE(fetcher.is_complete());
    EXPECT_TRUE(give({{1}}, 0));
    EXPECT_TRUE(fetcher.is_complete());
    EXPECT_EQ(fetcher.next_deadline(), swarm::kNever);
}

TEST_F(FileFetcherTest, AsksALiarNoMoreAndOthersForWhatItOwes) {
    want(3);
    fetcher.donor_up({{1}});
    EXPECT_EQ(asked().size(), 3U);
    EXPECT_FALSE(give({{1}}, 0, chunk_bytes(1)));
    EXPECT_TRUE(fetcher.is_liar({{1}}));
    EXPECT_FALSE(give({{1}}, 1));
    fetcher.donor_up({{1}});  // a new link makes no honest peer of it
    EXPECT_TRUE(asked().empty());
    fetcher.donor_up({{2}});
    EXPECT_EQ(asked().size(), 3U);
}

TEST_F(FileFetcherTest, TakesNothingThatItDidNotAskFor) {
    want(1);
    fetcher.donor_up({{1}});
    fetcher.donor_up({{2}});
    EXPECT_EQ(asked().size(), 1U);
    EXPECT_FALSE(give({{2}}, 0));
    EXPECT_FALSE(give({{1}}, 7));
    EXPECT_FALSE(fetcher.is_liar({{2}}));
    EXPECT_TRUE(give({{1}}, 0));
}

TEST_F(FileFetcherTest, ADonorThatIsSilentRestsAndOthersGiveWhatItOwes) {
    want(1);
    fetcher.donor_up({{1}});
    EXPECT_EQ(asked().size(), 1U);
    fetcher.donor_up({{2}});
    EXPECT_TRUE(asked().empty());
    ASSERT_EQ(fetcher.next_deadline(), now + FileFetcher::kAnswerWithin);
    now += FileFetcher::kAnswerWithin;
    const auto requests = asked();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(requests[0].first, (PeerId{{2}}));
    EXPECT_FALSE(give({{1}}, 0));  // too late: another one owes it
    fetcher.donor_down({{2}});
    EXPECT_TRUE(asked().empty());
    now += FileFetcher::kRest;
    EXPECT_EQ(asked().size(), 1U);
}

TEST_F(FileFetcherTest, WaitsForABusyDonor) {
    want(1);
    fetcher.donor_up({{1}});
    asked();
    fetcher.take({{1}}, FileRefused{digest_of(5), false, 0, true}, now);
    EXPECT_TRUE(asked().empty());
    now = fetcher.next_deadline();
    EXPECT_EQ(asked().size(), 1U);
}

TEST_F(FileFetcherTest, AsksOthersForAChunkThatADonorLacks) {
    want(2);
    fetcher.donor_up({{1}});
    asked();
    fetcher.take({{1}}, FileRefused{digest_of(5), false, 0, false}, now);
    EXPECT_TRUE(asked().empty());
    fetcher.donor_up({{2}});
    const auto requests = asked();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(requests[0].second.chunk, 0U);
    EXPECT_EQ(requests[0].first, (PeerId{{2}}));
}

TEST_F(FileFetcherTest, AsksAgainWhatAllDonorsLacked) {
    want(1);
    fetcher.donor_up({{1}});
    asked();
    fetcher.take({{1}}, FileRefused{digest_of(5), false, 0, false}, now);
    EXPECT_TRUE(asked().empty());
    ASSERT_NE(fetcher.next_deadline(), swarm::kNever);
    now = fetcher.next_deadline();
    EXPECT_EQ(asked().size(), 1U);
}

TEST_F(FileFetcherTest, HoldsItsQuestionsWhileTheDiskIsBehind) {
    want(1);
    fetcher.donor_up({{1}});
    EXPECT_TRUE(asked(Pace::Hold).empty());
    EXPECT_EQ(asked().size(), 1U);
}

}  // namespace
}  // namespace stacking::sharing
