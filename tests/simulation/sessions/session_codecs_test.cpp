// Rows between hops are coded as the request says or as the peers choose: the text is that of one
// process with the same codecs, whatever happens to the peers.
#include "tests/simulation/sessions/session_crashes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace sim {
namespace {

using namespace std::chrono_literals;
using enum protocol::CodecId;
using Codecs = std::vector<protocol::RowCodec>;

SessionBedOptions lossy() {
    SessionBedOptions options;
    options.model.takes_any_row = true;
    return options;
}

node::SessionRequest coded_request(
    std::uint64_t number, std::uint32_t tokens, Replay replay, Codecs codecs
) {
    node::SessionRequest request = session_request(number, 5, tokens, replay);
    request.codecs = std::move(codecs);
    return request;
}

TEST(SessionCodecs, GiveTheTextOfOneProcessWithTheSameCodecs) {
    SessionBed bed(lossy());
    const std::vector<Codecs> links{
        {}, {None}, {Int8}, {Bf16}, {Fp16}, {None, Int8}, {Bf16, None, Int8, Int8}};
    for (std::size_t i = 0; i < links.size(); ++i) {
        bed.ask(coded_request(i, 20, i % 2 == 0 ? Replay::Exact : Replay::Fast, links[i]));
    }
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_NE(bed.expected(coded_request(1, 20, Replay::Exact, {Int8})), bed.told(1).tokens);
}

/// A refill sends the bytes that were sent before, so no row is rounded twice or in another way.
TEST(SessionCodecs, SurviveACrashBeforeEveryEvent) {
    const std::size_t exact =
        moves_under_crashes(lossy(), coded_request(1, 10, Replay::Exact, {Int8, Bf16}));
    const std::size_t fast =
        moves_under_crashes(lossy(), coded_request(1, 10, Replay::Fast, {Int8}));
    EXPECT_GT(exact + fast, 50U);
}

TEST(SessionCodecs, CodecsThatCodeSeveralRowsAtOnceAreRefused) {
    SessionBed bed(lossy());
    bed.ask(coded_request(1, 5, Replay::Exact, {Int4}));
    EXPECT_TRUE(bed.run());
    EXPECT_NE(
        bed.told(1).failure.find("coded by one of none, int8, bf16, fp16"), std::string::npos
    );
}

/// Rows as long as those of a real model, each 5 ms of a device, over lines of this rate.
SessionBedOptions with_lines(std::uint64_t bytes_per_s) {
    SessionBedOptions options = lossy();
    options.model.width = 256;
    options.units_per_s = 400;
    options.line_bytes_per_s = bytes_per_s;
    options.kept_bytes_max = 4 << 20;
    return options;
}

constexpr std::uint64_t kFast = 100'000'000;
constexpr std::uint64_t kSlow = 200'000;

/// Makes a request whose prompt is long enough to measure a line.
node::SessionRequest long_request(std::uint64_t number, Codecs codecs, std::uint32_t tokens = 8) {
    node::SessionRequest request = session_request(number, 300, tokens);
    request.codecs = std::move(codecs);
    return request;
}

/// Seconds that `requests` long requests take, one after the other.
double seconds_of(SessionBed& bed, const Codecs& codecs, std::uint64_t requests) {
    const auto begun = bed.world().now();
    for (std::uint64_t number = 1; number <= requests; ++number) {
        bed.ask(long_request(number, codecs, 40));
        EXPECT_TRUE(bed.run(600s));
    }
    EXPECT_EQ(bed.verdict(), "");
    return std::chrono::duration<double>(bed.world().now() - begun).count();
}

using Chosen = std::vector<protocol::CodecId>;

TEST(SessionAuto, AnUnmeasuredLineGetsInt8AndAFastLineThenNone) {
    SessionBedOptions options = with_lines(kFast);
    options.replicas = 1;
    SessionBed bed(options);
    for (std::uint64_t number = 1; number <= 2; ++number) {
        bed.ask(long_request(number, {{}}));
        EXPECT_TRUE(bed.run());
    }
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.told(1).codecs, (Chosen{Int8, Int8}));
    EXPECT_EQ(bed.told(2).codecs, (Chosen{None, None}));
}

