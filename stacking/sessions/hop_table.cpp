#include "stacking/sessions/hop_table.hpp"

#include "stacking/row_codec_choice.hpp"
#include "stacking/sessions/client_quota.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>

namespace stacking::sessions {

using compression::CodecId;
using protocol::SessionReason;

HopTable::HopTable(Options options, LinkBook& links)
    : options_(std::move(options)), links_(links), shape_(options_.compute->shape()) {
    if (options_.trunk) {
        const ExpertLenders::Options lenders{
            options_.self, options_.expert_weights, options_.host.hosted, options_.lacking};
        experts_.emplace(ExpertCalls::Options{lenders, shape_.width}, links_);
    }
}

HopTable::Hops::iterator HopTable::find(const protocol::HopId& id, PeerId client) {
    const auto at = hops_.find({id.session, id.hop});
    const bool same =
        at != hops_.end() && at->second.client == client && at->second.open.id.route == id.route;
    return same ? at : hops_.end();
}

/// The first hop takes tokens, a hop with a bridge takes rows and tokens, and any other takes rows.
bool HopTable::fits_the_place(const protocol::SessionOpen& open) const {
    const std::uint32_t hop = open.id.hop;
    const bool begins =
        options_.bridge ? hop > 0 && hop <= open.tokens_upto : hop > 0 || shape_.takes_tokens;
    return begins && (hop + 1 < open.hops || shape_.gives_logits);
}

bool HopTable::fits(const protocol::SessionOpen& open) const {
    const auto known = [this](TokenId token) { return token < shape_.vocabulary; };
    return open.model == options_.host.model && open.layers == options_.host.hosted &&
           fits_the_place(open) && (!open.codec || find_row_codec(*open.codec) != nullptr) &&
           open.positions <= shape_.context && std::ranges::all_of(open.text, known);
}

void HopTable::take(PeerId from, const protocol::SessionOpen& open, node::Turn turn) {
    const auto refuse = [&](SessionReason reason, std::uint32_t wait) {
        send(from, protocol::SessionTrouble{open.id, reason, wait}, turn);
    };
    const Key key{open.id.session, open.id.hop};
    auto at = hops_.find(key);
    if (!fits(open)) {
        return refuse(SessionReason::Mismatch, 0);
    }
    const bool same_codec =
        at == hops_.end() || !open.codec || *open.codec == at->second.codec->id();
    if (!same_codec && at->second.client == from && at->second.open.id.route < open.id.route) {
        remove(at, turn);  // the route of the old codec failed; rows kept in that codec are useless
        at = hops_.end();
    }
    if (at == hops_.end()) {
        if (hops_.size() >= protocol::kSessionHopsMax &&
            !make_room(from, open.id.session, 1, Room::Hops, turn)) {
            return refuse(SessionReason::Full, wait_ms(turn.now));
        }
        return add(from, open, turn);
    }
    Hop& hop = at->second;
    const bool same_path = hop.open.positions == open.positions && hop.open.hops == open.hops &&
                           hop.open.tokens_upto == open.tokens_upto && same_codec;
    if (hop.client != from || !same_path) {
        return refuse(SessionReason::Unknown, 0);
    }
    if (open.id.route <= hop.open.id.route) {
        return;  // the message belongs to an older route
    }
    hop.open = open;
    hop.opened = hop.begun = hop.resumed = hop.troubled = false;
    hop.client_gone.reset();
    hop.queue.clear();
    hop.log.stop_sending();
    hop.expires = turn.now + options_.ttl;
    std::erase(ready_, key);
    see_to_links(hop, turn);
    answer_if_ready(hop, turn);
}

const compression::Codec& HopTable::codec_for(const protocol::SessionOpen& open, TimePoint now) {
    const bool leaves = open.id.hop + 1 < open.hops && open.next.peer != options_.self;
    const CodecId unnamed =
        leaves ? choose_row_codec({lines_.bytes_per_s(open.next.peer, now), shape_.width, rates()})
               : CodecId::None;
    return *find_row_codec(open.codec.value_or(unnamed));
}

void HopTable::add(PeerId from, const protocol::SessionOpen& open, node::Turn turn) {
    const Key key{open.id.session, open.id.hop};
    const bool last = open.id.hop + 1 == open.hops;
    const bool with_tokens = !last && open.id.hop < open.tokens_upto;
    const compression::Codec& codec = codec_for(open, turn.now);
    const std::size_t each = last ? 0 : row_bytes(codec, shape_.width);
    std::uint64_t bytes =
        open.positions * std::uint64_t{each + (with_tokens ? sizeof(TokenId) : 0)};
    const bool keeps = make_room_for_rows(bytes, turn);
    bytes = keeps ? bytes : 0;
    kept_bytes_ += bytes;
    Hop hop{
        .client = from,
        .open = open,
        .codec = &codec,
        .cache = {++caches_},
        .log = RowLog({.row_bytes = each, .with_tokens = with_tokens, .keeps = keeps})};
    hop.kept_bytes = bytes;
    hop.network = links_.network_of(from);
    hop.since = turn.now;
    hop.expires = turn.now + options_.ttl;
    Hop& added = hops_.emplace(key, std::move(hop)).first->second;
    if (keeps) {
        begin_with_kept(added, open.prefix);
    }
    see_to_links(added, turn);
    reserve(key, added, turn);
}

void HopTable::reserve(Key key, Hop& hop, node::Turn turn) {
    using Outcome = swarm::Result<void>;
    const std::uint32_t positions = hop.open.positions;
    device_.submit_for<Outcome>(
        turn,
        0,
        [compute = options_.compute,
         cache = hop.cache,
         positions,
         from = hop.begins_with,
         shared = hop.shared](Outcome& outcome) {
            if (from) {
                outcome = compute->share(*from, cache, shared);
            }
            if (outcome) {
                outcome = compute->reserve(cache, positions);
            }
            if (!outcome) {
                compute->drop(cache);
            }
        },
        [this, key, cache = hop.cache](Outcome& outcome, node::Turn later) {
            const auto at = hops_.find(key);
            if (at == hops_.end() || at->second.cache != cache) {
                return;  // the hop was closed meanwhile; the drop that follows frees the pages
            }
            if (outcome) {
                at->second.reserved = true;
                return answer_if_ready(at->second, later);
            }
            const bool full = outcome.error().reaction == swarm::Reaction::RetryElsewhere;
            Hop& refused = at->second;
            const std::uint64_t room = refused.open.positions;
            const bool is_gone = refused.begins_with && (!full || !kept_.has(*refused.begins_with));
            if (is_gone) {
                begin_empty(refused);
            }
            if (is_gone || (full && !refused.troubled && drop_superfluous(refused, later))) {
                return reserve(key, refused, later);
            }
            if (full && !refused.troubled &&
                make_room(refused.client, key.first, room, Room::Positions, later)) {
                return reserve(key, refused, later);  // the device drops the other's pages before
            }
            give_up(refused, full ? SessionReason::Full : SessionReason::Failed, later);
            remove(at, later);
        }
    );
}

void HopTable::see_to_links(Hop& hop, node::Turn turn) {
    hop.asked_at = turn.now;
    hop.unreached.reset();
    const auto see_to = [&](const protocol::PathPeer& neighbour, SessionReason if_not) {
        // The peer with the smaller id dials, so two peers never dial each other at once.
        if (!(options_.self < neighbour.peer) || links_.is_up(neighbour.peer, node::Lane::Bulk)) {
            return;
        }
        if (told_dials_.take(hop.client, turn.now)) {
            links_.want(neighbour.peer, node::Lane::Bulk, neighbour.address, turn);
        } else {
            hop.unreached = if_not;
        }
    };
    if (!hop.is_last()) {
        see_to(hop.open.next, SessionReason::NextLost);
    }
    if (hop.open.id.hop > 0) {
        see_to(hop.open.previous, SessionReason::PreviousLost);
    }
}

void HopTable::unreached(PeerId peer, node::Turn turn) {
    if (experts_) {
        experts_->unreached(peer, turn);
    }
    for (auto& [key, hop] : hops_) {
        if (hop.troubled) {
            continue;  // its client knows already
        }
        if (!hop.is_last() && hop.open.next.peer == peer) {
            hop.unreached = SessionReason::NextLost;
        } else if (hop.open.id.hop > 0 && hop.open.previous.peer == peer) {
            hop.unreached = SessionReason::PreviousLost;
        }
    }
}

bool HopTable::reaches(const Hop& hop) const {
    const PeerId next = hop.open.next.peer;
    return hop.is_last() || next == options_.self || links_.is_up(next, node::Lane::Bulk);
}

void HopTable::answer_if_ready(Hop& hop, node::Turn turn) {
    if (hop.reserved && !hop.opened && !hop.troubled && reaches(hop)) {
        hop.opened = true;
        tell_opened(hop, turn);
    }
}

void HopTable::tell_opened(Hop& hop, node::Turn turn) {
    hop.told_at = turn.now;
    send(
        hop.client,
        protocol::SessionOpened{hop.open.id, hop.log.upto(), hop.log.kept_from(), hop.codec->id()},
        turn
    );
}

void HopTable::give_up(Hop& hop, SessionReason reason, node::Turn turn) {
    if (!hop.troubled) {
        hop.troubled = true;
        const std::uint32_t wait = reason == SessionReason::Full ? wait_ms(turn.now) : 0;
        send(hop.client, protocol::SessionTrouble{hop.open.id, reason, wait}, turn);
    }
}

/// Time until the first of the other hops ends, if each goes on at its speed so far.
std::uint32_t HopTable::wait_ms(TimePoint now) const {
    constexpr std::uint32_t kUnknownMs = 1000;
    std::uint32_t least = protocol::kWaitMsMax;
    bool known = false;
    for (const auto& [key, hop] : hops_) {
        if (hop.computed > 0) {
            const double ms = std::chrono::duration<double, std::milli>(now - hop.since).count();
            const double left = hop.open.positions - std::min(hop.log.upto(), hop.open.positions);
            const double wait = ms * left / hop.computed;
            least = static_cast<std::uint32_t>(std::min<double>(least, wait));
            known = true;
        }
    }
    return known ? least : kUnknownMs;
}

void HopTable::take(PeerId from, const protocol::SessionTrouble& trouble, node::Turn turn) {
    if (trouble.id.hop == 0) {
        return;
    }
    const auto at = hops_.find({trouble.id.session, trouble.id.hop - 1});
    if (at != hops_.end() && at->second.open.id.route == trouble.id.route &&
        at->second.open.next.peer == from && !at->second.is_last()) {
        send(at->second.client, trouble, turn);
    }
}

void HopTable::take(PeerId from, const protocol::SessionClose& close, node::Turn turn) {
    auto at = hops_.lower_bound({close.session, 0});
    while (at != hops_.end() && at->first.first == close.session) {
        const auto here = at++;
        if (here->second.client == from && !keep(here, close.prefix, turn)) {
            remove(here, turn);
        }
    }
}

void HopTable::remove(Hops::iterator at, node::Turn turn) {
    std::erase(ready_, at->first);
    kept_bytes_ -= at->second.kept_bytes;
    gather_.forget(at->first.first, at->second.returns);
    device_.submit(turn, 0, [compute = options_.compute, cache = at->second.cache] {
        compute->drop(cache);
    });
    hops_.erase(at);
}

void HopTable::linked(PeerId peer, node::Turn turn) {
    if (experts_) {
        experts_->linked(peer, turn);
    }
    for (auto& [key, hop] : hops_) {
        const bool is_next = hop.open.next.peer == peer;
        if (is_next || hop.open.previous.peer == peer) {
            hop.unreached.reset();
        }
        if (is_next) {
            answer_if_ready(hop, turn);
            pump(hop, turn);
        }
    }
}

void HopTable::lost(PeerId peer, node::Turn turn) {
    lines_.lost(peer);
    if (experts_) {
        experts_->lost(peer, turn);
    }
    for (auto& [key, hop] : hops_) {
        if (!hop.is_last() && hop.open.next.peer == peer) {
            give_up(hop, SessionReason::NextLost, turn);
        } else if (hop.open.id.hop > 0 && hop.open.previous.peer == peer) {
            give_up(hop, SessionReason::PreviousLost, turn);
        }
    }
}

node::Allowance HopTable::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    node::Allowance allowed = node::Allowance::without_tensors(Acquaintance::Stranger);
    const std::uint64_t width = options_.bridge ? options_.bridge->inputs : shape_.width;
    for (const auto& [key, hop] : hops_) {
        if (hop.client == peer) {
            allowed.acquaintance = std::max(allowed.acquaintance, Acquaintance::Guest);
        }
        const bool before = hop.open.id.hop > 0 && hop.open.previous.peer == peer;
        if (before || (!hop.is_last() && hop.open.next.peer == peer)) {
            allowed.acquaintance = Acquaintance::Partner;
        }
        if (before) {
            allowed.tensor_bytes = protocol::kSessionRowsMax * sizeof(float) * (width + 1);
        }
    }
    if (experts_ && experts_->lends_to_us(peer)) {
        allowed.acquaintance = Acquaintance::Partner;
        const std::uint64_t rows = protocol::kSessionRowsMax;
        allowed.tensor_bytes =
            std::max<std::uint64_t>(allowed.tensor_bytes, rows * shape_.width * sizeof(float));
    }
    return allowed;
}

