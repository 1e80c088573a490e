// A mixture whose experts are lent by other peers, in a world with faults, with a real (tiny)
// mixture as the model: the text is that of one process with all experts, whoever dies.
#include "sim/world.hpp"
#include "stacking/sessions/directory.hpp"
#include "tests/simulation/sessions/expert_parts.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kDirectory{{1000}};
constexpr PeerId kClient{{2000}};
constexpr PeerId kTrunk{{1}};

/// A trunk, lenders from peer 2 on, a directory and a client.
class ExpertBed {
 public:
    explicit ExpertBed(const Experts& own, const std::vector<Experts>& lenders) {
        WorldOptions options;
        options.network = {1ms, 3ms};
        world_.emplace(options);
        world_->add_peer(kDirectory, [](swarm::Incarnation) {
            return std::make_unique<sessions::Directory>();
        });
        add_server(kTrunk, [own = set_of(own)] { return trunk_with(own); });
        for (std::size_t i = 0; i < lenders.size(); ++i) {
            add_server(lender(i), [lent = set_of(lenders[i])] { return lender_of(lent); });
        }
        add_client();
        world_->on_report([this](PeerId, const node::Report& report) { hear(report); });
        world_->on_send([this](PeerId, const node::Send& send) { see(send); });
    }

    static PeerId lender(std::size_t index) { return {{2 + index}}; }

    World& world() { return *world_; }

    void ask(const node::SessionRequest& request) {
        done_ = false;
        tokens_.clear();
        world_->ask(kClient, {request});
    }

    bool run(swarm::Duration limit = 60s) {
        return world_->run_until([this] { return done_; }, limit);
    }

    bool run_until_tokens(std::size_t count) {
        return world_->run_until([&] { return tokens_.size() >= count || done_; }, 60s);
    }

    std::vector<std::uint32_t> tokens_;
    std::vector<std::string> notes_;  // that people see
    std::vector<protocol::SessionLacks> lacks_;
    std::map<PeerId, std::size_t> asked_{};  // requests to each lender
    std::string failure_;
    std::function<void(const node::Send&)> watch_;

 private:
    void add_server(PeerId self, const std::function<sessions::LoadedLayers()>& make) {
        PeerOptions machine;
        machine.device.units_per_s = 4000;
        const auto role = [self, make](swarm::Incarnation) {
            auto server = server_options(self, make);
            server.directory = kDirectory;
            return std::make_unique<sessions::SessionServer>(std::move(server));
        };
        world_->add_peer(self, role, machine);
    }

    void add_client() {
        world_->add_peer(kClient, [](swarm::Incarnation incarnation) {
            auto client = client_options(kClient, incarnation);
            client.directory = kDirectory;
            return std::make_unique<sessions::SessionClient>(std::move(client));
        });
    }

    void hear(const node::Report& report) {
        if (const auto* const token = std::get_if<node::TokenStreamed>(&report)) {
            tokens_.push_back(token->token);
            done_ = token->last;
        } else if (const auto* const failed = std::get_if<node::GenerationFailed>(&report)) {
            failure_ = failed->reason;
            done_ = true;
        } else if (const auto* const line = std::get_if<node::LogLine>(&report)) {
            if (line->text.starts_with("nobody lends")) {
                notes_.push_back(line->text);
            }
        }
    }

    void see(const node::Send& send) {
        if (const auto* const lacks = std::get_if<protocol::SessionLacks>(&send.message.body)) {
            lacks_.push_back(*lacks);
        } else if (std::holds_alternative<protocol::ExpertRows>(send.message.body)) {
            ++asked_[send.peer];
            if (watch_) {
                watch_(send);
            }
        }
    }

    std::optional<World> world_;
    bool done_ = false;
};

const std::vector<Experts> kTwice{{0, 1}, {2, 3}, {0, 2}, {1, 3}};

TEST(Experts, OfOtherPeersGiveTheTextOfOneProcess) {
    for (const Experts& own : std::vector<Experts>{{}, {1}, {0, 2}}) {
        ExpertBed bed(own, kTwice);
        for (const std::uint64_t number : {1, 2}) {
            bed.ask(request(number));
            ASSERT_TRUE(bed.run()) << bed.failure_;
            EXPECT_EQ(bed.tokens_, expected(number));
        }
        EXPECT_TRUE(bed.notes_.empty());
        EXPECT_EQ(bed.asked_.contains(ExpertBed::lender(0)), true);
    }
}

/// The lender that dies is one that the trunk asks.
TEST(Experts, ALenderKilledAtEachTokenChangesNoText) {
    const std::vector<std::uint32_t> text = expected(1);
    std::size_t used = 0;
    for (std::size_t at = 0; at < kTokens; ++at) {
        ExpertBed bed({}, kTwice);
        bed.ask(request(1));
        ASSERT_TRUE(bed.run_until_tokens(at));
        const PeerId victim =
            bed.asked_.empty() ? ExpertBed::lender(0) : bed.asked_.rbegin()->first;
        used += bed.asked_.empty() ? 0 : 1;
        bed.world().crash(victim);
        ASSERT_TRUE(bed.run()) << at << bed.failure_;
        EXPECT_EQ(bed.tokens_, text) << "killed at token " << at;
        EXPECT_TRUE(bed.notes_.empty()) << at;
    }
    EXPECT_GE(used, kTokens - 1);
}

