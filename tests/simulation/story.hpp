// One run that a test leads to a decisive moment: the test waits for a message to be sent or
// received, then injects the fault. Messages are matched by type: until_sent<protocol::Path>(...).
// Watchers stay for the rest of the run, so what they capture must live as long as the Story runs.
#pragma once

#include "sim/run/run_world.hpp"
#include "stages/single/single_run.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

using namespace std::chrono_literals;
namespace protocol = swarm::protocol;
using protocol::Lane;

/// Options with `stages` x `replicas` peers of one layer each, 50 ms of work per forward leg.
inline RunWorldOptions story_options(
    std::uint32_t stages, std::uint32_t replicas, std::uint64_t steps = 12
) {
    RunWorldOptions options;
    options.config = oracle_config(stages, 8, steps);
    options.peers = stages * replicas;
    options.peer.device.units_per_s = 20;
    return options;
}

/// The state that one process has after so many steps of the run, as a checkpoint holds it.
inline swarm::run::RunState state_after(const swarm::run::RunConfig& config, std::uint64_t steps) {
    stages::SingleRun single(config, &stages::make_oracle_compute, {});
    while (single.version().step < steps) {
        EXPECT_TRUE(single.step().has_value());
    }
    swarm::run::RunState state{single.version(), {}};
    for (std::uint32_t stage = 0; stage < single.stages(); ++stage) {
        auto& chunks = state.chunks.emplace_back();
        for (std::uint32_t i = 0; i < single.state(stage).chunk_count(); ++i) {
            chunks.push_back(single.state(stage).chunk(i));
        }
    }
    return state;
}

class Story {
 public:
    explicit Story(RunWorldOptions options) : config_(options.config), run_(std::move(options)) {
        run_.observe_sends([this](PeerId from, const node::Send& send) {
            for (std::size_t i = 0; i < senders_.size(); ++i) {
                senders_[i](from, send.peer, send.message.body);
            }
        });
        run_.observe_events([this](PeerId at, const node::Event& event) {
            if (const auto* received = std::get_if<node::Received>(&event)) {
                for (std::size_t i = 0; i < receivers_.size(); ++i) {
                    receivers_[i](received->peer, at, received->message.body);
                }
            }
        });
    }

    [[nodiscard]] RunWorld& run() { return run_; }

    [[nodiscard]] World& world() { return run_.world(); }

    /// Calls watch(from, to, message) for every message of the type.
    template <class Message, class Watch>
    void on_send(Watch watch) {
        senders_.push_back(only<Message>(std::move(watch)));
    }

    template <class Message, class Watch>
    void on_receive(Watch watch) {
        receivers_.push_back(only<Message>(std::move(watch)));
    }

    /// Forgets all watchers, before what they captured goes out of scope.
    void stop_watching() {
        senders_.clear();
        receivers_.clear();
    }

    /// Runs until a message of the type satisfies match(from, to, message); false when none did
    /// within `limit`.
    template <class Message, class Match>
    bool until_sent(Match match, swarm::Duration limit = 60s) {
        const auto seen = std::make_shared<bool>(false);
        senders_.push_back(latch<Message>(seen, std::move(match)));
        return world().run_until([&] { return *seen; }, limit);
    }

    template <class Message, class Match>
    bool until_received(Match match, swarm::Duration limit = 60s) {
        const auto seen = std::make_shared<bool>(false);
        receivers_.push_back(latch<Message>(seen, std::move(match)));
        return world().run_until([&] { return *seen; }, limit);
    }

    bool reach_step(std::size_t committed) {
        return world().run_until([&] { return run_.steps().size() >= committed; }, 120s);
    }

    bool until_fenced(std::uint32_t fenced, swarm::Duration limit = 60s) {
        return world().run_until([&] { return run_.fenced() >= fenced; }, limit);
    }

    bool until_has_slot(PeerId id, swarm::Duration limit = 60s) {
        return world().run_until([&] { return has_slot(id); }, limit);
    }

    [[nodiscard]] const swarm::coordinator::RunContext& boss() const {
        return run_.coordinator_role()->context();
    }

    [[nodiscard]] const stages::ServerContext& context(PeerId id) const {
        return run_.server(id)->context();
    }

    [[nodiscard]] std::uint32_t stage_of(PeerId id) const { return context(id).stage().value; }

    [[nodiscard]] bool has_slot(PeerId id) const {
        return run_.server(id) && context(id).slot && boss().roster.find(*context(id).slot);
    }

    [[nodiscard]] std::vector<PeerId> members(std::uint32_t stage) const {
        std::vector<PeerId> found;
        for (const swarm::SlotId slot : boss().roster.members({stage})) {
            found.push_back(boss().roster.find(slot)->peer);
        }
        return found;
    }

    [[nodiscard]] PeerId peer_of(swarm::SlotId slot) const {
        return boss().roster.find(slot)->peer;
    }

    /// Another member of the same stage.
    [[nodiscard]] PeerId replica_of(PeerId id) const {
        for (const PeerId other : members(stage_of(id))) {
            if (other != id) {
                return other;
            }
        }
        return {};
    }

    /// Microbatches that the current REDUCE counts for the peer.
    [[nodiscard]] std::uint32_t share_of(PeerId id) const {
        const auto& lists = run_.coordinator_role()->step().lists();
        const auto found = lists.find(boss().roster.find_peer(id)->slot);
        return found == lists.end() ? 0 : static_cast<std::uint32_t>(found->second.size());
    }

    void block_both_ways(PeerId one, PeerId other) {
        world().block(one, other);
        world().block(other, one);
    }

    void unblock_both_ways(PeerId one, PeerId other) {
        world().unblock(one, other);
        world().unblock(other, one);
    }

    void reset_links(PeerId one, PeerId other) {
        world().reset_link(one, other, Lane::Control);
        world().reset_link(one, other, Lane::Bulk);
    }

    /// Lets the run end, and expects it to equal one process and to have violated nothing.
    void expect_equal_to_one_process(swarm::Duration limit = 600s) {
        run_.run(limit);
        EXPECT_EQ(run_.verdict(train_single(config_)), "") << log();
    }

    [[nodiscard]] std::string log() const {
        std::string text;
        for (const std::string& line : run_.log()) {
            text += line + '\n';
        }
        return text;
    }

 private:
    using Watcher = std::function<void(PeerId from, PeerId to, const protocol::Body&)>;

    template <class Message, class Watch>
    static Watcher only(Watch watch) {
        return [watch](PeerId from, PeerId to, const protocol::Body& body) {
            if (const auto* message = std::get_if<Message>(&body)) {
                watch(from, to, *message);
            }
        };
    }

    template <class Message, class Match>
    static Watcher latch(std::shared_ptr<bool> seen, Match match) {
        return only<Message>([seen, match](PeerId from, PeerId to, const Message& message) {
            *seen = *seen || match(from, to, message);
        });
    }

    swarm::run::RunConfig config_;
    RunWorld run_;
    std::vector<Watcher> senders_;
    std::vector<Watcher> receivers_;
};

}  // namespace sim
