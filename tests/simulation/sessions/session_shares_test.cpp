// The sessions that peers of unequal speed get from many clients, each with one session at a time:
// by the rates that the peers measure, with one peer that lies, and with peers that tell no rate.
// Bound: the maximum flow; here both stages can do 800 tokens per second.
#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <vector>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kClients = 256;
constexpr std::uint64_t kReplicas = 4;
constexpr double kMaxFlow = 800;

/// Rows per second of a stage's replicas, times its three layers: 100, 100, 200, 400 rows.
const std::vector<double> kUnequal{300, 300, 600, 1200};
const std::vector<double> kIdeal{0.125, 0.125, 0.25, 0.5};

SessionBedOptions crowd(std::uint64_t seed) {
    SessionBedOptions options;
    options.stages = 2;
    options.replicas = kReplicas;
    options.unequal = kUnequal;
    options.clients = kClients;
    options.budget_positions = 1 << 20;
    options.seed = seed;
    return options;
}

Lie say(double rate) {
    return [rate](protocol::Body& body) {
        if (auto* registration = std::get_if<protocol::Register>(&body)) {
            registration->rates = {rate, rate};
        }
    };
}

/// Runs sessions that make each peer measure its rate.
std::uint64_t warm_up(SessionBed& bed) {
    std::uint64_t requests = 0;
    bed.world().run_for(3s);
    while (requests < 4 * kReplicas) {
        bed.ask(session_request(++requests, 4, 20));
    }
    EXPECT_TRUE(bed.run());
    bed.world().run_for(5s);
    return requests;
}

/// Part of the sessions at each replica of stage 0, when each client has placed one session.
std::vector<double> shares_of(const SessionBedOptions& options) {
    constexpr std::uint32_t kLong = 2000;
    SessionBed bed(options);
    std::uint64_t requests = warm_up(bed);
    for (std::uint64_t client = 0; client < kClients; ++client) {
        bed.ask(session_request(++requests, 4, kLong), client);
    }
    bed.world().run_for(10s);
    std::vector<double> shares;
    for (std::uint64_t replica = 0; replica < kReplicas; ++replica) {
        const auto positions = static_cast<double>(bed.reserved(peer(1 + replica)));
        shares.push_back(positions / (kClients * (4.0 + kLong)));
    }
    return shares;
}

/// Rows per second when many clients work at the same time. Each has one session and knows only the
/// directory's list; a new client replaces it afterwards.
double rows_per_s(const SessionBedOptions& options) {
    constexpr std::uint32_t kPrompt = 4;
    constexpr std::uint32_t kTokensOfShares = 25;
    constexpr std::uint32_t kRows =
        kPrompt + kTokensOfShares - 1;  // the last row of the prompt gives a token, too
    constexpr std::uint32_t kMeasured_s = 60;
    SessionBed bed(options);
    std::uint64_t requests = warm_up(bed);
    std::vector<std::uint64_t> asked(kClients);
    const TimePoint measured = bed.world().now() + 20s;
    std::uint64_t rows = 0;
    while (bed.world().now() < measured + std::chrono::seconds(kMeasured_s)) {
        for (std::uint64_t client = 0; client < kClients; ++client) {
            if (asked[client] != 0 && !bed.told(asked[client]).done) {
                continue;
            }
            if (asked[client] != 0) {
                rows += bed.world().now() > measured ? kRows : 0;
                bed.replace_client(client);
            }
            asked[client] = ++requests;
            bed.ask(session_request(requests, kPrompt, kTokensOfShares), client);
        }
        bed.world().run_for(10ms);
    }
    return static_cast<double>(rows) / kMeasured_s;
}

TEST(SessionShares, AreThoseOfTheMaximumFlow) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const std::vector<double> shares = shares_of(crowd(seed));
        std::printf("%.3f %.3f %.3f %.3f\n", shares[0], shares[1], shares[2], shares[3]);
        for (std::size_t i = 0; i < kReplicas; ++i) {
            EXPECT_NEAR(shares[i], kIdeal[i], 0.09)
                << i;  // three standard deviations of these draws
        }
    }
}

TEST(SessionShares, CarryTheMaximumFlow) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const double measured = rows_per_s(crowd(seed)) / kMaxFlow;
        SessionBedOptions options = crowd(seed);
        options.liar = SessionBedOptions::kAll;
        options.lie = say(0);
        const double silent = rows_per_s(options) / kMaxFlow;
        std::printf("of max-flow: %.3f, where nobody says his rate %.3f\n", measured, silent);
        EXPECT_GE(measured, 0.95);
        EXPECT_GT(measured, silent);
    }
}

TEST(SessionShares, ALiarsShareIsBounded) {
    constexpr double kMax = router::SessionRouter::kClaimMax;
    for (const double lie : {1e9, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
        SessionBedOptions options = crowd(4);
        options.unequal = std::vector<double>(kReplicas, 600);
        options.liar = 1;
        options.lie = say(lie);
        const double share = shares_of(options)[0];
        std::printf("a liar says %g: share %.3f\n", lie, share);
        EXPECT_LT(share, kMax / (kMax + kReplicas - 1) + 0.09);
        EXPECT_GT(share, 0.1);
    }
}

}  // namespace
}  // namespace sim
