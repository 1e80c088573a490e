// Whoever answers a dial is looked at before he is told anything: the Hello carries the proof of
// the swarm key, on which its receiver could try keys without limit.
#include "tests/unit/net/host_fixture.hpp"
#include "tests/unit/net/impostor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace swarm::net {
namespace {

/// Lets nobody in but the owner it is made for.
class OneOwner final : public FirstContact {
 public:
    explicit OneOwner(PeerId owner) : owner_(owner) {}

    Result<> judge(const std::string& address, const Credentials& shown) override {
        judged.push_back(address);
        if (shown.owner == owner_) {
            return {};
        }
        return Error{ErrorCode::Unauthorised, Reaction::Reject, "a stranger at " + address};
    }

    void keep(const std::string& address, const Credentials& shown) override {
        kept.emplace_back(address, shown);
    }

    std::vector<std::string> judged;
    std::vector<std::pair<std::string, Credentials>> kept;

 private:
    PeerId owner_;
};

class FirstContactTest : public HostTest {
 protected:
    static HostOptions private_run() {
        HostOptions options;
        options.swarm_key = "the key of a private run";
        return options;
    }

    static std::vector<node::Action> dial(const PeerId& peer, const std::string& address) {
        std::vector<node::Action> actions;
        actions.emplace_back(node::Dial{peer, node::Lane::Control, address});
        return actions;
    }

    std::unique_ptr<Host> dialer(const PeerId& peer, const HostOptions& options) {
        const std::string there = "127.0.0.1:" + std::to_string(port_);
        auto role = std::make_unique<Counter>(theirs_, dial(peer, there));
        auto host = make_host("good", std::move(role), options);
        host->start();
        return host;
    }

    Seen theirs_;
};

TEST_F(FirstContactTest, AnotherPeerThanTheDialNamesHearsNothing) {
    test::Impostor impostor;
    port_ = impostor.port();
    const auto host = dialer(server_.peer(), private_run());
    ASSERT_TRUE(loop_.run_until([&] { return theirs_.failed.size() == 1; }, kPatience));
    const Error& error = theirs_.failed[0].error;
    EXPECT_EQ(error.code, ErrorCode::Unauthorised);
    EXPECT_NE(error.detail.find(to_text(impostor.peer())), std::string::npos) << error.detail;
    const test::Impostor::Heard heard = impostor.heard();
    EXPECT_TRUE(heard.met);
    EXPECT_EQ(heard.bytes, 0U) << "the Hello with the proof of the swarm key has left";
}

TEST_F(FirstContactTest, WhoIsRefusedHearsNothingAndTheHostEndsWithTheReason) {
    test::Impostor impostor;
    port_ = impostor.port();
    HostOptions options = private_run();
    const auto owner = std::make_shared<OneOwner>(server_.peer());
    options.first_contact = owner;
    const auto host = dialer({}, options);
    ASSERT_TRUE(loop_.run_until([&] { return host->failure().has_value(); }, kPatience));
    EXPECT_EQ(host->failure()->detail, "a stranger at 127.0.0.1:" + std::to_string(port_));
    EXPECT_TRUE(owner->kept.empty());
    const test::Impostor::Heard heard = impostor.heard();
    EXPECT_TRUE(heard.met);
    EXPECT_EQ(heard.bytes, 0U) << "the Hello with the proof of the swarm key has left";
}

TEST_F(FirstContactTest, WhoIsLetInIsKeptOnceItHasProvenTheSwarmKey) {
    const Identity owner = Identity::make_ephemeral();
    server_.let_vouch(owner);
    start(private_run());
    HostOptions options = private_run();
    const auto expected = std::make_shared<OneOwner>(owner.peer());
    options.first_contact = expected;
    const auto host = dialer({}, options);
    ASSERT_TRUE(loop_.run_until([&] { return theirs_.links_up == 1; }, kPatience));
    ASSERT_EQ(expected->kept.size(), 1U);
    EXPECT_EQ(expected->kept[0].first, address());
    EXPECT_EQ(expected->kept[0].second, (Credentials{server_.peer(), owner.peer()}));
    EXPECT_FALSE(host->failure().has_value());
}

TEST_F(FirstContactTest, AnOwnerWithoutTheSwarmKeyIsNotKept) {
    start({});
    HostOptions options = private_run();
    const auto expected = std::make_shared<OneOwner>(server_.peer());
    options.first_contact = expected;
    const auto host = dialer({}, options);
    ASSERT_TRUE(loop_.run_until([&] { return theirs_.failed.size() == 1; }, kPatience));
    EXPECT_EQ(expected->judged.size(), 1U);
    EXPECT_TRUE(expected->kept.empty());
    EXPECT_FALSE(host->failure().has_value()) << "a wrong key may be mended there: dial again";
}

/// The role learns of a stranger as of any other failed dial, once it has worked with the owner.
TEST_F(FirstContactTest, AStrangerLaterIsAFailedDial) {
    class Later final : public node::Role {
     public:
        Later(std::string first, std::string second, std::vector<Error>& errors)
            : first_(std::move(first)), second_(std::move(second)), errors_(errors) {}

        void on(const node::Event& event, TimePoint, node::Outbox& out) override {
            if (!std::exchange(started_, true)) {
                out.add(node::Dial{PeerId{}, node::Lane::Control, first_});
            } else if (std::holds_alternative<node::LinkUp>(event)) {
                out.add(node::Dial{PeerId{}, node::Lane::Bulk, second_});
            } else if (const auto* failed = std::get_if<node::DialFailed>(&event)) {
                errors_.push_back(failed->error);
            }
        }

        [[nodiscard]] TimePoint next_deadline() const override {
            return started_ ? kNever : kAtOnce;
        }

     private:
        std::string first_;
        std::string second_;
        std::vector<Error>& errors_;
        bool started_ = false;
    };

    start(private_run());
    test::Impostor impostor;
    HostOptions options = private_run();
    options.first_contact = std::make_shared<OneOwner>(server_.peer());
    std::vector<Error> errors;
    const std::string second = "127.0.0.1:" + std::to_string(impostor.port());
    const auto host =
        make_host("good", std::make_unique<Later>(address(), second, errors), options);
    host->start();
    ASSERT_TRUE(loop_.run_until([&] { return errors.size() == 1; }, kPatience));
    EXPECT_EQ(errors[0].detail, "a stranger at " + second);
    EXPECT_FALSE(host->failure().has_value());
    EXPECT_EQ(impostor.heard().bytes, 0U);
}

}  // namespace
}  // namespace swarm::net
