#include "stacking/sessions/session_client.hpp"

#include "stacking/row_coding.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/node/wrong_place.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cmath>

namespace stacking::sessions {
namespace {

/// A text of some hundred tokens may end within this time.
constexpr swarm::Duration kRetryAfter = std::chrono::seconds(5);

/// Says why nobody draws tokens so; empty when somebody does.
std::string refusal_of_draw(const node::SessionRequest& request) {
    const protocol::Sampling& sampling = request.sampling;
    const auto is_share = [](double value) { return value >= 0 && value <= 1; };
    if (!(sampling.temperature >= 0 && std::isfinite(sampling.temperature)) ||
        !is_share(sampling.top_p) || sampling.top_k > protocol::kTopTokensMax ||
        !is_share(sampling.min_p)) {
        return "a temperature is from 0, top-p and min-p are at most 1, and top-k is at most " +
               std::to_string(protocol::kTopTokensMax);
    }
    const auto is_number = [](const protocol::TokenBias& bias) { return std::isfinite(bias.bias); };
    if (!(sampling.repetition_penalty >= 0) || !std::isfinite(sampling.repetition_penalty) ||
        !std::isfinite(sampling.presence_penalty) || !std::isfinite(sampling.frequency_penalty) ||
        !std::ranges::all_of(sampling.biases, is_number)) {
        return "penalties and biases are numbers, and a penalty of repetition is from 0";
    }
    if (sampling.biases.size() > protocol::kTokenBiasesMax) {
        return "at most " + std::to_string(protocol::kTokenBiasesMax) + " tokens can have a bias";
    }
    if (!request.members.empty() && (sampling.reads_text() || !sampling.biases.empty())) {
        return "the members of an ensemble are mixed without penalties and biases";
    }
    return "";
}

/// Says why the request cannot be served; empty when it can.
std::string refusal(const node::SessionRequest& request) {
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
    if (!request.chain.empty() && !(request.path.empty() && request.members.empty())) {
        return "a chain is a path of its own, and no ensemble";
    }
    if (request.chain.size() > protocol::kHopsMax) {
        return "the chain has more than " + std::to_string(protocol::kHopsMax) + " members";
    }
    if (!request.chain.empty() && request.chain.front().bridged) {
        return "a bridge leads from one member to another: the first one has none";
    }
    const auto is_no_row_codec = [](protocol::RowCodec codec) {
        return codec && find_row_codec(*codec) == nullptr;
    };
    if (std::ranges::any_of(request.codecs, is_no_row_codec)) {
        return "the rows of a session are coded by one of " + row_codec_names();
    }
    if (request.sampling.top > protocol::kCandidatesMax) {
        return "at most " + std::to_string(protocol::kCandidatesMax) +
               " candidates can be asked for";
    }
    const std::string draw = refusal_of_draw(request);
    if (!draw.empty()) {
        return draw;
    }
    const auto bad_prior = [](const node::StackMember& member) {
        return !(member.prior > 0 && std::isfinite(member.prior));
    };
    if (std::ranges::any_of(request.members, bad_prior)) {
        return "the prior of a stack's member must be a positive number";
    }
    return "";
}

}  // namespace

SessionClient::SessionClient(Options options)
    : options_(std::move(options)), directory_(options_.directory, options_.directory_address) {
    SWARM_ASSERT(!options_.models.empty());
    for (const Model& model : options_.models) {
        contexts_.push_back(
            {.self = options_.self,
             .model = model.digest,
             .name = model.name,
             .layers_known = model.layers,
             .vocabulary = model.vocabulary,
             .tied = model.tied,
             .patience = options_.patience,
             .links = links_,
             .directory = directory_,
             .router = router::SessionRouter(options_.incarnation.value),
             .groups = WeightGroups(model.digests),
             .salt = swarm::mix_bits(~options_.incarnation.value)}
        );
    }
}

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
    for (EnsembleFlow& ensemble : ensembles_) {
        ensemble.advance(flows_, turn);
    }
    if (directory_.wake(turn)) {
        for (const ClientContext& context : contexts_) {
            send(directory_.peer(), protocol::Locate{context.model, context.layers_known}, turn);
        }
    }
    std::erase_if(ensembles_, [](const EnsembleFlow& ensemble) { return ensemble.is_done(); });
    std::erase_if(flows_, [](const auto& item) { return item.second.is_done(); });
}

TimePoint SessionClient::next_deadline() const {
    TimePoint due = directory_.next_deadline();
    for (const auto& [session, flow] : flows_) {
        due = std::min(due, flow.next_deadline());
    }
    for (const EnsembleFlow& ensemble : ensembles_) {
        due = std::min(due, ensemble.next_deadline());
    }
    return ended_ ? swarm::kNever : due;
}

node::Allowance SessionClient::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    if (peer == directory_.peer()) {
        return {Acquaintance::Partner, protocol::kLocatedBytesMax, 0};
    }
    const bool listed = std::ranges::any_of(contexts_, [&](const ClientContext& context) {
        return std::ranges::find(context.located.hosts, peer, &protocol::HostInfo::peer) !=
               context.located.hosts.end();
    });
    return node::Allowance::without_tensors(
        listed ? Acquaintance::Partner : Acquaintance::Stranger
    );
}

void SessionClient::handle(const node::LinkUp& up, node::Turn turn) {
    directory_.on(up, turn.now);
    links_.on(up);
}

