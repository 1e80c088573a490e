// Second half of SessionFlow: the peers of the hops, and how a new route replaces a failed one. The
// first half, session_flow.cpp, has the path and the tokens. Both work on the same session, so they
// are one class; together they would exceed the bound of 450 lines for a file.
#include "stacking/row_coding.hpp"
#include "stacking/sessions/session_flow.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>

namespace stacking::sessions {

using protocol::SessionReason;
using namespace std::chrono_literals;

namespace {

constexpr swarm::Duration kFullLeast = 100ms;
constexpr swarm::Duration kFullMost = 30s;
constexpr int kTimeoutsOfALaggard = 2;  // timeouts in a row until a hop that answers is left

const char* text_of(SessionReason reason) {
    switch (reason) {
        case SessionReason::Full:
            return "a peer has no room";
        case SessionReason::Unknown:
            return "a peer forgot the session";
        case SessionReason::Mismatch:
            return "a peer serves other layers or another model";
        case SessionReason::Gap:
            return "rows did not continue a cache";
        case SessionReason::Invalid:
            return "rows of the wrong shape, or not finite";
        case SessionReason::NextLost:
        case SessionReason::PreviousLost:
            return "two peers lost each other";
        case SessionReason::Failed:
            break;
    }
    return "a peer could not compute";
}

}  // namespace

/// Peers of the hops next to this one. A peer that is not among them saves no hop, but survives the
/// loss of its neighbours.
std::vector<PeerId> SessionFlow::neighbours(std::size_t hop) const {
    std::vector<PeerId> peers;
    for (const std::size_t other : {hop - 1, hop + 1}) {
        if (other < hops_.size() && hops_[other].peer) {
            peers.push_back(*hops_[other].peer);
        }
    }
    return peers;
}

bool SessionFlow::fill_hops(node::Turn turn) {
    due_ = swarm::kNever;
    bool all = true;
    for (std::size_t i = 0; i < hops_.size(); ++i) {
        Hop& hop = hops_[i];
        if (hop.peer) {
            continue;
        }
        const router::SessionWork work{static_cast<double>(known()), static_cast<double>(left_)};
        const std::vector<PeerId> hosts = hop.context->hosts_of(hop.layers);
        router::SessionRouter& router = hop.context->router;
        hop.peer = keeper(i, turn.now);
        hop.follows = hop.peer.has_value() && follows_.has_value();
        if (!hop.peer) {
            hop.peer = router.pick(hosts, work, turn.now, neighbours(i));
        }
        if (!hop.peer) {
            hop.peer = router.pick(hosts, work, turn.now);
        }
        if (hop.peer) {
            hop.placed = work;
            hop.address = hop.context->address_of(*hop.peer);
            hop.filled_upto = 0;
            hop.is_new = true;
            router.placed(*hop.peer, work);
            continue;
        }
        all = false;
        const TimePoint usable_at = router.usable_at(hosts);
        due_ = std::min(due_, usable_at);
        const bool begun = known() > request_.prompt.size();
        if (!begun && router.all_full(hosts, turn.now)) {
            const auto wait = std::chrono::ceil<std::chrono::seconds>(usable_at - turn.now);
            fail(
                "the peers of layers " + std::to_string(hop.layers.first) + " to " +
                    std::to_string(hop.layers.end - 1) + " are full; try again in about " +
                    std::to_string(wait.count()) + " s",
                turn,
                wait
            );
            return false;
        }
    }
    return all;
}

void SessionFlow::new_route(node::Turn turn) {
    if (is_done()) {
        return;
    }
    phase_ = Phase::Waiting;
    context_.open.erase(session_);
    drop_lost_leader(turn.now);
    seek_beginning(turn);
    if (!fill_hops(turn) || waits_for_leader(turn)) {
        return;  // the end of a rest, a new peer, or the leader's token calls this function again
    }
    ++route_;
    note_route();
    phase_ = Phase::Opening;
    for (Hop& hop : hops_) {
        hop.asked = hop.opened = false;
    }
    constexpr int kOpeningDoublingsMax = 4;
    due_ = turn.now + kOpenWithin * (1 << std::min(openings_, kOpeningDoublingsMax));
    open_hops(turn);
}

void SessionFlow::open_hops(node::Turn turn) {
    using node::Lane;
    for (std::uint32_t i = 0; i < hops_.size(); ++i) {
        Hop& hop = hops_[i];
        const PeerId peer = *hop.peer;
        context_.links.want(peer, Lane::Control, hop.address, turn);
        bool up = context_.links.is_up(peer, Lane::Control);
        if (i == 0) {
            context_.links.want(peer, Lane::Bulk, hop.address, turn);
            up = up && context_.links.is_up(peer, Lane::Bulk);
        }
        if (hop.asked || !up) {
            continue;
        }
        hop.asked = true;
        protocol::SessionOpen open{
            .id = {session_, route_, i},
            .hops = static_cast<std::uint32_t>(hops_.size()),
            .model = hop.context->model,
            .layers = hop.layers,
            .positions = positions(),
            .previous = {.peer = context_.self, .address = ""},
            .next = {.peer = context_.self, .address = ""},
            .exact = request_.exact,
            .exit_threshold = request_.exit_threshold,
            .sampling = request_.sampling,
            .tokens_upto = tokens_upto_,
            .codec = hop.codec ? hop.codec : codec_of_link(request_.codecs, i)};
        if (member_ && i + 1 == hops_.size()) {
            const std::size_t prompt = request_.prompt.size();
            const std::size_t from = prompt - std::min(prompt, protocol::kJudgedTokensMax);
            open.text_from = static_cast<std::uint32_t>(from);
            open.text.assign(
                request_.prompt.begin() + static_cast<std::ptrdiff_t>(from), request_.prompt.end()
            );
        }
        open.prefix = kept_names_;
        if (i > 0) {
            open.previous = {*hops_[i - 1].peer, hops_[i - 1].address};
        }
        if (i + 1 < hops_.size()) {
            open.next = {*hops_[i + 1].peer, hops_[i + 1].address};
        }
        send(peer, std::move(open), turn);
    }
}

void SessionFlow::take(PeerId from, const protocol::SessionOpened& opened, node::Turn turn) {
    if (opened.id.route != route_ || opened.id.hop >= hops_.size() ||
        hops_[opened.id.hop].peer != from) {
        return;
    }
    Hop& hop = hops_[opened.id.hop];
    if (phase_ == Phase::Running && !answer_) {
        return progress(hop, opened.filled_upto, turn);
    }
    if (phase_ != Phase::Opening) {
        return;
    }
    if (!hop.codec) {
        hop.codec = codec_of_link(request_.codecs, opened.id.hop).value_or(opened.codec);
    }
    if (hop.codec != opened.codec) {
        note_loss("a peer codes rows otherwise than it was asked to", turn.now);
        leave_failed(opened.id.hop, turn);
        return new_route(turn);
    }
    hop.opened = true;
    hop.filled_upto = std::min(opened.filled_upto, known());
    hop.kept_from = opened.kept_from;
    if (std::all_of(hops_.begin(), hops_.end(), [](const Hop& one) { return one.opened; })) {
        resume(turn);
    }
}

std::uint32_t SessionFlow::read_by_all() const {
    std::uint32_t read = known();
    for (const Hop& hop : hops_) {
        read = std::min(read, hop.read_upto);
    }
    return read;
}

/// Takes a hop's word for what it has read. Waits begin anew, because a peer that reads is alive.
void SessionFlow::progress(Hop& hop, std::uint32_t filled_upto, node::Turn turn) {
    const std::uint32_t upto = std::min(filled_upto, known());
    if (upto <= hop.read_upto) {
        return;
    }
    const std::uint32_t read_before = read_by_all();
    const std::uint32_t rows = upto - hop.read_upto;
    constexpr int kSlower = 4;  // times the last rows' time that the next ones may take
    if (hop.read_at) {
        row_allowance_ = std::max(row_allowance_, kSlower * (turn.now - *hop.read_at) / rows);
    }
    progress_ += rows;
    hop.read_upto = upto;
    hop.read_at = turn.now;
    hop.filled_upto = std::max(hop.filled_upto, upto);
    if (progress_ > kReadingsMax * hops_.size() * known()) {
        return;
    }
    patient_since_ = sign_of_life_ = turn.now;
    if (OpenText* const open = context_.open.find(session_)) {
        open->moved_at = turn.now;
    }
    due_ = turn.now + silent_max();
    const std::uint32_t read = read_by_all();
    if (read > read_before) {
        turn.out.add(node::Tell{
            node::PromptRead{request_.request, read, known(), member_.value_or(0)}});
    }
}

void SessionFlow::resume(node::Turn turn) {
    if (timeouts_ >= kTimeoutsOfALaggard && leave_laggard(turn)) {
        return new_route(turn);
    }
    begin_behind_reused();
    guessed_.clear();
    // Every hop makes the last call again, so that its token comes by this route. From the last hop
    // back to the first, each hop begins where its cache ends, or further below if the next hop
    // needs rows that this hop no longer has.
    std::vector<std::uint32_t> from(hops_.size() + 1, calls_.back());
    for (std::size_t i = hops_.size(); i-- > 0;) {
        const Hop& hop = hops_[i];
        const bool is_last = i + 1 == hops_.size();
        const std::uint32_t next_from = is_last ? calls_.back() : from[i + 1];
        from[i] = std::min(hop.filled_upto, calls_.back());
        if (!is_last && next_from < from[i] && hop.kept_from > next_from) {
            from[i] = next_from;
        }
    }
    replaying_ = replaying_ || route_ > 1;
    for (std::uint32_t i = 0; i < hops_.size(); ++i) {
        hops_[i].read_upto = from[i];
        // A later hop begins when rows come, so its first progress tells no speed.
        hops_[i].read_at = i == 0 ? std::optional(turn.now) : std::nullopt;
        send(
            *hops_[i].peer,
            protocol::SessionResume{{session_, route_, i}, from[i], from[i + 1]},
            turn
        );
    }
    phase_ = Phase::Running;
    node::SessionRouted routed{
        request_.request, route_, {}, {}, member_.value_or(0), reused_.value_or(0)};
    for (Hop& hop : hops_) {
        routed.peers.push_back(*hop.peer);
        routed.codecs.push_back(*hop.codec);
        const std::uint32_t filled = std::min(hop.filled_upto, calls_.back());
        if (route_ > 1 && known() > request_.prompt.size()) {
            routed.refilled += calls_.back() - filled;
            routed.found += hop.is_new ? filled : 0;
        }
        hop.is_new = false;
    }
    routed.codecs.pop_back();  // no rows leave the last hop
    turn.out.add(node::Tell{std::move(routed)});
    send_rows(from[0], turn);
    due_ = turn.now + silent_max();
    sign_of_life_ = turn.now;
}

void SessionFlow::note_loss(std::string reason, TimePoint now) {
    trouble_ = reason;
    if (!failover_ && known() > request_.prompt.size()) {
        failover_ = Failover{std::move(reason), now - sign_of_life_, now};
    }
}

void SessionFlow::leave(Hop& hop, node::Turn turn, const std::vector<std::uint64_t>& names) {
    if (!hop.peer) {
        return;
    }
    const PeerId peer = *hop.peer;
    hop.context->router.left(peer, hop.placed);
    hop.peer.reset();
    hop.follows = false;
    hop.strikes = 0;
    const auto stays = [peer](const Hop& other) { return other.peer == peer; };
    if (std::none_of(hops_.begin(), hops_.end(), stays)) {
        send(peer, protocol::SessionClose{session_, names}, turn);
    }
}

void SessionFlow::leave_failed(std::size_t hop, node::Turn turn) {
    if (hops_[hop].peer) {
        hops_[hop].context->router.rest(*hops_[hop].peer, turn.now);
        leave(hops_[hop], turn);
    }
}

void SessionFlow::lost(PeerId peer, node::Lane lane, node::Turn turn) {
    std::vector<ClientContext*> lost_by;
    for (std::size_t i = 0; i < hops_.size(); ++i) {
        if (hops_[i].peer == peer && (lane == node::Lane::Control || i == 0)) {
            leave(hops_[i], turn);
            if (std::ranges::find(lost_by, hops_[i].context) == lost_by.end()) {
                lost_by.push_back(hops_[i].context);
            }
        }
    }
    if (!lost_by.empty()) {
        for (ClientContext* const context : lost_by) {
            context->router.rest(peer, turn.now);
        }
        note_loss("the link to a peer broke", turn.now);
        new_route(turn);
    }
}

void SessionFlow::strike(std::size_t hop, node::Turn turn) {
    if (++hops_[hop].strikes >= kStrikesMax) {
        leave_failed(hop, turn);
    }
}

void SessionFlow::take(PeerId from, const protocol::SessionTrouble& trouble, node::Turn turn) {
    const std::size_t hop = trouble.id.hop;
    const bool ours = (phase_ == Phase::Opening || phase_ == Phase::Running) &&
                      trouble.id.route == route_ && hop < hops_.size() &&
                      (hops_[hop].peer == from || (hop > 0 && hops_[hop - 1].peer == from));
    if (!ours) {
        return;
    }
    note_loss(text_of(trouble.reason), turn.now);
    switch (trouble.reason) {
        case SessionReason::Full: {
            const auto wait = std::chrono::milliseconds(trouble.wait_ms);
            hops_[hop].context->router.full(
                *hops_[hop].peer,
                turn.now + std::clamp<swarm::Duration>(wait, kFullLeast, kFullMost)
            );
            leave(hops_[hop], turn);
            break;
        }
        case SessionReason::Mismatch:
        case SessionReason::Failed:
            leave_failed(hop, turn);
            break;
        case SessionReason::NextLost:
            leave_failed(std::min(hop + 1, hops_.size() - 1), turn);
            break;
        case SessionReason::PreviousLost:
        case SessionReason::Invalid:
            leave_failed(hop == 0 ? 0 : hop - 1, turn);
            break;
        case SessionReason::Gap:
            if (hop > 0) {
                strike(hop - 1, turn);  // one of the two hops counts wrong
            }
            strike(hop, turn);
            break;
        case SessionReason::Unknown:
            strike(hop, turn);
            break;
    }
    new_route(turn);
}

void SessionFlow::timed_out(node::Turn turn) {
    note_loss("a peer was silent for too long", turn.now);
    if (phase_ == Phase::Running) {
        ++timeouts_;  // the next route's answers show which peer is silent
        return new_route(turn);
    }
    ++openings_;
    const auto unasked = [](const Hop& hop) { return !hop.asked; };
    const bool any_unasked = std::any_of(hops_.begin(), hops_.end(), unasked);
    for (std::size_t i = 0; i < hops_.size(); ++i) {
        if (any_unasked ? !hops_[i].asked : !hops_[i].opened) {
            leave_failed(i, turn);
        }
    }
    new_route(turn);
}

/// Leaves one peer when all hops answer and yet no token comes. It is the peer of the first hop
/// that lacks rows which the hop before it has, or of the last hop, which samples, if no hop lacks
/// rows. Each further timeout moves the choice one hop back, whose rows may be the cause.
/// Returns false when no other peer could take the place.
bool SessionFlow::leave_laggard(node::Turn turn) {
    std::size_t laggard = hops_.size() - 1;
    for (std::size_t i = hops_.size(); i-- > 0;) {
        const bool has_rows = i == 0 || hops_[i - 1].filled_upto >= known();
        laggard = hops_[i].filled_upto < known() && has_rows ? i : laggard;
    }
    const auto again = static_cast<std::size_t>(timeouts_ - kTimeoutsOfALaggard) % hops_.size();
    laggard = (laggard + hops_.size() - again) % hops_.size();
    const std::vector<PeerId> self{*hops_[laggard].peer};
    const std::vector<PeerId> hosts = hops_[laggard].context->hosts_of(hops_[laggard].layers);
    if (!hops_[laggard].context->router.pick(hosts, {}, turn.now, self)) {
        return false;
    }
    leave_failed(laggard, turn);
    return true;
}

}  // namespace stacking::sessions