/// The lender dies with a request on its way to it, so the same bytes go to another one.
TEST(Experts, ALenderKilledByEachRequestChangesNoText) {
    const std::vector<std::uint32_t> text = expected(1);
    for (std::size_t at = 0; at < 40; ++at) {
        ExpertBed bed({}, kTwice);
        std::size_t requests = 0;
        std::optional<PeerId> victim;
        bed.watch_ = [&](const node::Send& send) {
            if (requests++ == 3 * at) {
                victim = send.peer;
            }
        };
        bed.ask(request(1));
        ASSERT_TRUE(bed.world().run_until([&] { return victim.has_value(); }, 60s));
        bed.world().crash(*victim);
        ASSERT_TRUE(bed.run()) << at << bed.failure_;
        EXPECT_EQ(bed.tokens_, text) << "request " << 3 * at;
    }
}

TEST(Experts, ALenderFrozenAtEachTokenChangesNoText) {
    const std::vector<std::uint32_t> text = expected(1);
    for (std::size_t at = 1; at < kTokens; at += 3) {
        ExpertBed bed({}, kTwice);
        bed.ask(request(1));
        ASSERT_TRUE(bed.run_until_tokens(at));
        bed.world().freeze(bed.asked_.rbegin()->first);
        ASSERT_TRUE(bed.run()) << at << bed.failure_;
        EXPECT_EQ(bed.tokens_, text) << "frozen at token " << at;
        EXPECT_TRUE(bed.notes_.empty()) << at;
    }
}

TEST(Experts, WithoutAPeerAreLeftOutWithinTwoSecondsAndToldOnce) {
    ExpertBed bed({}, {{0, 1, 2}, {3}});
    bed.ask(request(1));
    ASSERT_TRUE(bed.run_until_tokens(6));
    bed.world().crash(ExpertBed::lender(1));
    const auto killed = bed.world().now();
    ASSERT_TRUE(bed.world().run_until([&] { return !bed.lacks_.empty(); }, 10s));
    EXPECT_LE(bed.world().now() - killed, 2s + 200ms);
    ASSERT_TRUE(bed.run()) << bed.failure_;
    const std::vector<std::uint32_t> text = expected(1);
    EXPECT_EQ(bed.tokens_.size(), text.size());
    EXPECT_TRUE(std::equal(text.begin(), text.begin() + 6, bed.tokens_.begin()));
    ASSERT_EQ(bed.lacks_.size(), 1U);
    EXPECT_EQ(bed.lacks_[0].experts, Experts{3});
    EXPECT_EQ(bed.notes_.size(), 2U);  // one of the server, one of the client
}

/// The next text does not wait again; one after the lender's return has the expert.
TEST(Experts, ThatComeBackAreUsedByLaterSessions) {
    ExpertBed bed({}, {{0, 1, 2}, {3}});
    bed.ask(request(1));
    ASSERT_TRUE(bed.run_until_tokens(3));
    bed.world().crash(ExpertBed::lender(1));
    ASSERT_TRUE(bed.run()) << bed.failure_;
    const auto asked = bed.world().now();
    bed.ask(request(2));
    ASSERT_TRUE(bed.run()) << bed.failure_;
    EXPECT_LE(bed.world().now() - asked, 1500ms);
    EXPECT_EQ(bed.lacks_.size(), 2U);
    bed.world().restart(ExpertBed::lender(1));
    bed.world().run_for(5s);
    bed.ask(request(1));
    ASSERT_TRUE(bed.run()) << bed.failure_;
    EXPECT_EQ(bed.tokens_, expected(1));
    EXPECT_EQ(bed.lacks_.size(), 2U);
}

TEST(Experts, ALenderThatIsBackWithinTwoSecondsChangesNoText) {
    ExpertBed bed({}, {{0, 1, 2}, {3}});
    bed.ask(request(1));
    ASSERT_TRUE(bed.run_until_tokens(6));
    bed.world().crash(ExpertBed::lender(1));
    bed.world().run_for(500ms);
    bed.world().restart(ExpertBed::lender(1));
    ASSERT_TRUE(bed.run()) << bed.failure_;
    EXPECT_EQ(bed.tokens_, expected(1));
    EXPECT_TRUE(bed.lacks_.empty());
}

TEST(Experts, TheTrunkComesBackAndTheTextGoesOn) {
    ExpertBed bed({1}, kTwice);
    bed.ask(request(1));
    ASSERT_TRUE(bed.run_until_tokens(9));
    bed.world().crash(kTrunk);
    bed.world().run_for(1s);
    bed.world().restart(kTrunk);
    ASSERT_TRUE(bed.run()) << bed.failure_;
    EXPECT_EQ(bed.tokens_, expected(1));
}

TEST(Experts, ManyTextsAtOnceEqualThoseOfOneProcess) {
    ExpertBed bed({}, kTwice);
    std::map<std::uint64_t, std::vector<std::uint32_t>> texts;
    std::size_t done = 0;
    bed.world().on_report([&](PeerId, const node::Report& report) {
        if (const auto* const token = std::get_if<node::TokenStreamed>(&report)) {
            texts[token->request].push_back(token->token);
            done += token->last ? 1 : 0;
        }
    });
    for (std::uint64_t number = 1; number <= 6; ++number) {
        bed.world().ask(kClient, {request(number)});
    }
    ASSERT_TRUE(bed.world().run_until([&] { return !texts.empty(); }, 60s));
    bed.world().crash(ExpertBed::lender(0));
    ASSERT_TRUE(bed.world().run_until([&] { return done == 6; }, 60s));
    for (std::uint64_t number = 1; number <= 6; ++number) {
        EXPECT_EQ(texts[number], expected(number)) << number;
    }
}

}  // namespace
}  // namespace sim