void SessionClient::handle(const node::LinkDown& down, node::Turn turn) {
    links_.on(down);
    directory_.on(down, turn.now);
    for (ClientContext& context : contexts_) {
        context.kept.doubt(down.peer);
    }
    for (auto& [session, flow] : flows_) {
        flow.lost(down.peer, down.lane, turn);
    }
}

void SessionClient::handle(const node::DialFailed& failed, node::Turn turn) {
    links_.on(failed);
    directory_.on(failed, turn.now);
    if (!links_.is_up(failed.peer, failed.lane)) {
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
        } else if constexpr (std::is_same_v<Body, protocol::Misdirected>) {
            if (received.peer == directory_.peer() && !std::exchange(ended_, true)) {
                const std::string& where = options_.directory_address;
                const auto wanted = protocol::HubKind::Directory;
                turn.out.add(node::Tell{node::wrong_place(where, body.here, wanted)});
            }
        } else if constexpr (std::is_same_v<Body, protocol::Located>) {
            if (received.peer == directory_.peer()) {
                take(body, turn);
            }
        }
    };
    std::visit(give, received.message.body);
}

void SessionClient::take(const protocol::Located& located, node::Turn turn) {
    ClientContext* const context = context_of(located.model);
    const bool fits = context != nullptr && (context->layers_known == 0 || located.layers == 0 ||
                                             located.layers == context->layers_known);
    if (!fits) {
        return;
    }
    const bool under_way = std::ranges::any_of(flows_, [&](const auto& item) {
        return item.second.goes_through(*context);
    });
    const auto use = under_way ? WeightGroups::Use::UnderWay : WeightGroups::Use::Idle;
    context->located = located;
    std::vector<protocol::HostInfo> hosts = located.hosts;
    std::erase_if(hosts, [](const protocol::HostInfo& host) { return host.experts_only; });
    context->located.hosts = context->groups.choose(hosts, context->name, use);
    context->is_located = true;
    context->router.claim(context->located.hosts);
    if (const std::string& news = context->groups.news(); !news.empty()) {
        turn.out.log(node::LogLine::Level::Warning, news);
    }
}

void SessionClient::handle(const node::Asked& asked, node::Turn turn) {
    if (const auto* request = std::get_if<node::SessionRequest>(&asked.request)) {
        start(*request, turn);
    } else if (const auto* cancel = std::get_if<node::CancelRequest>(&asked.request)) {
        for (EnsembleFlow& ensemble : ensembles_) {
            if (ensemble.request() == cancel->request) {
                ensemble.cancel(flows_, turn);
            }
        }
        for (auto& [session, flow] : flows_) {
            if (flow.request() == cancel->request) {
                flow.cancel(turn);
            }
        }
    }
}

ClientContext* SessionClient::context_of(const swarm::Digest& model) {
    const auto found = std::ranges::find(contexts_, model, &ClientContext::model);
    return found == contexts_.end() ? nullptr : &*found;
}

std::uint64_t SessionClient::next_session() {
    constexpr unsigned kCounterBits = 24;
    const std::uint64_t start_bits = swarm::mix_bits(options_.incarnation.value) << kCounterBits;
    return start_bits | (++started_ & ((1U << kCounterBits) - 1));
}

void SessionClient::start(const node::SessionRequest& request, node::Turn turn) {
    std::string why = refusal(request);
    std::vector<ClientContext*> contexts;
    const auto add = [&](const swarm::Digest& model) {
        contexts.push_back(context_of(model));
        const bool fits = contexts.back() != nullptr && contexts.front() != nullptr &&
                          contexts.back()->vocabulary != 0 &&
                          contexts.back()->vocabulary == contexts.front()->vocabulary;
        if (!fits) {
            why = "a member of the stack is not known here, or has another vocabulary";
        }
    };
    std::ranges::for_each(request.members, add, &node::StackMember::model);
    std::ranges::for_each(request.chain, add, &node::ChainMember::model);
    const std::size_t sessions = std::max<std::size_t>(request.members.size(), 1);
    std::optional<swarm::Duration> retry_after;
    if (why.empty() && flows_.size() + sessions > kSessionsMax) {
        why = "too many requests at once; try later";
        retry_after = kRetryAfter;
    }
    if (!why.empty()) {
        node::GenerationFailed failed{request.request, std::move(why), retry_after};
        turn.out.add(node::Tell{std::move(failed)});
        return;
    }
    if (!request.members.empty()) {
        return start_ensemble(request, contexts, turn);
    }
    std::vector<SessionFlow::Part> parts;
    for (std::size_t i = 0; i < request.chain.size(); ++i) {
        parts.push_back({contexts[i], request.chain[i].layers, request.chain[i].bridged});
    }
    if (parts.empty()) {
        parts.push_back({&contexts_.front()});
    }
    const std::uint64_t session = next_session();
    flows_.try_emplace(session, session, request, std::move(parts), turn.now);
}

void SessionClient::start_ensemble(
    const node::SessionRequest& request,
    const std::vector<ClientContext*>& contexts,
    node::Turn turn
) {
    std::vector<std::uint64_t> sessions;
    const node::SessionRequest own = EnsembleFlow::for_member(request);
    for (std::uint32_t member = 0; member < contexts.size(); ++member) {
        const std::uint64_t session = next_session();
        std::vector<SessionFlow::Part> parts{{contexts[member]}};
        flows_.try_emplace(session, session, own, std::move(parts), turn.now, member);
        sessions.push_back(session);
    }
    ensembles_.emplace_back(request, contexts.front()->vocabulary, std::move(sessions), turn.now);
}

}  // namespace stacking::sessions