TEST(SessionAuto, ASlowLineKeepsInt8) {
    SessionBed bed(with_lines(kSlow));
    for (std::uint64_t number = 1; number <= 4; ++number) {
        bed.ask(long_request(number, {{}}));
        EXPECT_TRUE(bed.run());
        EXPECT_EQ(bed.told(number).codecs, (Chosen{Int8, Int8}));
    }
    EXPECT_EQ(bed.verdict(), "");
}

TEST(SessionAuto, EachLinkHasItsOwnCodec) {
    SessionBedOptions options = with_lines(kFast);
    options.replicas = 1;
    SessionBed bed(options);
    bed.world().set_rates(peer(2), kSlow, 0);
    for (std::uint64_t number = 1; number <= 4; ++number) {
        bed.ask(long_request(number, {{}}));
        EXPECT_TRUE(bed.run());
    }
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.told(4).codecs, (Chosen{None, Int8}));
}

TEST(SessionAuto, AutoOnOneLinkKeepsTheNamedCodecsOfTheOthers) {
    SessionBed bed(with_lines(kSlow));
    bed.ask(long_request(1, {Bf16, std::nullopt}));
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.told(1).codecs, (Chosen{Bf16, Int8}));
}

TEST(SessionAuto, APeerThatIsItsOwnNextHopPassesRowsOnAsTheyAre) {
    SessionBedOptions options = with_lines(kSlow);
    options.replicas = 1;
    SessionBed bed(options);
    node::SessionRequest request = long_request(1, {{}});
    request.path = {0, 1, 1, 2};
    bed.ask(request);
    EXPECT_TRUE(bed.run());
    EXPECT_EQ(bed.verdict(), "");
    EXPECT_EQ(bed.told(1).codecs, (Chosen{Int8, None, Int8}));
}

TEST(SessionAuto, SurvivesACrashBeforeEveryEventOverABridge) {
    SessionBedOptions options = lossy();
    options.members = 2;
    options.stages = 2;
    options.bridged = true;
    const auto request = chain_request(
        coded_request(1, 8, Replay::Exact, {{}}), {{0}, {.member = 1, .bridged = true}}
    );
    EXPECT_GT(moves_under_crashes(options, request), 20U);
}

/// The time includes the first request, which measures the lines.
TEST(SessionAuto, IsNeverMuchSlowerThanTheBestNamedCodec) {
    for (const std::uint64_t rate : {kSlow, 2'000'000UL, 10'000'000UL, kFast}) {
        constexpr std::uint64_t kRequests = 6;
        SessionBed chooses(with_lines(rate));
        const double chosen_s = seconds_of(chooses, {{}}, kRequests);
        double best_s = HUGE_VAL;
        for (const protocol::CodecId named : {None, Int8, Bf16, Fp16}) {
            SessionBed bed(with_lines(rate));
            best_s = std::min(best_s, seconds_of(bed, {named}, kRequests));
        }
        EXPECT_LE(chosen_s, 1.05 * best_s) << rate;
    }
}

/// Half of the peers have a fast line, so the peer after a crash would choose another codec.
TEST(SessionAuto, TheChosenCodecStaysWhoeverServes) {
    std::set<Chosen> met;
    std::size_t moves = 0;
    std::size_t done = 0;
    for (std::uint64_t at = 0; done == 0; ++at) {
        SessionBed bed(with_lines(kFast));
        bed.world().set_rates(peer(1), kSlow, 0);
        bed.world().set_rates(peer(3), kSlow, 0);
        for (std::uint64_t number = 1; number <= 8; ++number) {
            bed.ask(long_request(number, {{}}));
            EXPECT_TRUE(bed.run());
        }
        const std::uint64_t before = bed.world().events();
        bed.ask(long_request(9, {{}}));
        bed.world().run_until([&] { return bed.world().events() >= before + at; }, 60s);
        done = bed.told(9).done ? 1 : 0;
        bed.world().crash(peer(1 + at % 4));
        bed.run();
        ASSERT_EQ(bed.verdict(), "") << "event " << at;
        met.insert(bed.told(9).codecs);
        moves += bed.told(9).moves.size();
    }
    EXPECT_GT(met.size(), 1U);
    EXPECT_GT(moves, 20U);
}

}  // namespace
}  // namespace sim