void HopTable::wake(node::Turn turn) {
    walk_on(turn);
    for (const KeptCaches::Kept& expired : kept_.take_expired(turn.now)) {
        drop(expired, turn);
    }
    for (auto at = hops_.begin(); at != hops_.end();) {
        const auto here = at++;
        Hop& hop = here->second;
        if (end_of(hop) <= turn.now) {
            remove(here, turn);
        } else if (hop.unreached && hop.asked_at + ToldDials::kAnswerAfter <= turn.now) {
            give_up(hop, *hop.unreached, turn);
            hop.unreached.reset();
        }
    }
    call_device(turn);
}

void HopTable::client_linked(PeerId peer, node::Turn turn) {
    for (auto& [key, hop] : hops_) {
        if (hop.client == peer && hop.client_gone) {
            hop.client_gone.reset();
            hop.network = links_.network_of(peer);
            hop.expires = turn.now + options_.ttl;
        }
    }
}

void HopTable::client_lost(PeerId peer, node::Turn turn) {
    for (auto& [key, hop] : hops_) {
        if (hop.client == peer && !hop.client_gone) {
            hop.client_gone = turn.now;
        }
    }
}

TimePoint HopTable::end_of(const Hop& hop) const {
    return hop.client_gone ? std::min(hop.expires, *hop.client_gone + kClientGrace) : hop.expires;
}

