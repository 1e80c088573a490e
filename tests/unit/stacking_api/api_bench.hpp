// An ApiServer with a directory and one peer that serves the whole model, as far as a client sees
// them: links come up, sessions open, and each row is answered by a token of a script.
#pragma once

#include "stacking/api/api_server.hpp"
#include "tests/unit/stacking_api/small_model.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stacking::api::test {

using namespace std::chrono_literals;

class ApiBench {
 public:
    static constexpr PeerId kSelf{{9}};
    static constexpr PeerId kDirectory{{8}};
    static constexpr PeerId kHost{{1}};

    /// Everything that a client was told.
    struct Told {
        std::uint32_t status = 0;
        std::string type;
        std::string bytes;
        bool is_whole = false;
        std::optional<std::chrono::seconds> retry_after{};
    };

    explicit ApiBench(ApiModel model = small_model()) {
        ApiServer::Options options{
            .client = {}, .model = std::move(model), .name_of = [](const PeerId&) { return "p"; }};
        options.client.self = kSelf;
        options.client.incarnation = {5};
        options.client.directory = kDirectory;
        options.client.models = {{swarm::Digest{}, options.model.vocabulary}};
        options.client.patience = 60s;
        options.started_unix_s = 1'000'000;
        server_.emplace(std::move(options));
        on(node::Woke{});
        on(node::LinkUp{kDirectory, node::Lane::Control, {1}});
    }

    /// The directory lists the peer.
    void serve() { list({kHost}); }

    void list(const std::vector<PeerId>& peers) {
        protocol::Located located{.model = {}, .layers = 2, .hosts = {}};
        for (const PeerId peer : peers) {
            located.hosts.push_back({peer, {0, 2}, ""});
        }
        receive(kDirectory, located);
    }

    std::uint64_t ask(
        const std::string& path,
        const std::string& body,
        const std::string& user = "alice",
        const std::string& method = "POST"
    ) {
        node::WebRequest request{++exchanges_, method, path, "", body, user};
        on(node::Asked{std::move(request)});
        if (reads) {
            read();
        }
        return exchanges_;
    }

    std::uint64_t complete(const std::string& fields, const std::string& user = "alice") {
        return ask("/v1/completions", R"({"prompt":"Hi")" + fields + "}", user);
    }

    void hang_up(std::uint64_t exchange) { on(node::Asked{node::WebGone{exchange}}); }

    /// Answers the oldest row that waits for its token; returns false when there is none.
    bool step() {
        if (rows_.empty()) {
            return false;
        }
        const protocol::SessionRows rows = rows_.front();
        rows_.pop_front();
        const auto session = sessions_.find(rows.id.session);
        if (session == sessions_.end()) {
            return true;  // it was closed in the meantime
        }
        protocol::SessionToken token;
        token.id = rows.id;
        token.position = rows.position + rows.rows;
        const auto at = token.position - session->second.sampling.generated_from;
        token.token = script(session->second, at);
        token.top = {{token.token, -0.5}, {'z', -2}};
        token.top.resize(std::min<std::size_t>(token.top.size(), session->second.sampling.top));
        receive(kHost, token);
        return true;
    }

    void run() {
        while (step()) {
        }
    }

    void pass(swarm::Duration time) {
        const TimePoint end = now + time;
        while (server_->next_deadline() <= end) {
            now = std::max(now, server_->next_deadline());
            on(node::Woke{});
        }
        now = end;
    }

    [[nodiscard]] const Told& told(std::uint64_t exchange) { return told_[exchange]; }

    [[nodiscard]] boost::json::value json(std::uint64_t exchange) {
        return boost::json::parse(told_[exchange].bytes);
    }

    /// The token at this place of the answer.
    std::function<TokenId(const protocol::SessionOpen&, std::uint32_t)> script =
        [](const protocol::SessionOpen&, std::uint32_t at) { return TokenId{'a'} + at % 26; };
    bool is_full = false;  // the peer has no room
    bool reads = true;     // false: bodies wait on the device
    TimePoint now{};
    std::map<std::uint64_t, protocol::SessionOpen> sessions_;  // open ones
    std::size_t most_sessions = 0;
    std::vector<protocol::SessionOpen> opened;
    std::size_t locates = 0;  // questions to the directory

    void on(const node::Event& event) {
        node::Outbox out;
        server_->on(event, now, out);
        for (node::Action& action : out.actions) {
            if (auto* const tell = std::get_if<node::Tell>(&action)) {
                hear(tell->report);
            } else if (const auto* const dial = std::get_if<node::Dial>(&action)) {
                on(node::LinkUp{dial->peer, dial->lane, {1}, true});
            } else if (const auto* const compute = std::get_if<node::Compute>(&action)) {
                waiting_.push_back(*compute);
            } else if (const auto* const send = std::get_if<node::Send>(&action)) {
                std::visit([this](const auto& body) { take(body); }, send->message.body);
            }
        }
    }

    /// Runs the jobs of the device.
    void read() {
        while (!waiting_.empty()) {
            const node::Compute compute = waiting_.front();
            waiting_.pop_front();
            compute.work->run();
            on(node::Computed{compute.job});
        }
    }

 private:
    template <class Body>
    void receive(PeerId from, Body body) {
        on(node::Received{from, node::Lane::Control, {0, 0, std::move(body)}, {}});
    }

    void hear(const node::Report& report) {
        if (const auto* const reply = std::get_if<node::WebReply>(&report)) {
            EXPECT_EQ(told_[reply->exchange].status, 0U) << "one answer to each request";
            told_[reply->exchange] = {
                reply->status, reply->content_type, reply->body, !reply->more, reply->retry_after};
        } else if (const auto* const piece = std::get_if<node::WebPiece>(&report)) {
            EXPECT_FALSE(told_[piece->exchange].is_whole) << "nothing follows the end";
            told_[piece->exchange].bytes += piece->bytes;
            told_[piece->exchange].is_whole = piece->last;
        }
    }

    void take(const protocol::SessionOpen& open) {
        if (is_full) {
            protocol::SessionTrouble trouble{open.id, protocol::SessionReason::Full, 3000};
            return receive(kHost, trouble);
        }
        sessions_[open.id.session] = open;
        opened.push_back(open);
        most_sessions = std::max(most_sessions, sessions_.size());
        receive(kHost, protocol::SessionOpened{open.id, 0, 0, {}});
    }

    void take(const protocol::SessionRows& rows) {
        if (rows.wanted) {
            rows_.push_back(rows);
        }
    }

    void take(const protocol::Locate& /*locate*/) { ++locates; }

    void take(const protocol::SessionClose& close) { sessions_.erase(close.session); }

    template <class Other>
    void take(const Other& /*other*/) {}

    std::optional<ApiServer> server_;
    std::map<std::uint64_t, Told> told_;
    std::deque<protocol::SessionRows> rows_;
    std::deque<node::Compute> waiting_;
    std::uint64_t exchanges_ = 0;
};

}  // namespace stacking::api::test
