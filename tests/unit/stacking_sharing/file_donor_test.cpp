#include "stacking/sharing/file_donor.hpp"

#include "tests/unit/stacking_sharing/bench.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace stacking::sharing {
namespace {

using namespace std::chrono_literals;
using protocol::FileChunk;
using protocol::FileFetch;
using protocol::FileRefused;
using protocol::FilesAsk;
using protocol::FilesTold;

constexpr PeerId kAsker{{1}};
constexpr PeerId kOther{{2}};

class FileDonorTest : public testing::Test {
 protected:
    FileDonorTest() {
        FileShelf shelf;
        shelf.prepare = [this]() -> swarm::Result<std::optional<ManifestName>> {
            if (fails) {
                return swarm::Error{
                    swarm::ErrorCode::Unsupported, swarm::Reaction::Reject, "not given"};
            }
            if (--pieces > 0) {
                return std::optional<ManifestName>();
            }
            return std::optional(ManifestName{digest_of(5), 100, 50});
        };
        shelf.read = [](bool, std::uint32_t chunk) -> swarm::Result<std::vector<std::byte>> {
            if (chunk == 49) {
                return swarm::Error{
                    swarm::ErrorCode::NotFound, swarm::Reaction::RetryElsewhere, "a hole"};
            }
            return chunk_bytes(chunk);
        };
        donor.emplace(digest_of(1), shelf);
    }

    /// Gives the message, and begins what may begin.
    template <class Body>
    void take(PeerId from, const Body& body) {
        const node::Turn turn{now, out};
        donor->take(from, body, turn);
        donor->advance(beside_sessions, turn);
    }

    void advance() { donor->advance(beside_sessions, {now, out}); }

    /// Runs the job that was submitted last and not run, if there is one.
    bool compute() {
        for (const node::Action& action : std::vector<node::Action>(out.actions)) {
            const auto* work = std::get_if<node::Compute>(&action);
            if (work != nullptr && work->job.value > computed) {
                computed = work->job.value;
                work->work->run();
                donor->computed(work->job, {now, out});
                advance();
                return true;
            }
        }
        return false;
    }

    void know_manifest() {
        take(kAsker, FilesAsk{digest_of(1)});
        while (compute()) {
        }
        out.actions.clear();
    }

    FileFetch fetch(std::uint32_t chunk) { return {digest_of(5), false, chunk}; }

    std::optional<FileDonor> donor;
    node::Outbox out;
    TimePoint now{1s};
    int pieces = 3;
    bool fails = false;
    bool beside_sessions = false;
    std::uint64_t computed = 0;
};

TEST_F(FileDonorTest, MakesItsManifestInPiecesWhenSomebodyAsks) {
    advance();
    EXPECT_FALSE(compute());
    take(kAsker, FilesAsk{digest_of(1)});
    EXPECT_TRUE(compute());
    EXPECT_TRUE(compute());
    EXPECT_TRUE(sent<FilesTold>(out).empty());
    take(kOther, FilesAsk{digest_of(1)});
    EXPECT_TRUE(compute());
    EXPECT_FALSE(compute());
    const auto told = sent<FilesTold>(out);
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[0].second, (FilesTold{digest_of(1), digest_of(5), 100}));
}

TEST_F(FileDonorTest, TellsThatItGivesNothing) {
    take(kAsker, FilesAsk{digest_of(9)});
    ASSERT_EQ(sent<FilesTold>(out).size(), 1U);  // another model
    EXPECT_EQ(sent<FilesTold>(out)[0].second.manifest_bytes, 0U);
    fails = true;
    take(kAsker, FilesAsk{digest_of(1)});
    compute();
    ASSERT_EQ(sent<FilesTold>(out).size(), 2U);
    EXPECT_EQ(sent<FilesTold>(out)[1].second.manifest_bytes, 0U);
}

TEST_F(FileDonorTest, GivesChunksOfItsManifestAndOfNoOther) {
    take(kAsker, fetch(7));
    EXPECT_EQ(sent<FileRefused>(out).size(), 1U);  // it has no manifest yet
    know_manifest();
    take(kAsker, fetch(7));
    ASSERT_TRUE(compute());
    const auto chunks = sent<FileChunk>(out);
    ASSERT_EQ(chunks.size(), 1U);
    EXPECT_EQ(chunks[0].first, kAsker);
    EXPECT_EQ(chunks[0].second, (FileChunk{digest_of(5), false, 7}));
    out.actions.clear();
    take(kAsker, FileFetch{digest_of(6), false, 7});
    take(kAsker, fetch(50));                         // behind the last chunk
    take(kAsker, FileFetch{digest_of(5), true, 1});  // the manifest has 100 bytes
    take(kAsker, fetch(49));                         // a hole
    compute();
    const auto refused = sent<FileRefused>(out);
    ASSERT_EQ(refused.size(), 4U);
    for (const auto& [peer, refusal] : refused) {
        EXPECT_FALSE(refusal.busy);
    }
}

TEST_F(FileDonorTest, RefusesMoreThanFourRequestsOfAPeerAndSixteenOfAll) {
    know_manifest();
    for (std::uint32_t chunk = 0; chunk < 6; ++chunk) {
        take(kAsker, fetch(chunk));
    }
    const auto refused = sent<FileRefused>(out);
    ASSERT_EQ(refused.size(), 2U);
    EXPECT_TRUE(refused[0].second.busy);
    EXPECT_EQ(refused[0].second.chunk, 4U);
    for (std::uint64_t peer = 10; peer < 30; ++peer) {
        take({{peer}}, fetch(0));
    }
    // One of the requests is being read; the others wait.
    EXPECT_EQ(sent<FileRefused>(out).size() - 2, 20 - (FileDonor::kWaitingMax - 3));
}

TEST_F(FileDonorTest, LetsTheRowsOfSessionsPassBetweenChunks) {
    know_manifest();
    beside_sessions = true;
    take(kAsker, fetch(0));
    take(kAsker, fetch(1));
    EXPECT_TRUE(compute());
    EXPECT_FALSE(compute());
    EXPECT_EQ(donor->next_deadline(), now + FileDonor::kPauseBesideSessions);
    now += FileDonor::kPauseBesideSessions;
    advance();
    EXPECT_TRUE(compute());
    EXPECT_EQ(sent<FileChunk>(out).size(), 2U);
}

TEST_F(FileDonorTest, SendsNothingToAPeerThatIsGone) {
    know_manifest();
    take(kAsker, fetch(0));
    take(kAsker, fetch(1));
    take(kOther, fetch(2));
    EXPECT_TRUE(donor->serves(kAsker));
    donor->lost(kAsker);
    while (compute()) {
    }
    const auto chunks = sent<FileChunk>(out);
    ASSERT_EQ(chunks.size(), 2U);  // the first was being read
    EXPECT_EQ(chunks[1].first, kOther);
    EXPECT_FALSE(donor->serves(kAsker));
}

}  // namespace
}  // namespace stacking::sharing
