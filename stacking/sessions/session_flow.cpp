#include "stacking/sessions/session_flow.hpp"

#include "stacking/model_path.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <map>

namespace stacking::sessions {
void RecentCalls::add(swarm::Duration took) {
    if (times_.size() < kKept) {
        times_.push_back(took);
    } else {
        times_[count_ % kKept] = took;
    }
    ++count_;
}

swarm::Duration RecentCalls::p99() const {
    if (times_.empty()) {
        return {};
    }
    std::vector<swarm::Duration> sorted = times_;
    const std::size_t rank = (sorted.size() * 99 + 99) / 100 - 1;
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
}

std::vector<PeerId> ClientContext::hosts_of(protocol::LayerRange layers) const {
    std::vector<PeerId> peers;
    for (const protocol::HostInfo& host : located.hosts) {
        if (host.hosted == layers) {
            peers.push_back(host.peer);
        }
    }
    return peers;
}

std::string ClientContext::address_of(PeerId peer) const {
    for (const protocol::HostInfo& host : located.hosts) {
        if (host.peer == peer) {
            return host.address;
        }
    }
    return {};
}

std::optional<swarm::Digest> ClientContext::weights_of(PeerId peer) const {
    const auto found = std::ranges::find(located.hosts, peer, &protocol::HostInfo::peer);
    return found == located.hosts.end() ? std::nullopt : std::optional(found->weights);
}

std::vector<protocol::LayerRange> ClientContext::stages(std::optional<protocol::LayerRange> layers
) const {
    const protocol::LayerRange all = layers.value_or(protocol::LayerRange{0, located.layers});
    std::map<protocol::LayerRange, std::size_t> hosts;
    for (const protocol::HostInfo& host : located.hosts) {
        ++hosts[host.hosted];
    }
    // Ranges from which others lead to the end, last ones first: so no range that is served alone
    // keeps a path from being found.
    std::map<std::uint32_t, protocol::LayerRange> best;  // by first layer: with the most peers
    for (auto at = hosts.rbegin(); at != hosts.rend(); ++at) {
        const auto& [range, count] = *at;
        const bool leads_on = range.end == all.end || best.contains(range.end);
        if (range.first < all.first || range.end > all.end || !leads_on) {
            continue;
        }
        const auto [known, is_first] = best.try_emplace(range.first, range);
        if (!is_first && count >= hosts.at(known->second)) {
            known->second = range;
        }
    }
    std::vector<protocol::LayerRange> stages;
    for (std::uint32_t upto = all.first; upto < all.end; upto = stages.back().end) {
        const auto found = best.find(upto);
        if (found == best.end()) {
            return {};
        }
        stages.push_back(found->second);
    }
    return stages;
}

bool SessionFlow::goes_through(const ClientContext& context) const {
    return std::ranges::any_of(hops_, [&](const Hop& hop) { return hop.context == &context; });
}

SessionFlow::SessionFlow(
    std::uint64_t session,
    node::SessionRequest request,
    std::vector<Part> parts,
    TimePoint now,
    std::optional<std::uint32_t> member
)
    : session_(session),
      request_(std::move(request)),
      parts_(std::move(parts)),
      context_(*parts_.back().context),
      tokens_(request_.prompt),
      left_(request_.tokens),
      token_since_(now),
      patient_since_(now),
      sent_at_(now),
      sign_of_life_(now),
      member_(member) {
    for (std::uint32_t first = 0; first < known(); first += protocol::kSessionRowsMax) {
        calls_.push_back(first);
    }
}

std::uint32_t SessionFlow::positions() const {
    return static_cast<std::uint32_t>(request_.prompt.size()) + request_.tokens;
}

bool SessionFlow::lay_out_path(node::Turn turn) {
    std::vector<Hop> hops;
    std::vector<protocol::LayerRange> stages;
    for (const Part& part : parts_) {
        if (part.bridged) {
            tokens_upto_ = static_cast<std::uint32_t>(hops.size());
        }
        stages = part.context->stages(part.layers);
        if (stages.empty()) {
            trouble_ = part.context->located.layers == 0
                           ? "nobody serves " + part.context->name + " yet"
                           : "some layers of " + part.context->name + " are served by nobody";
            return false;
        }
        for (const protocol::LayerRange& layers : stages) {
            Hop& hop = hops.emplace_back();
            hop.context = part.context;
            hop.layers = layers;
        }
    }
    if (hops.size() > protocol::kHopsMax) {
        fail("the path has more than " + std::to_string(protocol::kHopsMax) + " hops", turn);
        return false;
    }
    trouble_.clear();
    if (request_.sampling.reads_text()) {
        const std::size_t path = request_.path.empty() ? hops.size() : request_.path.size();
        tokens_upto_ = static_cast<std::uint32_t>(path) - 1;
    }
    if (!request_.path.empty()) {
        return follow_path(stages, turn);
    }
    hops_ = std::move(hops);
    return true;
}

/// Lays out the path that the request names, over the stages of one model.
bool SessionFlow::follow_path(const std::vector<protocol::LayerRange>& stages, node::Turn turn) {
    const auto count = static_cast<std::uint32_t>(stages.size());
    const auto embeddings = context_.tied ? Embeddings::Tied : Embeddings::Untied;
    std::string refusal = path_refusal(request_.path, count, embeddings);
    if (!refusal.empty()) {
        fail(std::move(refusal), turn);
        return false;
    }
    for (const std::uint32_t stage : request_.path) {
        Hop& hop = hops_.emplace_back();
        hop.context = &context_;
        hop.layers = stages[stage];
    }
    return true;
}

void SessionFlow::advance(node::Turn turn) {
    if (is_done()) {
        return;
    }
    if (!answer_ && patient_since_ + context_.patience <= turn.now) {
        const auto waited = std::chrono::duration_cast<std::chrono::seconds>(context_.patience);
        const std::string what = progress_ > 0 ? "no progress in " : "no token in ";
        return fail(what + std::to_string(waited.count()) + " s: " + diagnosis(), turn);
    }
    if (phase_ != Phase::Waiting && due_ <= turn.now) {
        timed_out(turn);
    }
    if (phase_ == Phase::Waiting && hops_.empty() && lay_out_path(turn)) {
        name_beginning();
    }
    if (phase_ == Phase::Waiting && !hops_.empty()) {
        new_route(turn);
    }
    if (phase_ == Phase::Opening) {
        open_hops(turn);
    }
}

TimePoint SessionFlow::next_deadline() const {
    if (is_done()) {
        return swarm::kNever;
    }
    return answer_ ? due_ : std::min(due_, patient_since_ + context_.patience);
}

void SessionFlow::send_frame(std::uint32_t position, std::uint32_t end, node::Turn turn) {
    protocol::SessionRows rows{
        .id = {session_, route_, 0},
        .position = position,
        .rows = end - position,
        .wanted = end == known(),
        .tokens = {},
        .hop_us = {},
        .guessed = 0};
    rows.tokens.assign(tokens_.begin() + position, tokens_.begin() + end);
    if (rows.wanted) {
        rows.guessed = static_cast<std::uint32_t>(guessed_.size());
        rows.rows += rows.guessed;
        rows.tokens.insert(rows.tokens.end(), guessed_.begin(), guessed_.end());
    }
    send(*hops_.front().peer, std::move(rows), turn);
}

void SessionFlow::send_rows(std::uint32_t from, node::Turn turn) {
    sent_at_ = turn.now;
    if (!request_.exact) {
        for (std::uint32_t at = from; at < known(); at += protocol::kSessionRowsMax) {
            send_frame(at, std::min(at + protocol::kSessionRowsMax, known()), turn);
        }
        return;
    }
    const auto first = std::upper_bound(calls_.begin(), calls_.end(), from) - 1;
    for (auto call = first; call != calls_.end(); ++call) {
        send_frame(std::max(*call, from), call + 1 == calls_.end() ? known() : *(call + 1), turn);
    }
}

swarm::Duration SessionFlow::silent_max() const {
    const swarm::Duration own = std::max<swarm::Duration>(kSilentLeast, kSilentP99 * recent_.p99());
    std::uint32_t filled = known();
    for (const Hop& hop : hops_) {
        filled = std::min(filled, hop.filled_upto);
    }
    // Hops that read tell their progress call by call. Until one has told, the whole text may be
    // under way, but so that another peer can still be tried within the patience.
    const std::uint32_t left = known() - filled;
    const std::uint32_t rows = progress_ > 0 ? std::min(left, protocol::kSessionRowsMax) : left;
    const swarm::Duration reading =
        std::min<swarm::Duration>(rows * row_allowance_, context_.patience / 2);
    return own * (1 << std::min(timeouts_, kDoublingsMax)) + reading;
}

void SessionFlow::measure(TimePoint now) {
    const bool prompt = known() == request_.prompt.size();
    if (replaying_) {
        return;  // the time of a refill says nothing about the time of a token
    }
    if (!prompt) {
        recent_.add(now - sent_at_);
    }
    for (const Hop& hop : hops_) {
        if (prompt && reused_.value_or(0) > 0) {
            continue;  // the rest of a prompt is too short to tell a speed
        }
        if (prompt) {
            hop.context->router.prefilled(*hop.peer, known(), sent_at_, now);
        } else {
            hop.context->router.decoded(*hop.peer, sent_at_, now);
        }
    }
}

void SessionFlow::take(PeerId from, const protocol::SessionToken& token, node::Turn turn) {
    const bool expected = phase_ == Phase::Running && token.id.route == route_ &&
                          token.id.hop < hops_.size() && hops_[token.id.hop].peer == from &&
                          token.position == known();
    if (!expected) {
        return;
    }
    if (!is_possible(token)) {
        note_loss("a peer said of a token what its model cannot", turn.now);
        leave_failed(token.id.hop, turn);
        return new_route(turn);
    }
    measure(turn.now);
    for (Hop& hop : hops_) {
        hop.strikes = 0;
        hop.filled_upto = hop.read_upto = known() + right_guesses(token);
        hop.context->router.succeeded(*hop.peer);
    }
    if (failover_) {
        turn.out.add(node::Tell{node::SessionMoved{
            request_.request,
            token.position,
            failover_->reason,
            failover_->detected,
            turn.now - failover_->noticed,
            member_.value_or(0)}});
        failover_.reset();
    }
    note_read();
    if (member_) {
        answer_ = Answer{token.top, token.text_log_probability};
        due_ = swarm::kNever;
        return;
    }
    take_tokens(token, turn);
}

/// Whether the model could give this answer. The client cannot check more of a peer's answer.
bool SessionFlow::is_possible(const protocol::SessionToken& token) const {
    constexpr double kRounding = 1e-6;
    const auto exists = [this](std::uint32_t id) {
        return context_.vocabulary == 0 || id < context_.vocabulary;
    };
    const auto possible = [&](const protocol::TokenScore& score) {
        return exists(score.token) && score.log_probability <= kRounding;
    };
    const auto drawn = [&](const protocol::DrawnToken& further) {
        return exists(further.token) && std::ranges::all_of(further.top, possible);
    };
    return exists(token.token) && std::ranges::all_of(token.top, possible) &&
           std::ranges::all_of(token.further, drawn) &&
           token.text_log_probability <= kRounding * protocol::kJudgedTokensMax &&
           !(member_ && token.top.empty());
}

void SessionFlow::go_on(TokenId token, node::Turn turn) {
    answer_.reset();
    if (add(token, turn)) {
        ask_for_next(turn);
    }
}

/// Adds a token to the text. Returns false after the last one, which ends the session.
bool SessionFlow::add(TokenId token, node::Turn turn) {
    if (--left_ == 0) {
        finish(Ending::Keep, turn);
        return false;
    }
    tokens_.push_back(token);
    return true;
}

/// Sends the last token, so that the next one comes.
void SessionFlow::ask_for_next(node::Turn turn) {
    calls_.push_back(known() - 1);
    token_since_ = patient_since_ = sign_of_life_ = turn.now;
    progress_ = 0;
    row_allowance_ = kRowAllowance;
    timeouts_ = openings_ = 0;
    if (phase_ != Phase::Running) {
        return;  // the route that is being opened sends the token
    }
    replaying_ = false;
    guessed_ = guess();
    send_rows(calls_.back(), turn);
    due_ = turn.now + silent_max();
}

/// Says what is known about the wait for the next token, which has lasted too long.
std::string SessionFlow::diagnosis() const {
    const auto layers_of = [](const Hop& hop) {
        return "layers " + std::to_string(hop.layers.first) + " to " +
               std::to_string(hop.layers.end - 1) + " of " + hop.context->name;
    };
    std::string known_so;
    if (hops_.empty()) {
        const bool located =
            std::ranges::all_of(parts_, [](const Part& part) { return part.context->is_located; });
        const std::string& failure = context_.directory.failure();
        if (!failure.empty()) {
            return "the directory cannot be reached: " + failure;
        }
        return located ? trouble_ + "; are all layers of the model served?"
                       : "the directory has not answered";
    }
    if (follows_) {
        known_so = "another answer with this beginning is read first";
    } else if (phase_ == Phase::Waiting) {
        const auto without = std::ranges::find_if(hops_, [](const Hop& hop) { return !hop.peer; });
        known_so = "no peer is left for the ";
        known_so += without == hops_.end() ? "path" : layers_of(*without);
    } else if (phase_ == Phase::Opening) {
        const auto closed = std::ranges::find_if(hops_, [](const Hop& hop) { return !hop.opened; });
        known_so = "the session is not open at the peer of the ";
        known_so += closed == hops_.end() ? "path" : layers_of(*closed);
    } else {
        known_so = "the peers have read " + std::to_string(read_by_all()) + " of " +
                   std::to_string(known()) + " tokens, and are still connected";
    }
    return trouble_.empty() ? known_so : known_so + "; the last trouble: " + trouble_;
}

void SessionFlow::finish(Ending ending, node::Turn turn) {
    const std::vector<std::uint64_t> names =
        ending == Ending::Keep ? keep_text(turn.now) : std::vector<std::uint64_t>{};
    for (Hop& hop : hops_) {
        leave(hop, turn, names);
    }
    context_.open.erase(session_);
    phase_ = Phase::Done;
    due_ = swarm::kNever;
}

void SessionFlow::fail(
    std::string reason, node::Turn turn, std::optional<swarm::Duration> retry_after
) {
    if (!member_) {
        turn.out.add(node::Tell{node::GenerationFailed{request_.request, reason, retry_after}});
    }
    failure_ = std::move(reason);
    finish(Ending::Forget, turn);
}

void SessionFlow::cancel(node::Turn turn) {
    finish(Ending::Keep, turn);
}

}  // namespace stacking::sessions
