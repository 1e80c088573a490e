// The role behind an endpoint in the form of OpenAI's API: it turns requests of the web into
// sessions, and their tokens into answers. It owns the SessionClient, whose every event and action
// goes through it; swarm/http has the sockets.
// Invariants: each request gets one answer, whole or as a stream that ends, or its client is gone.
// A text does not depend on what else is asked: it is a function of the request, the model and the
// seed. A session never outlives its request. Whoever waits is served in the order of FairQueue.
// Every wait ends: a request that got no place within kPlaceWithin, or no token within the client's
// patience, is refused with the time after which it may come again; a stream in which nothing
// happens says so each kQuietMax.
// Threading: a role, single strand. Bounds: kExchangesMax requests, FairQueue's jobs, kWatchersMax
// streams of events. Cost: O(log requests) per event, beside the client's.
#pragma once

#include "stacking/api/answer_shapes.hpp"
#include "stacking/api/api_figures.hpp"
#include "stacking/api/api_model.hpp"
#include "stacking/api/body_reading.hpp"
#include "stacking/api/choice.hpp"
#include "stacking/api/completion_request.hpp"
#include "stacking/api/fair_queue.hpp"
#include "stacking/api/swarm_state.hpp"
#include "stacking/sessions/session_client.hpp"
#include "swarm/node/web.hpp"
#include "swarm/node/web_error.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stacking::api {

using swarm::PeerId;
using swarm::TimePoint;

class ApiServer final : public node::Role {
 public:
    static constexpr std::size_t kExchangesMax = 1024;
    static constexpr std::size_t kWatchersMax = 64;
    /// Bodies that wait to be read, in bytes.
    static constexpr std::size_t kReadingBytesMax = 64U << 20;
    /// Places that one user's answers leave to others.
    static constexpr std::size_t kPlacesForOthers = 8;
    /// A stream begins at the latest then, so that no proxy takes the silence for a failure.
    static constexpr swarm::Duration kHeadWithin = std::chrono::seconds(5);
    static constexpr swarm::Duration kQuietMax = std::chrono::seconds(15);
    /// A place is there within this time, or the request is refused. Clients wait as long and
    /// longer: that of OpenAI ten minutes.
    static constexpr swarm::Duration kPlaceWithin = std::chrono::minutes(5);
    /// While somebody watches, the directory is asked as often as the state is told: a peer whose
    /// link to the directory ends is shown as gone after twice this time at most.
    static constexpr swarm::Duration kStateEvery = std::chrono::milliseconds(500);
    /// A client is told to come again after this part of the patience, when peers are missing.
    static constexpr int kPatienceParts = 6;

    struct Options {
        sessions::SessionClient::Options client;
        ApiModel model;
        std::vector<node::StackMember> members{};  // those of an ensemble, else empty
        std::vector<node::ChainMember> chain{};    // those of a chain or a bridge, else empty
        std::vector<swarm::protocol::RowCodec> codecs{};
        std::uint32_t guesses_max = 0;
        RequestDefaults defaults{};
        std::int64_t started_unix_s = 0;  // the time of day at the first turn
        std::string page{};               // HTML at "/"; empty: none
        std::string join_line{};          // the command that joins with another machine
        bool join_here_only = false;      // it works on this machine alone
        SwarmState::NameOf name_of;
    };

