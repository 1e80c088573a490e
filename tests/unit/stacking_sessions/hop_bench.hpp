// The fixture of tests of a server's hops, with the oracle model and a device that runs at once.
#pragma once

#include "stacking/sessions/hop_table.hpp"
#include "stacking/sessions/oracle_session_compute.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace stacking::sessions {

using namespace std::chrono_literals;
using protocol::SessionOpened;
using protocol::SessionReason;
using protocol::SessionRows;
using protocol::SessionToken;
using protocol::SessionTrouble;

inline constexpr PeerId kSelf{{5}};
inline constexpr PeerId kNext{{6}};
inline constexpr PeerId kClient{{9}};
inline constexpr PeerId kStranger{{8}};
inline constexpr std::uint64_t kSession = 77;

class HopTableTest : public testing::Test {
 protected:
    enum class Front { Layers, Bridge };

    /// `layers`: the hosted ones of a model of three layers. `front`: the part that takes the rows.
    explicit HopTableTest(protocol::LayerRange layers = {0, 1}, Front front = Front::Layers) {
        compute_ = std::make_shared<OracleSessionCompute>(OracleModel{.exits = false}, layers, 100);
        HopTable::Options options;
        options.self = kSelf;
        options.host = {digest_of(1), 3, layers, digest_of(2)};
        options.compute = compute_;
        if (front == Front::Bridge) {
            options.bridge = std::make_shared<composition::BridgedInput>(oracle_bridge(1));
        }
        options.ttl = 10s;
        layers_ = layers;
        table_.emplace(std::move(options), links_);
        links_.on(node::LinkUp{kNext, node::Lane::Bulk, {1}});
    }

    protocol::SessionOpen open(std::uint32_t route = 1, std::uint64_t session = kSession) const {
        protocol::SessionOpen open;
        open.id = {session, route, 0};
        open.hops = 3;
        open.model = digest_of(1);
        open.layers = layers_;
        open.positions = 20;
        open.previous = {kClient, ""};
        open.next = {kNext, ""};
        return open;
    }

    SessionRows rows(std::uint32_t position, std::uint32_t count, std::uint32_t route = 1) const {
        SessionRows rows;
        rows.id = {kSession, route, 0};
        rows.position = position;
        rows.rows = count;
        rows.tokens.assign(count, 3);
        return rows;
    }

    /// Gives the table a message, runs its device until that is idle, and returns all actions.
    template <class... Message>
    node::Outbox take(PeerId from, const Message&... message) {
        node::Outbox out;
        table_->take(from, message..., {now_, out});
        return with_device(std::move(out));
    }

    /// Lets the table wake, runs its device until that is idle, and returns all actions.
    node::Outbox wake() {
        node::Outbox out;
        table_->wake({now_, out});
        return with_device(std::move(out));
    }

    /// Adds the actions that follow from work of the device.
    node::Outbox with_device(node::Outbox out) {
        node::Outbox all;
        while (!out.actions.empty()) {
            node::Outbox later;
            for (node::Action& action : out.actions) {
                if (const auto* compute = std::get_if<node::Compute>(&action)) {
                    compute->work->run();
                    if (compute->answered) {
                        now_ += call_time_;
                        table_->computed(compute->job, {now_, later});
                    }
                }
                all.actions.push_back(std::move(action));
            }
            out = std::move(later);
        }
        return all;
    }

    node::Outbox take_rows(PeerId from, const SessionRows& message) {
        return take(from, message, node::Payload());
    }

    SessionReason reason_of(const node::Outbox& out) {
        const auto troubles = sent<SessionTrouble>(out);
        EXPECT_EQ(troubles.size(), 1U);
        return troubles.empty() ? SessionReason::Failed : troubles[0].second.reason;
    }

    std::uint32_t filled(std::uint32_t route) {
        const auto opened = sent<SessionOpened>(take(kClient, open(route)));
        EXPECT_EQ(opened.size(), 1U);
        return opened.empty() ? 0 : opened[0].second.filled_upto;
    }

    TimePoint now_{};
    swarm::Duration call_time_{};  // each call of the device takes it
    LinkBook links_;
    protocol::LayerRange layers_;
    std::shared_ptr<OracleSessionCompute> compute_;
    std::optional<HopTable> table_;
};

}  // namespace stacking::sessions
