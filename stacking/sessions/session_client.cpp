#include "stacking/sessions/session_client.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>

namespace stacking::sessions {
namespace {

/// Empty when the request can be served.
std::string refusal(const node::SessionRequest& request, std::size_t sessions) {
    if (request.prompt.empty()) {
        return "the prompt is empty; give at least one token";
    }
    if (request.tokens == 0) {
        return "no tokens were asked for; ask for at least one";
    }
    if (request.prompt.size() > protocol::kPositionsMax ||
        request.tokens > protocol::kPositionsMax - request.prompt.size()) {
        return "prompt and tokens are more than " + std::to_string(protocol::kPositionsMax) +
               " positions; ask for less";
    }
    if (request.path.size() > protocol::kHopsMax) {
        return "the path has more than " + std::to_string(protocol::kHopsMax) + " hops";
    }
    if (request.sampling.top > protocol::kTopTokensMax) {
        return "at most " + std::to_string(protocol::kTopTokensMax) +
               " candidates can be asked for";
    }
    return sessions < SessionClient::kRequestsMax ? "" : "too many requests at once; try later";
}

}  // namespace

SessionClient::SessionClient(Options options)
    : options_(std::move(options)),
      directory_(options_.directory, options_.directory_address),
      context_{
          .self = options_.self,
          .model = options_.model,
          .vocabulary = options_.vocabulary,
          .patience = options_.patience,
          .links = {},
          .router = router::SessionRouter(options_.incarnation.value),
          .located = {},
          .directory_failure = {}} {}

void SessionClient::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    ended_ = ended_ || std::holds_alternative<node::Stop>(event);
    if (ended_) {
        return;
    }
    std::visit([&](const auto& occurred) { handle(occurred, turn); }, event);
    for (auto& [session, flow] : flows_) {
        flow.advance(turn);
        if (flow.is_waiting()) {
            directory_.hurry();
        }
    }
    if (directory_.wake(turn)) {
        send(directory_.peer(), protocol::Locate{options_.model}, turn);
    }
    std::erase_if(flows_, [](const auto& item) { return item.second.is_done(); });
}

TimePoint SessionClient::next_deadline() const {
    TimePoint due = directory_.next_deadline();
    for (const auto& [session, flow] : flows_) {
        due = std::min(due, flow.next_deadline());
    }
    return ended_ ? swarm::kNever : due;
}

void SessionClient::handle(const node::LinkUp& up, node::Turn turn) {
    directory_.on(up, turn.now);
    context_.directory_failure = directory_.failure();
    context_.links.on(up);
}

void SessionClient::handle(const node::LinkDown& down, node::Turn turn) {
    context_.links.on(down);
    directory_.on(down, turn.now);
    for (auto& [session, flow] : flows_) {
        flow.lost(down.peer, down.lane, turn);
    }
}

void SessionClient::handle(const node::DialFailed& failed, node::Turn turn) {
    context_.links.on(failed);
    directory_.on(failed, turn.now);
    context_.directory_failure = directory_.failure();
    if (!context_.links.is_up(failed.peer, failed.lane)) {
        for (auto& [session, flow] : flows_) {
            flow.lost(failed.peer, failed.lane, turn);
        }
    }
}

void SessionClient::handle(const node::Received& received, node::Turn turn) {
    const auto give = [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (requires(SessionFlow & flow) { flow.take(received.peer, body, turn); }) {
            const auto found = flows_.find(body.id.session);
            if (found != flows_.end()) {
                found->second.take(received.peer, body, turn);
            }
        } else if constexpr (std::is_same_v<Body, protocol::Located>) {
            if (received.peer == directory_.peer() && body.model == options_.model) {
                context_.located = body;
            }
        }
    };
    std::visit(give, received.message.body);
}

void SessionClient::handle(const node::Asked& asked, node::Turn turn) {
    if (const auto* request = std::get_if<node::SessionRequest>(&asked.request)) {
        start(*request, turn);
    } else if (const auto* cancel = std::get_if<node::CancelRequest>(&asked.request)) {
        for (auto& [session, flow] : flows_) {
            if (flow.request() == cancel->request) {
                flow.cancel(turn);
            }
        }
    }
}

void SessionClient::start(const node::SessionRequest& request, node::Turn turn) {
    std::string why = refusal(request, flows_.size());
    if (!why.empty()) {
        turn.out.add(node::Tell{node::GenerationFailed{request.request, std::move(why)}});
        return;
    }
    constexpr unsigned kCounterBits = 24;
    const std::uint64_t start_bits = swarm::mix_bits(options_.incarnation.value) << kCounterBits;
    const std::uint64_t session = start_bits | (++started_ & ((1U << kCounterBits) - 1));
    flows_.try_emplace(session, session, request, context_, turn.now);
}

}  // namespace stacking::sessions
