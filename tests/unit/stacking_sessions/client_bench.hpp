// The fixture of tests of a client: two peers for each of two stages, and messages by hand.
#pragma once

#include "stacking/sessions/session_client.hpp"
#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace stacking::sessions {

using namespace std::chrono_literals;
using node::Lane;
using protocol::SessionClose;
using protocol::SessionOpen;
using protocol::SessionOpened;
using protocol::SessionReason;
using protocol::SessionResume;
using protocol::SessionRows;
using protocol::SessionToken;
using protocol::SessionTrouble;

class SessionClientTest : public testing::Test {
 protected:
    static constexpr PeerId kSelf{{9}};
    static constexpr PeerId kDirectory{{8}};
    static constexpr PeerId kStranger{{7}};
    inline static const std::vector<PeerId> kHeads{{{1}}, {{2}}};
    inline static const std::vector<PeerId> kTails{{{3}}, {{4}}};

    SessionClientTest() {
        SessionClient::Options options;
        options.self = kSelf;
        options.incarnation = {5};
        options.directory = kDirectory;
        options.models = {{digest_of(1), 100}};
        client_.emplace(std::move(options));
        on(node::Woke{});
        on(node::LinkUp{kDirectory, Lane::Control, {1}});
        protocol::Located located{.model = digest_of(1), .layers = 2, .hosts = {}};
        for (const PeerId head : kHeads) {
            located.hosts.push_back({head, {0, 1}, ""});
        }
        for (const PeerId tail : kTails) {
            located.hosts.push_back({tail, {1, 2}, ""});
        }
        receive(kDirectory, located);
    }

    const node::Outbox& on(const node::Event& event) {
        out_.actions.clear();
        client_->on(event, now_, out_);
        return out_;
    }

    template <class Body>
    const node::Outbox& receive(PeerId from, Body body) {
        return on(node::Received{from, Lane::Control, {0, 0, std::move(body)}, {}});
    }

    /// Brings up every link that is dialed, and returns the opens that follow.
    std::vector<std::pair<PeerId, SessionOpen>> link_up() {
        std::vector<std::pair<PeerId, SessionOpen>> opens = sent<SessionOpen>(out_);
        std::vector<node::Dial> dials;
        for (const node::Action& action : out_.actions) {
            if (const auto* dial = std::get_if<node::Dial>(&action)) {
                dials.push_back(*dial);
            }
        }
        for (const node::Dial& dial : dials) {
            for (auto& open : sent<SessionOpen>(on(node::LinkUp{dial.peer, dial.lane, {1}}))) {
                opens.push_back(std::move(open));
            }
        }
        return opens;
    }

    /// Answers the opens of one route with the fill of the caches; the last actions are in out_.
    void open(const std::vector<std::pair<PeerId, SessionOpen>>& opens, std::uint32_t filled = 0) {
        for (const auto& [peer, open] : opens) {
            hops_[open.id.hop] = peer;
            id_ = open.id;
            receive(peer, SessionOpened{open.id, filled, 0, chosen_});
        }
    }

    void start(std::vector<protocol::RowCodec> codecs = {}) {
        node::SessionRequest request;
        request.codecs = std::move(codecs);
        request.request = 1;
        request.prompt = {5, 6, 7};
        request.tokens = 3;
        on(node::Asked{request});
        const auto opens = link_up();
        ASSERT_EQ(opens.size(), 2U);
        open(opens);
    }

    [[nodiscard]] SessionToken token(std::uint32_t position) const {
        SessionToken body;
        body.id = id_;
        body.id.hop = 1;
        body.position = position;
        body.token = 40 + position;
        return body;
    }

    std::size_t streamed() const {
        std::size_t count = 0;
        for (const node::Action& action : out_.actions) {
            const auto* tell = std::get_if<node::Tell>(&action);
            count += tell != nullptr && std::holds_alternative<node::TokenStreamed>(tell->report)
                         ? 1U
                         : 0U;
        }
        return count;
    }

    TimePoint now_{};
    node::Outbox out_;
    std::map<std::uint32_t, PeerId> hops_;
    protocol::CodecId chosen_ = protocol::CodecId::None;  // choice of every hop that may choose
    protocol::HopId id_;
    std::optional<SessionClient> client_;
};

}  // namespace stacking::sessions
