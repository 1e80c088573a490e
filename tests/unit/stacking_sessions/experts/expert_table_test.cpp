// A lender's requests: what is answered, what is refused, and the bounds.
#include "stacking/sessions/experts/expert_table.hpp"

#include "stacking/sessions/experts/expert_rows.hpp"
#include "tests/fuzz/any_experts.hpp"
#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace stacking::sessions {
namespace {

constexpr PeerId kTrunk{{7}};
constexpr std::uint32_t kRowWidth = 4;

/// Holds expert 2 of layers 1 and 2, and doubles each number.
class Doubling final : public ExpertLender {
 public:
    [[nodiscard]] std::uint32_t width() const override { return kRowWidth; }

    [[nodiscard]] bool holds(const LayerExpert& which) const override {
        return which.expert == 2 && (which.layer == 1 || which.layer == 2);
    }

    [[nodiscard]] swarm::Result<std::vector<float>> run(
        const LayerExpert& /*which*/, std::span<const float> rows
    ) override {
        std::vector<float> out(rows.begin(), rows.end());
        for (float& value : out) {
            value *= 2;
        }
        return out;
    }
};

class ExpertTableTest : public testing::Test {
 protected:
    static protocol::ExpertRows request(std::uint32_t rows = 2) {
        return {.request = 5, .weights = digest_of(3), .layer = 1, .expert = 2, .rows = rows};
    }

    static node::Payload payload(std::uint32_t rows, float value = 3) {
        return *to_payload(std::vector<float>(std::size_t{rows} * kRowWidth, value), kRowWidth);
    }

    node::Outbox take(
        const protocol::ExpertRows& rows, const node::Payload& with, PeerId from = kTrunk
    ) {
        node::Outbox out;
        table_.take(from, rows, with, {now_, out});
        return out;
    }

    /// Runs the jobs, and returns what is sent then.
    node::Outbox run(const node::Outbox& jobs) {
        node::Outbox out;
        for (const node::Action& action : jobs.actions) {
            if (const auto* const compute = std::get_if<node::Compute>(&action)) {
                EXPECT_TRUE(ExpertTable::is_its_job(compute->job));
                compute->work->run();
                now_ += std::chrono::milliseconds(10);
                table_.computed(compute->job, {now_, out});
            }
        }
        return out;
    }

    /// Expects a refusal and no work.
    void expect_refused(
        const protocol::ExpertRows& rows, const node::Payload& with, bool busy = false
    ) {
        const node::Outbox out = take(rows, with);
        EXPECT_EQ(out.actions.size(), 1U);
        const auto refused = sent<protocol::ExpertRefused>(out);
        ASSERT_EQ(refused.size(), 1U);
        EXPECT_EQ(refused[0].second.request, rows.request);
        EXPECT_EQ(refused[0].second.busy, busy);
    }

    TimePoint now_{};
    ExpertTable table_{{std::make_shared<Doubling>(), digest_of(3)}};
};

TEST_F(ExpertTableTest, AnswersWithTheOutputs) {
    const node::Outbox out = run(take(request(), payload(2)));
    ASSERT_EQ(sent<protocol::ExpertOutputs>(out).size(), 1U);
    const auto& send = std::get<node::Send>(out.actions.at(0));
    EXPECT_EQ(send.peer, kTrunk);
    EXPECT_EQ(std::get<protocol::ExpertOutputs>(send.message.body).request, 5U);
    EXPECT_EQ(from_payload(send.payload, 2, kRowWidth), std::vector<float>(2 * kRowWidth, 6));
    EXPECT_TRUE(table_.serves(kTrunk));
    EXPECT_GT(table_.rates().decode_per_s, 0);
    table_.lost(kTrunk);
    EXPECT_FALSE(table_.serves(kTrunk));
}

TEST_F(ExpertTableTest, RefusesWhatItDoesNotLend) {
    auto other = request();
    other.weights = digest_of(4);
    expect_refused(other, payload(2));
    other = request();
    other.layer = 3;
    expect_refused(other, payload(2));
    other = request();
    other.expert = 1;
    expect_refused(other, payload(2));
}

TEST_F(ExpertTableTest, RefusesRowsThatAreNone) {
    expect_refused(request(), {});
    expect_refused(request(), payload(3));
    expect_refused(request(256), payload(1));
    const std::vector<float> wide(2 * (kRowWidth + 1), 1);
    expect_refused(request(), *to_payload(wide, kRowWidth + 1));
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> values(2 * kRowWidth, 1);
        values[5] = bad;
        const auto bytes = std::as_bytes(std::span(values));
        expect_refused(
            request(),
            {{protocol::Dtype::Float32, protocol::CodecId::None, {2, kRowWidth}},
             std::vector<std::byte>(bytes.begin(), bytes.end())}
        );
    }
    const node::Payload good = payload(2);
    expect_refused(
        request(),
        {{protocol::Dtype::Float32, protocol::CodecId::Bf16, {2, kRowWidth}},
         std::vector<std::byte>(good.bytes().begin(), good.bytes().end())}
    );
}

TEST_F(ExpertTableTest, RefusesOutputsThatAreNotFinite) {
    const node::Outbox out = run(take(request(), payload(2, 3e38F)));
    ASSERT_EQ(sent<protocol::ExpertRefused>(out).size(), 1U);
    EXPECT_FALSE(sent<protocol::ExpertRefused>(out)[0].second.busy);
}

TEST_F(ExpertTableTest, IsBusyWithSixteenRequestsOfOneSender) {
    node::Outbox jobs;
    for (std::size_t i = 0; i < protocol::kExpertCallsPerPeerMax; ++i) {
        node::Outbox out = take(request(), payload(2));
        EXPECT_TRUE(sent<protocol::ExpertRefused>(out).empty());
        jobs.actions.push_back(std::move(out.actions.at(0)));
    }
    expect_refused(request(), payload(2), true);
    EXPECT_TRUE(sent<protocol::ExpertRefused>(take(request(), payload(2), PeerId{{8}})).empty());
    run(jobs);
    EXPECT_TRUE(sent<protocol::ExpertRefused>(take(request(), payload(2))).empty());
}

TEST_F(ExpertTableTest, IsBusyWithRequestsOfManySenders) {
    std::size_t taken = 0;
    for (std::uint64_t peer = 1; peer <= 40; ++peer) {
        for (std::size_t i = 0; i < protocol::kExpertCallsPerPeerMax; ++i) {
            taken +=
                sent<protocol::ExpertRefused>(take(request(), payload(2), PeerId{{peer}})).empty()
                    ? 1
                    : 0;
        }
    }
    EXPECT_EQ(taken, protocol::kExpertCallsMax);
}

}  // namespace
}  // namespace stacking::sessions
