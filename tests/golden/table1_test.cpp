// SWARM's table 1, reproduced with a simulated trainer, link and device:
// sim/golden/swarm_table1.csv.
#include "tests/golden/remote_stage.hpp"
#include "tests/golden/table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace sim::golden {
namespace {

constexpr const char* kTable = "sim/golden/swarm_table1.csv";
constexpr double kUnhiddenRoundTrips = 1.4;
constexpr double kCrossings = 4;  // crossings of the link per microbatch
constexpr const char* kRoundTripsMs[] = {"0", "10", "50", "100", "200"};

double simulated_percent(const Table& table, std::size_t column, double rtt_ms, unsigned window) {
    RemoteStageOptions options;
    options.compute_s = table.at("compute_ms", column) / 1e3;
    options.unhidden_s = table.at("unhidden_ms", column) / 1e3;
    options.one_way = Duration(std::llround(rtt_ms * kUnhiddenRoundTrips / kCrossings * 1e6));
    options.in_flight = window;
    return 100 * utilisation(options);
}

TEST(GoldenTable1, TwentyCellsWithinThreePointsWithOneInFlight) {
    const Table table = read_table(kTable);
    ASSERT_EQ(table.columns().size(), 4U);
    std::printf("SWARM table 1, simulated / second-hand figures, %% of the time:\n");
    for (const char* rtt_ms : kRoundTripsMs) {
        std::printf("%4s ms", rtt_ms);
        for (std::size_t column = 0; column < table.columns().size(); ++column) {
            const double simulated = simulated_percent(table, column, std::stod(rtt_ms), 1);
            const double published = table.at(rtt_ms, column);
            std::printf("  %6.2f / %5.2f", simulated, published);
            EXPECT_NEAR(simulated, published, 3.0) << table.columns()[column] << " " << rtt_ms;
        }
        std::printf("\n");
    }
}

TEST(GoldenTable1, EnoughInFlightHidesARoundTripOf200Ms) {
    const Table table = read_table(kTable);
    for (std::size_t column = 0; column < table.columns().size(); ++column) {
        const double simulated = simulated_percent(table, column, 200, 32);
        const double without_latency = table.at("0", column);
        std::printf(
            "%s, 32 in flight, 200 ms: %.2f %%, %.2f without latency (second-hand figure)\n",
            table.columns()[column].c_str(),
            simulated,
            without_latency
        );
        EXPECT_NEAR(simulated, without_latency, 2.0);
    }
}

}  // namespace
}  // namespace sim::golden
