#include "swarm/cli/common/client_process.hpp"

#include "swarm/cli/terminal/exit_code.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

/// Tells its reports in its first turn, and dials nobody.
class Teller final : public node::Role {
 public:
    explicit Teller(std::vector<node::Report> reports) : reports_(std::move(reports)) {}

    void on(const node::Event& event, TimePoint, node::Outbox& out) override {
        if (std::holds_alternative<node::Woke>(event)) {
            for (node::Report& report : std::exchange(reports_, {})) {
                out.add(node::Tell{std::move(report)});
            }
        }
    }

    [[nodiscard]] TimePoint next_deadline() const override {
        return reports_.empty() ? kNever : kAtOnce;
    }

 private:
    std::vector<node::Report> reports_;
};

class ClientProcessTest : public testing::Test {
 protected:
    Result<> start(std::vector<node::Report> reports, std::string towards = "127.0.0.1:1") {
        ClientProcess::Options options;
        options.towards = std::move(towards);
        options.on_report = [this](const node::Report& report) { seen_.push_back(report); };
        return process_.start(std::move(options), std::make_unique<Teller>(std::move(reports)));
    }

    Console console_;
    std::vector<node::Report> seen_;
    ClientProcess process_{console_};
};

TEST_F(ClientProcessTest, EndsWithTheExitCodeOfAFailedRole) {
    ASSERT_TRUE(start({node::RunFailed{4, "nobody answers (this line is the test's)"}}));
    process_.run();
    EXPECT_EQ(process_.finish(), 4);
    EXPECT_FALSE(process_.failed()) << "the host is well";
    EXPECT_TRUE(seen_.empty());
}

TEST_F(ClientProcessTest, HandsOtherReportsOn) {
    ASSERT_TRUE(start(
        {node::LogLine{node::LogLine::Level::Debug, "a line"},
         node::TokenGenerated{1, 7},
         node::RunFailed{kRunFailed, "the end (this line is the test's)"}}
    ));
    process_.run();
    EXPECT_EQ(process_.finish(), kRunFailed);
    ASSERT_EQ(seen_.size(), 1U);
    EXPECT_EQ(std::get<node::TokenGenerated>(seen_[0]).token, 7U);
}

TEST_F(ClientProcessTest, EndsWhenALookSaysSo) {
    ASSERT_TRUE(start({node::TokenGenerated{1, 7}}));
    process_.run([this] {
        if (!seen_.empty()) {
            process_.end(kDone);
        }
    });
    EXPECT_TRUE(process_.is_ending());
    EXPECT_EQ(process_.finish(), kDone);
}

TEST_F(ClientProcessTest, ASignalEndsItInOrder) {
    ASSERT_TRUE(start({node::TokenGenerated{1, 7}}));
    bool raised = false;
    process_.run([&] {
        if (!seen_.empty() && !std::exchange(raised, true)) {
            std::raise(SIGINT);
        }
    });
    EXPECT_EQ(process_.finish(), after_signal(SIGINT));
}

TEST_F(ClientProcessTest, RefusesWhatIsNoAddress) {
    EXPECT_FALSE(start({}, "nowhere"));
}

}  // namespace
}  // namespace swarm::cli
