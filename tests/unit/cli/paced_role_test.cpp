#include "swarm/cli/common/paced_role.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

class CountingJob final : public node::Job {
 public:
    explicit CountingJob(double units) : units_(units) {}

    void run() override { ++runs; }

    [[nodiscard]] double work_units() const override { return units_; }

    int runs = 0;

 private:
    double units_;
};

/// A role that gives out one job per turn.
class Worker final : public node::Role {
 public:
    explicit Worker(std::shared_ptr<node::Job> job) : job_(std::move(job)) {}

    void on(const node::Event&, TimePoint, node::Outbox& out) override {
        out.add(node::Load{});
        out.add(node::Compute{{5}, job_});
    }

    [[nodiscard]] TimePoint next_deadline() const override { return TimePoint(Duration(42)); }

 private:
    std::shared_ptr<node::Job> job_;
};

TEST(PacedRole, CountsWorkInForwards) {
    const auto job = std::make_shared<CountingJob>(2048);
    const auto forward = std::make_shared<double>(0);
    PacedRole role(forward);
    role.wrap(std::make_unique<Worker>(job));
    *forward = 1024;  // the size is known only after a first turn
    node::Outbox out;
    role.on(node::Woke{}, kAtOnce, out);
    ASSERT_EQ(out.actions.size(), 2U);
    const auto& compute = std::get<node::Compute>(out.actions[1]);
    EXPECT_EQ(compute.job, JobId{5});
    EXPECT_EQ(compute.work->work_units(), 2.0);
    compute.work->run();
    EXPECT_EQ(job->runs, 1);
}

TEST(PacedRole, HoldsNothingBeforeItKnowsTheStage) {
    PacedRole role(std::make_shared<double>(0));
    role.wrap(std::make_unique<Worker>(std::make_shared<CountingJob>(7)));
    node::Outbox out;
    role.on(node::Woke{}, kAtOnce, out);
    EXPECT_EQ(std::get<node::Compute>(out.actions[1]).work->work_units(), 0.0);
}

TEST(PacedRole, LeavesActionsOfEarlierTurnsAlone) {
    const auto forward = std::make_shared<double>(2);
    PacedRole role(forward);
    role.wrap(std::make_unique<Worker>(std::make_shared<CountingJob>(8)));
    node::Outbox out;
    role.on(node::Woke{}, kAtOnce, out);
    role.on(node::Woke{}, kAtOnce, out);
    EXPECT_EQ(std::get<node::Compute>(out.actions[1]).work->work_units(), 4.0);
    EXPECT_EQ(role.next_deadline(), TimePoint(Duration(42)));
}

}  // namespace
}  // namespace swarm::cli
