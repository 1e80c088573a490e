// Strangers attack a run that trains, by all that they can send: one of each kind after the other,
// and eight of each kind at once. The run goes on, and its weights are those of one process.
#include "tests/process/attacks/attacker.hpp"
#include "tests/process/attacks/crowd.hpp"
#include "tests/process/train_bed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

class AttacksTest : public TrainBed {
 protected:
    static constexpr int kCheckpointEvery = 50;
    static constexpr std::size_t kLinesPerAttacker = 10;

    /// Starts a run that so many poisoners reach before its first peer.
    void start(int poisoners) {
        run_ = std::make_unique<Program>(
            train(
                {"--model",
                 "oracle",
                 "--stages",
                 "2",
                 "--steps",
                 std::to_string(steps_),
                 "--checkpoint-every",
                 std::to_string(kCheckpointEvery),
                 "--min-peers",
                 "4"}
            ),
            folder.path()
        );
        ASSERT_TRUE(run_->wait_for_text("swarm serve --join", seconds(30))) << run_->err();
        std::vector<std::unique_ptr<Attacker>> attackers;
        for (int i = 0; i < poisoners; ++i) {
            attackers.push_back(
                std::make_unique<Attacker>(port(), Attack::Poison, milliseconds(1000))
            );
        }
        for (const auto& attacker : attackers) {
            attacker->wait();
            EXPECT_GT(attacker->visits(), 0);
        }
        start_peers(4, "5");
        ASSERT_TRUE(run_->wait_for_text("step 3/", seconds(60))) << run_->err();
    }

    [[nodiscard]] std::uint16_t port() const {
        return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    }

    /// The end of the number in each line "step 17/250".
    [[nodiscard]] std::string of_steps() const { return "/" + std::to_string(steps_) + " "; }

    [[nodiscard]] int steps_done() const {
        const std::string err = run_->err();
        const std::size_t end = err.rfind(of_steps());
        const std::size_t at = err.rfind(' ', end);
        return end == std::string::npos ? 0 : std::stoi(err.substr(at + 1));
    }

    /// Lines that do not report a step.
    [[nodiscard]] std::size_t other_lines() const {
        std::size_t count = 0;
        std::istringstream lines(run_->err());
        for (std::string line; std::getline(lines, line);) {
            count += line.find("step ") == std::string::npos ? 1 : 0;
        }
        return count;
    }

    /// Attacks with so many of each of these kinds, for a second.
    void attack(const std::vector<Attack>& kinds, int each) {
        const std::size_t lines_before = other_lines();
        std::vector<std::unique_ptr<Attacker>> attackers;
        for (const Attack kind : kinds) {
            for (int i = 0; i < each; ++i) {
                attackers.push_back(std::make_unique<Attacker>(port(), kind, milliseconds(1000)));
            }
        }
        for (const auto& attacker : attackers) {
            attacker->wait();
            EXPECT_GT(attacker->visits(), 0);
            EXPECT_EQ(attacker->stolen(), 0);
        }
        EXPECT_LE(other_lines() - lines_before, kLinesPerAttacker * attackers.size())
            << run_->err();
        EXPECT_TRUE(wait_for_steps(2)) << run_->err();
    }

    void expect_the_weights_of_one_process() {
        ASSERT_EQ(run_->wait(seconds(200)), 0) << run_->err();
        EXPECT_EQ(weights_of(*run_), single_weights("2", std::to_string(steps_)));
    }

    /// Checkpoints that this process has written.
    [[nodiscard]] int checkpoints() const {
        int count = 0;
        const std::string err = run_->err();
        for (std::size_t at = err.find("wrote "); at != std::string::npos;
             at = err.find("wrote ", at + 1)) {
            ++count;
        }
        return count;
    }

    /// Waits until the run has done so many more steps.
    [[nodiscard]] bool wait_for_steps(int more) const {
        const std::string text = "step " + std::to_string(steps_done() + more) + "/";
        return run_->wait_for_text(text, seconds(10));
    }

    int steps_ = 250;
    std::unique_ptr<Program> run_;
};

/// Identities that one machine brings at once; all of them in the long test.
constexpr std::size_t kWholeCrowd = 1000;

std::size_t crowd_size() {
    return std::getenv("SWARM_WHOLE_CROWD") != nullptr ? kWholeCrowd : 200;
}

TEST_F(AttacksTest, EachKindAloneChangesNothing) {
    start(1);
    for (const Attack kind : kAttacks) {
        SCOPED_TRACE(static_cast<int>(kind));
        attack({kind}, 1);
    }
    expect_the_weights_of_one_process();
    EXPECT_EQ(checkpoints(), steps_ / kCheckpointEvery);
}

TEST_F(AttacksTest, EightOfEachKindAtOnceChangeNothing) {
    start(8);
    attack({std::begin(kAttacks), std::end(kAttacks)}, 8);
    ASSERT_TRUE(run_->wait_for_text("wrote ", seconds(60))) << run_->err();
    run_->signal(SIGKILL);
    ASSERT_EQ(run_->wait(seconds(10)), 128 + SIGKILL);
    run_ = std::make_unique<Program>(train({"--resume"}), folder.path());
    ASSERT_TRUE(run_->wait_for_text(of_steps(), seconds(60))) << run_->err();
    attack({Attack::Steal}, 1);  // now the coordinator has a state to give
    expect_the_weights_of_one_process();
}

// A quarter of the crowd each: idle, with an unfinished frame, with a control stream that it does
// not read, and with a control part that does not end.
TEST_F(AttacksTest, ACrowdCostsLittleMemoryAndANewcomerGetsIn) {
    constexpr std::uint64_t kGrowthMax = 256ULL << 20;
    constexpr std::uint64_t kLeftMax = 32ULL << 20;
    const bool is_long = crowd_size() == kWholeCrowd;
    steps_ = is_long ? 2000 : 500;
    start(0);
    run_->limit_descriptors(1024);
    const std::uint64_t before = run_->memory_bytes();
    Crowd crowd(port(), crowd_size());
    EXPECT_GT(crowd.let_in(), crowd_size() / 2);
    start_peers(1, "5");
    EXPECT_TRUE(peers.back()->wait_for_text("working", seconds(3))) << peers.back()->err();
    std::uint64_t peak = before;
    const auto until = Clock::now() + (is_long ? seconds(60) : seconds(2));
    while (Clock::now() < until && wait_for_steps(5)) {
        peak = std::max(peak, run_->memory_bytes());
    }
    EXPECT_LT(peak, before + kGrowthMax);
    EXPECT_EQ(run_->err().find("silent for"), std::string::npos) << run_->err();
    crowd.leave();
    const auto back_by = Clock::now() + seconds(30);
    while (run_->memory_bytes() >= before + kLeftMax && Clock::now() < back_by && wait_for_steps(5)
    ) {
    }
    const std::uint64_t after = run_->memory_bytes();
    EXPECT_LT(after, before + kLeftMax);
    const auto megabytes = [&](std::uint64_t bytes) {
        return static_cast<std::int64_t>(bytes - before) / (1 << 20);
    };
    std::cout << "crowd of " << crowd_size() << ", " << crowd.let_in()
              << " let in: " << megabytes(peak) << " MB more, then " << megabytes(after)
              << " MB more\n";
    expect_the_weights_of_one_process();
}

}  // namespace
}  // namespace swarm::test
