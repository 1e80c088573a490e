// A host keeps to the limits of its options. rate_limit_test.cpp has the arithmetic.
#include "swarm/net/host.hpp"
#include "swarm/net/link.hpp"
#include "tests/unit/net/host_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::net {
namespace {

constexpr std::uint64_t kRate = 2'000'000;
constexpr std::size_t kChunks = 10;
constexpr std::size_t kChunkBytes = 100'000;
/// Time that the chunks take at the rate, without the first of them and the burst.
constexpr auto kAtLeast = std::chrono::milliseconds(430);

/// Notes when chunks came, and how many had come before the first heartbeat.
struct Arrivals {
    std::vector<TimePoint> chunks;
    std::optional<std::size_t> before_heartbeat;

    [[nodiscard]] Duration took() const { return chunks.back() - chunks.front(); }
};

class Receiver final : public node::Role {
 public:
    explicit Receiver(Arrivals& arrivals) : arrivals_(arrivals) {}

    void on(const node::Event& event, TimePoint, node::Outbox&) override {
        const auto* const received = std::get_if<node::Received>(&event);
        if (received == nullptr) {
            return;
        }
        if (std::holds_alternative<protocol::Chunk>(received->message.body)) {
            arrivals_.chunks.push_back(clock_now());
        } else if (!arrivals_.before_heartbeat) {
            arrivals_.before_heartbeat = arrivals_.chunks.size();
        }
    }

    [[nodiscard]] TimePoint next_deadline() const override { return kNever; }

 private:
    Arrivals& arrivals_;
};

/// Dials on both lanes. When both are up, it sends the chunks, and then a heartbeat.
class Sender final : public node::Role {
 public:
    explicit Sender(std::string address) : address_(std::move(address)) {}

    void on(const node::Event& event, TimePoint, node::Outbox& out) override {
        if (!dialed_) {
            dialed_ = true;
            out.add(node::Dial{{}, node::Lane::Control, address_});
            out.add(node::Dial{{}, node::Lane::Bulk, address_});
        }
        const auto* const up = std::get_if<node::LinkUp>(&event);
        if (up == nullptr || ++links_ < 2) {
            return;
        }
        protocol::TensorEnvelope envelope;
        envelope.shape = {static_cast<std::uint32_t>(kChunkBytes)};
        const node::Payload payload(envelope, std::vector<std::byte>(kChunkBytes));
        for (std::size_t i = 0; i < kChunks; ++i) {
            out.add(node::Send{up->peer, {0, 0, protocol::Chunk{}}, payload});
        }
        out.add(node::Send{up->peer, {0, 0, protocol::Heartbeat{}}, {}});
    }

    [[nodiscard]] TimePoint next_deadline() const override { return dialed_ ? kNever : kAtOnce; }

 private:
    std::string address_;
    bool dialed_ = false;
    int links_ = 0;
};

HostOptions sending_at(std::uint64_t bytes_per_s) {
    HostOptions options;
    options.send_limit = std::make_shared<RateLimit>(bytes_per_s);
    return options;
}

HostOptions receiving_at(std::uint64_t bytes_per_s) {
    HostOptions options;
    options.receive_limit = std::make_shared<RateLimit>(bytes_per_s);
    return options;
}

class LimitedHostTest : public HostTest {
 protected:
    /// Makes a sender and a receiver with these options; `receiver_` listens.
    void connect(HostOptions from, HostOptions to) {
        to.listen_address = "127.0.0.1";
        receiver_ = make_host("server", std::make_unique<Receiver>(arrivals_), to);
        const Result<std::uint16_t> port = receiver_->listen();
        ASSERT_TRUE(port.has_value()) << port.error().detail;
        receiver_->start();
        const std::string address = "127.0.0.1:" + std::to_string(*port);
        sender_ = make_host("sender", std::make_unique<Sender>(address), from);
        sender_->start();
    }

    [[nodiscard]] bool run_until_chunks(std::size_t count) {
        return loop_.run_until([&] { return arrivals_.chunks.size() >= count; }, kPatience);
    }

    Arrivals arrivals_;
    std::unique_ptr<Host> receiver_;
    std::unique_ptr<Host> sender_;
};

TEST_F(LimitedHostTest, SendsNoFasterThanItMay) {
    connect(sending_at(kRate), {});
    ASSERT_TRUE(run_until_chunks(kChunks));
    EXPECT_GE(arrivals_.took(), kAtLeast);
    ASSERT_TRUE(arrivals_.before_heartbeat.has_value());
    EXPECT_LT(*arrivals_.before_heartbeat, kChunks / 2);  // the control lane did not wait
}

TEST_F(LimitedHostTest, ReceivesNoFasterThanItMay) {
    connect({}, receiving_at(kRate));
    ASSERT_TRUE(run_until_chunks(kChunks));
    EXPECT_GE(arrivals_.took(), kAtLeast);
    ASSERT_TRUE(arrivals_.before_heartbeat.has_value());
    EXPECT_LT(*arrivals_.before_heartbeat, kChunks / 2);
}

TEST_F(LimitedHostTest, EndsAtOnceWhileALinkWaitsForItsTurn) {
    connect(sending_at(kLimitedBytesPerSMin), {});
    ASSERT_TRUE(loop_.run_until([&] { return arrivals_.before_heartbeat.has_value(); }, kPatience));
    sender_->kill();  // its first chunk would take 12 s
    EXPECT_TRUE(loop_.run_until([&] { return sender_->finished(); }, std::chrono::seconds(3)));
}

}  // namespace
}  // namespace swarm::net