    explicit ApiServer(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

 private:
    /// One session of an exchange: waiting, resting until a peer has room, or under way.
    struct Job {
        enum class At { Waiting, Resting, UnderWay };

        std::uint64_t exchange = 0;
        std::size_t choice = 0;
        At at = At::Waiting;
        double cost = 0;
        TimePoint again_at{};  // end of the rest
        TimePoint token_at{};  // time of the last token
        bool has_token = false;
        bool has_route = false;
    };

    struct Exchange {
        CompletionRequest request;
        AnswerHead head;
        std::string user;
        std::vector<Choice> choices;
        std::vector<Choice::Piece> whole;  // by choice; not for a stream
        std::set<std::uint64_t> jobs;      // those that have not ended
        TimePoint asked{};
        TimePoint said{};
        TimePoint looked_at = swarm::kNever;  // its time in looks_
        bool has_begun = false;               // the head of the stream is out
        /// By prompt: its tokens that the peers had read before. What one answer of the prompt read
        /// for the others counts as read.
        std::map<std::size_t, std::uint32_t> reused{};
    };

    /// A body that the device reads.
    struct Reading {
        std::shared_ptr<BodyReading> job;
        bool is_gone = false;  // its client
    };

    using Exchanges = std::map<std::uint64_t, Exchange>;
    using Jobs = std::map<std::uint64_t, Job>;

    // api_server.cpp: requests, their sessions, and their ends
    void take(const node::WebRequest& request, node::Turn turn);
    void take(const node::WebGone& gone, node::Turn turn);
    void take(const node::Computed& computed, node::Turn turn);
    void read(const node::WebRequest& request, node::Turn turn);
    void begin(const BodyReading& asked, CompletionRequest request, node::Turn turn);
    void dispatch(node::Turn turn);
    void open_session(std::uint64_t number, Job& job, node::Turn turn);
    void give(const node::Event& event, node::Turn turn);
    void leave_place(const Exchange& exchange);
    void end_job(Jobs::iterator job);
    void cancel(Exchange& exchange, node::Turn turn);
    void fail(Exchanges::iterator at, const node::WebError& error, node::Turn turn);
    void wake(node::Turn turn);
    void look(Exchanges::iterator at, node::Turn turn);
    void look_again(Exchanges::iterator at, TimePoint now);
    void forget(Exchanges::iterator at);
    [[nodiscard]] TimePoint due(const Exchange& exchange) const;
    [[nodiscard]] bool lacks_place(const Exchange& exchange) const;
    [[nodiscard]] std::size_t places() const;
    [[nodiscard]] std::chrono::seconds wait_for_place() const;
    [[nodiscard]] std::optional<node::WebError> refuse_load(
        const std::string& user, std::size_t jobs
    ) const;
    [[nodiscard]] std::int64_t unix_s(TimePoint now) const;

    // api_answers.cpp: what sessions tell, and what clients are told
    void hear(node::Report report, node::Turn turn);
    void hear(const node::TokenStreamed& token, node::Turn turn);
    void hear(const node::SessionRouted& routed);
    void hear(const node::GenerationFailed& failed, node::Turn turn);
    void tell_piece(
        Exchanges::iterator at, std::size_t choice, Choice::Piece piece, node::Turn turn
    );
    void finish(Exchanges::iterator at, node::Turn turn);
    void say(Exchanges::iterator at, std::string events, bool last, node::Turn turn);
    [[nodiscard]] Usage usage_of(const Exchange& exchange) const;

    // api_endpoints.cpp: everything but texts
    [[nodiscard]] Answer<std::string> answer_simple(const node::WebRequest& request) const;
    bool answer_watching(const node::WebRequest& request, node::Turn turn);
    void tell_watchers(node::Turn turn);
    void ask_for_peers(node::Turn turn);
    [[nodiscard]] std::string state_event(TimePoint now) const;
    [[nodiscard]] std::string state_json(TimePoint now) const;

    Options options_;
    sessions::SessionClient client_;
    FairQueue queue_;
    ApiFigures figures_;
    SwarmState state_;
    Exchanges exchanges_;
    Jobs jobs_;
    /// Times at which exchanges are looked at although nothing happens; each exchange once, and
    /// never later than something is due for it.
    std::set<std::pair<TimePoint, std::uint64_t>> looks_;
    std::set<std::pair<TimePoint, std::uint64_t>> resting_;  // jobs by the end of their rest
    std::map<swarm::JobId, Reading> readings_;
    std::size_t reading_bytes_ = 0;
    std::map<std::string, std::size_t> under_way_by_user_;
    std::size_t under_way_ = 0;
    std::set<std::uint64_t> watchers_;
    TimePoint watchers_due_ = swarm::kNever;
    std::optional<TimePoint> started_;
    std::uint64_t numbers_ = 0;  // that jobs and answers have got
    double text_s_ = 1;          // how long a text takes: a moving mean
    bool ended_ = false;
};

}  // namespace stacking::api