/// Ends a hop of another client. Returns false when none has to give way.
bool HopTable::make_room(
    PeerId client, std::uint64_t session, std::uint64_t room, Room of, node::Turn turn
) {
    std::vector<Holding> holdings;
    std::vector<Hops::iterator> holders;
    for (auto at = hops_.begin(); at != hops_.end(); ++at) {
        const Hop& hop = at->second;
        if (of == Room::Positions && !hop.reserved) {
            continue;
        }
        const bool works = hop.in_flight || !hop.queue.empty();
        holdings.push_back(
            {.client = hop.client,
             .network = hop.network,
             .session = at->first.first,
             .room = of == Room::Hops ? 1 : hop.open.positions,
             .since = hop.since,
             .idle_since = works ? swarm::kNever : hop.expires - options_.ttl,
             .is_empty = !hop.begun && hop.log.upto() == 0,
             .is_gone = hop.client_gone.has_value()}
        );
        holders.push_back(at);
    }
    const Asker asker{client, links_.network_of(client), session, room};
    const auto loser = choose_to_end(holdings, asker, turn.now);
    if (loser) {
        const auto at = holders[*loser];
        give_up(at->second, SessionReason::Full, turn);
        remove(at, turn);
    }
    return loser.has_value();
}

TimePoint HopTable::next_deadline() const {
    TimePoint due = kept_.next_deadline();
    if (experts_) {
        due = std::min(due, experts_->next_deadline());
    }
    if (!device_busy_ && !ready_.empty()) {
        due = std::min(due, gathered_at());
    }
    for (const auto& [key, hop] : hops_) {
        due = std::min(due, end_of(hop));
        if (hop.unreached) {
            due = std::min(due, hop.asked_at + ToldDials::kAnswerAfter);
        }
    }
    return due;
}

}  // namespace stacking::sessions
