// A step machine and its five peers: 1 to 3 serve stage 0, 4 and 5 serve stage 1. They hold
// nothing, and they report what a test makes them report.
#pragma once

#include "swarm/coordinator/step_machine.hpp"
#include "tests/unit/run/script.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace swarm::coordinator::test {

using namespace std::chrono_literals;
using run::test::Actions;
using Phase = StepMachine::Phase;

inline constexpr std::uint32_t kMicrobatches = 8;

class StepMachineTest : public testing::Test {
 protected:
    explicit StepMachineTest(
        std::vector<std::uint32_t> stages = {0, 0, 0, 1, 1},
        std::uint32_t width = 1,
        run::SyncMode mode = run::SyncMode::Exact
    )
        : stages_(std::move(stages)), context_(make_context(stages_, width, mode)) {
        for (std::uint64_t n = 1; n <= stages_.size(); ++n) {
            Actions actions;
            for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
                context_.peer_streams.link_up({peer(n), lane, {n}}, actions.at(now_));
            }
        }
        Actions actions;
        step_.open(StartWith::Launch, actions.at(now_));
        for (std::uint64_t n = 1; n <= stages_.size(); ++n) {
            protocol::SlotInfo info;
            info.peer = peer(n);
            info.incarnation = {n};
            info.stage = {stages_[n - 1]};
            step_.admit(info, HeldSums::Forget, now_);
        }
        go_on();
    }

    static PeerId peer(std::uint64_t n) { return {{n, 0, 0, 0}}; }

    static RunContext make_context(
        const std::vector<std::uint32_t>& stages, std::uint32_t width, run::SyncMode mode
    ) {
        run::RunConfig config;
        config.mode = mode;
        config.model = *run::named_model("oracle");
        config.model.layers = 2;
        config.model.width = width;
        config.model.context = 1;
        config.batch = 1;
        config.stages = 2;
        config.microbatches = kMicrobatches;
        config.min_peers = static_cast<std::uint32_t>(stages.size());
        config.in_flight = 4 * kMicrobatches;  // a quarter may be replays
        return {
            .config = config,
            .layouts = run::partition(config),
            .cinc = 1,
            .roster = run::Roster(2, 1)};
    }

    [[nodiscard]] SlotId slot(std::uint64_t n) const {
        const protocol::SlotInfo* const info = context_.roster.find_peer(peer(n));
        return info ? info->slot : SlotId{};
    }

    [[nodiscard]] bool is_member(std::uint64_t n) const { return slot(n) != SlotId{}; }

    template <class Message>
    void say(std::uint64_t n, const Message& message) {
        Actions actions;
        step_.on(slot(n), message, actions.at(now_));
    }

    /// Lets the machine act until it waits for a member. A member answers a recall with held_.
    void go_on() {
        for (bool recalled = true; recalled;) {
            Actions actions;
            step_.advance(actions.at(now_ += 1ms));
            recalled = false;
            for (const node::Send& send : actions.all<node::Send>()) {
                const auto& body = send.message.body;
                if (const auto* const recall = std::get_if<protocol::Recall>(&body)) {
                    Actions answer;
                    const SlotId from = context_.roster.find_peer(send.peer)->slot;
                    if (recall->void_all) {
                        held_.erase(send.peer);
                    }
                    step_.on(
                        from,
                        protocol::Held{recall->version, recall->epoch, held_[send.peer], {}},
                        answer.at(now_)
                    );
                    recalled = true;
                } else if (const auto* const forward = std::get_if<protocol::Forward>(&body)) {
                    launched_[forward->microbatch] = {forward->attempt, send.peer};
                } else if (const auto* const reduce = std::get_if<protocol::Reduce>(&body)) {
                    reduces_[send.peer] = *reduce;
                }
            }
        }
    }

    [[nodiscard]] Attempt attempt_of(std::uint32_t id) const { return launched_.at({id}).first; }

    [[nodiscard]] protocol::Path path(std::uint32_t id, std::uint64_t tail) const {
        const SlotId first = context_.roster.find_peer(launched_.at({id}).second)->slot;
        return {context_.version, {id}, attempt_of(id), {first, slot(tail)}, 1.0};
    }

    /// All microbatches arrive at peer 4.
    void reach_reduce() {
        for (std::uint32_t id = 0; id < kMicrobatches; ++id) {
            say(4, path(id, 4));
        }
        go_on();
        ASSERT_EQ(step_.phase(), Phase::Reducing);
    }

    protocol::Stuck stuck(
        const std::vector<std::uint64_t>& peers, protocol::Owed owed = protocol::Owed::Sums
    ) {
        protocol::Stuck message{context_.version, step_.epoch(), {}, owed};
        for (const std::uint64_t n : peers) {
            message.waits_for.push_back(slot(n));
        }
        return message;
    }

    /// The result of a member that has summed every microbatch.
    [[nodiscard]] protocol::Reduced reduced(std::uint64_t n) const {
        protocol::Reduced message{};
        message.version = context_.version;
        message.epoch = step_.epoch();
        message.sums_of_squares.assign(context_.layouts[stages_[n - 1]].tensors.size(), 1.0);
        message.counted_once = kMicrobatches;
        return message;
    }

    void miss_the_deadline() {
        Actions actions;
        now_ = step_.next_deadline();
        step_.wake(actions.at(now_));
    }

    /// Peer `n` drops every microbatch that is under way and blames `about`.
    void drop_all(std::uint64_t n, std::uint64_t about) {
        protocol::Fail fail{context_.version, slot(about), protocol::FailReason::NotFinite, {}};
        for (const auto& [id, launch] : launched_) {
            fail.items.push_back({id, launch.first, false});
        }
        say(n, fail);
    }

    std::vector<std::uint32_t> stages_;
    RunContext context_;
    Launcher launcher_{context_, {}, 1};
    StepMachine step_{context_, launcher_, {}};
    TimePoint now_{};
    std::map<MicrobatchId, std::pair<Attempt, PeerId>> launched_;
    std::map<PeerId, protocol::Reduce> reduces_;
    std::map<PeerId, std::vector<MicrobatchId>> held_;  // the answers of members to a recall
};

}  // namespace swarm::coordinator::test
