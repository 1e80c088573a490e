// The waiting time of an M/M/1 queue: arrivals and services are exponential, and one device serves.
// Source: the mean wait before service is rho / (mu - lambda) (Erlang; any text on queues).
#include "tests/golden/parts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <memory>

namespace sim::golden {
namespace {

constexpr double kServedPerS = 100;

struct Waits {
    double sum_s = 0;
    std::uint64_t served = 0;

    [[nodiscard]] double mean_s() const { return sum_s / static_cast<double>(served); }
};

/// Gives its device a job at each arrival; the device's line is the queue.
class Customers final : public node::Role {
 public:
    Customers(double arrive_per_s, std::shared_ptr<Waits> waits)
        : arrive_per_s_(arrive_per_s), waits_(std::move(waits)) {}

    [[nodiscard]] TimePoint next_deadline() const override { return next_; }

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override {
        if (const auto* computed = std::get_if<node::Computed>(&event)) {
            waits_->sum_s += seconds(now - computed->took - arrivals_.front());
            ++waits_->served;
            arrivals_.pop_front();
        } else if (std::holds_alternative<node::Woke>(event)) {
            arrivals_.push_back(now);
            const double work = exponential();
            out.add(node::Compute{{++jobs_}, std::make_shared<Work>(work)});
            next_ = now + Duration(std::llround(exponential() / arrive_per_s_ * 1e9) + 1);
        }
    }

 private:
    /// Draws an exponential time of mean 1.
    double exponential() { return -std::log(1 - rng_.unit()); }

    double arrive_per_s_;
    std::shared_ptr<Waits> waits_;
    swarm::Rng rng_{20, 11};
    TimePoint next_ = swarm::kAtOnce;
    std::deque<TimePoint> arrivals_;
    std::uint64_t jobs_ = 0;
};

double mean_wait_s(double utilisation, std::uint64_t customers) {
    World world(World::Options{});
    const auto waits = std::make_shared<Waits>();
    PeerOptions machine;
    machine.device.units_per_s = kServedPerS;
    world.add_peer(
        peer(1),
        [&](swarm::Incarnation) {
            return std::make_unique<Customers>(utilisation * kServedPerS, waits);
        },
        machine
    );
    while (waits->served < customers && world.step()) {
    }
    return waits->mean_s();
}

TEST(GoldenQueue, WaitingTimeOfMM1WithinOnePercent) {
    // With so many customers the standard error is below 0.35 % of the mean.
    for (const auto& [rho, customers] : {std::pair{0.3, 3'000'000U}, std::pair{0.5, 3'000'000U}}) {
        const double expected_s = rho / (kServedPerS - rho * kServedPerS);
        const double measured_s = mean_wait_s(rho, customers);
        std::printf(
            "rho %.1f: %.3f ms, %.3f ms expected\n", rho, measured_s * 1e3, expected_s * 1e3
        );
        EXPECT_NEAR(measured_s, expected_s, 0.01 * expected_s);
    }
}

}  // namespace
}  // namespace sim::golden
