#include "swarm/net/device/compute_pool.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace swarm::net {
namespace {

constexpr auto kJobPatience = std::chrono::seconds(10);

class CountingJob final : public node::Job {
 public:
    explicit CountingJob(double units, std::function<void()> body = {})
        : units_(units), body_(std::move(body)) {}

    void run() override {
        if (body_) {
            body_();
        }
    }

    [[nodiscard]] double work_units() const override { return units_; }

 private:
    double units_;
    std::function<void()> body_;
};

/// Outcomes of done(), handed to the test's thread.
class Answers {
 public:
    ComputePool::Done done() {
        return [this](JobId job, Duration took) {
            const std::lock_guard lock(mutex_);
            jobs_.push_back(job.value);
            took_.push_back(took);
            changed_.notify_all();
        };
    }

    bool wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kJobPatience, [&] { return jobs_.size() >= count; });
    }

    std::vector<std::uint64_t> jobs_;
    std::vector<Duration> took_;

 private:
    std::mutex mutex_;
    std::condition_variable changed_;
};

std::shared_ptr<node::Job> job(double units, std::function<void()> body = {}) {
    return std::make_shared<CountingJob>(units, std::move(body));
}

TEST(ComputePool, RunsJobsInOrderOnOneThread) {
    Answers answers;
    std::vector<std::thread::id> threads;
    ComputePool pool({}, answers.done(), {});
    for (std::uint64_t id = 1; id <= 20; ++id) {
        pool.submit({{id}, job(1, [&] { threads.push_back(std::this_thread::get_id()); })});
    }
    ASSERT_TRUE(answers.wait_for(20));
    for (std::uint64_t id = 1; id <= 20; ++id) {
        EXPECT_EQ(answers.jobs_[id - 1], id);
        EXPECT_EQ(threads[id - 1], threads[0]);
    }
    EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(ComputePool, PreparesItsThreadBeforeTheFirstJob) {
    Answers answers;
    std::vector<int> order;
    ComputePool::Options options;
    options.on_thread_start = [&] { order.push_back(1); };
    ComputePool pool(options, answers.done(), {});
    pool.submit({{1}, job(1, [&] { order.push_back(2); })});
    ASSERT_TRUE(answers.wait_for(1));
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(ComputePool, RunsAJobWithoutAnAnswerInItsTurn) {
    Answers answers;
    std::vector<int> order;
    ComputePool pool({}, answers.done(), {});
    pool.submit({{1}, job(0, [&] { order.push_back(1); })});
    pool.submit({{2}, job(0, [&] { order.push_back(2); }), false});
    pool.submit({{3}, job(0, [&] { order.push_back(3); })});
    ASSERT_TRUE(answers.wait_for(2));
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(answers.jobs_, (std::vector<std::uint64_t>{1, 3}));
}

TEST(ComputePool, HoldsAJobByItsWorkUnits) {
    Answers answers;
    ComputePool::Options options;
    options.service = std::chrono::milliseconds(20);
    options.units_per_service = 8;
    ComputePool pool(options, answers.done(), {});
    pool.submit({{1}, job(8)});
    pool.submit({{2}, job(16)});
    pool.submit({{3}, job(0)});
    ASSERT_TRUE(answers.wait_for(3));
    EXPECT_GE(answers.took_[0], std::chrono::milliseconds(20));
    EXPECT_GE(answers.took_[1], std::chrono::milliseconds(40));
    EXPECT_LT(answers.took_[2], std::chrono::milliseconds(20));
}

TEST(ComputePool, ShutdownInterruptsAHeldJobAndDropsTheRest) {
    Answers answers;
    ComputePool::Options options;
    options.service = std::chrono::hours(1);
    std::promise<void> started;
    bool second_ran = false;
    {
        ComputePool pool(options, answers.done(), {});
        pool.submit({{1}, job(1, [&] { started.set_value(); })});
        pool.submit({{2}, job(1, [&] { second_ran = true; })});
        ASSERT_EQ(started.get_future().wait_for(kJobPatience), std::future_status::ready);
    }
    EXPECT_TRUE(answers.jobs_.empty());
    EXPECT_FALSE(second_ran);
}

/// Two peers of one process share a device: a job of one peer waits for the job of the other peer,
/// although the first peer's thread is idle.
TEST(ComputePool, SharesADeviceJobByJob) {
    constexpr auto kLongEnough = std::chrono::milliseconds(50);
    ComputePool::Options options;
    options.device = std::make_shared<SharedDevice>();
    Answers answers;
    std::promise<void> first_began;
    std::promise<void> second_began;
    bool together = true;
    ComputePool first(options, answers.done(), {});
    ComputePool second(options, answers.done(), {});
    first.submit({{1}, job(1, [&] {
                      first_began.set_value();
                      const auto seen = second_began.get_future().wait_for(kLongEnough);
                      together = seen == std::future_status::ready;
                  })});
    ASSERT_EQ(first_began.get_future().wait_for(kJobPatience), std::future_status::ready);
    second.submit({{2}, job(1, [&] { second_began.set_value(); })});
    ASSERT_TRUE(answers.wait_for(2));
    EXPECT_FALSE(together);
    EXPECT_EQ(answers.jobs_, (std::vector<std::uint64_t>{1, 2}));
}

TEST(ComputePool, AJobThatLacksMemoryIsTheLastOneAndSaysSo) {
    Answers answers;
    std::promise<std::string> said;
    ComputePool pool({}, answers.done(), [&](std::string reason) {
        said.set_value(std::move(reason));
    });
    pool.submit({{1}, job(1)});
    pool.submit({{2}, job(1, [] { throw std::bad_alloc(); })});
    pool.submit({{3}, job(1)});
    std::future<std::string> reason = said.get_future();
    ASSERT_EQ(reason.wait_for(kJobPatience), std::future_status::ready);
    EXPECT_EQ(reason.get(), "this machine has no memory left for the work that it was given");
    pool.shutdown();
    EXPECT_EQ(answers.jobs_, (std::vector<std::uint64_t>{1}));
}

TEST(ComputePool, ALibrarysErrorIsOneLine) {
    Answers answers;
    std::promise<std::string> said;
    ComputePool pool({}, answers.done(), [&](std::string reason) {
        said.set_value(std::move(reason));
    });
    pool.submit({{1}, job(1, [] { throw std::runtime_error("out of memory\nstack: 1\n2"); })});
    std::future<std::string> reason = said.get_future();
    ASSERT_EQ(reason.wait_for(kJobPatience), std::future_status::ready);
    EXPECT_EQ(reason.get(), "the device failed: out of memory");
}

}  // namespace
}  // namespace swarm::net
