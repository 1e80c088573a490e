// Third part of HopTable: pages for other sessions of the same client. A session that ends, or one
// that goes on, leaves those that its client names, and others begin with those that they name.
#include "stacking/sessions/hop_table.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <utility>

namespace stacking::sessions {

static_assert(kSharedPositions == protocol::kPrefixPagePositions);

namespace {

KeptCaches::Place place_of(
    PeerId client, const protocol::SessionOpen& open, compression::CodecId codec
) {
    const bool is_last = open.id.hop + 1 == open.hops;
    return {client, open.id.hop, is_last, codec};
}

}  // namespace

void HopTable::begin_with_kept(Hop& hop, std::span<const std::uint64_t> names) {
    const auto found = kept_.find(place_of(hop.client, hop.open, hop.codec->id()), names);
    if (!found || hop.open.tokens_upto > 0) {
        return;  // where tokens travel, nothing was kept, and nothing can be found
    }
    hop.begins_with = found->kept->cache;
    hop.shared = static_cast<std::uint32_t>(found->pages * kSharedPositions);
    hop.log = found->kept->log;
    hop.log.shorten(hop.shared);
}

void HopTable::begin_empty(Hop& hop) {
    hop.begins_with.reset();
    hop.shared = 0;
    hop.log.shorten(0);
}

/// Returns how many first pages of the session can be kept under these names: those all of whose
/// rows are here, and no row on its way cuts.
std::size_t HopTable::pages_to_keep(const Hop& hop, std::span<const std::uint64_t> names) const {
    const bool can = options_.keeps_for > swarm::Duration::zero() && hop.reserved &&
                     !hop.troubled && hop.open.tokens_upto == 0 && hop.log.is_whole() &&
                     hop.lacking.empty();  // later sessions have the experts that are back
    std::uint32_t upto = can ? hop.log.upto() : 0;
    if (hop.in_flight) {
        upto = std::min(upto, hop.in_flight_from);
    }
    if (!hop.queue.empty()) {
        upto = std::min(upto, hop.queue.front().position);
    }
    return std::min<std::size_t>(names.size(), upto / kSharedPositions);
}

/// Keeps the pages of a session that its client ends, if it names them and all their rows are here.
bool HopTable::keep(Hops::iterator at, std::span<const std::uint64_t> names, node::Turn turn) {
    Hop& hop = at->second;
    const std::size_t pages = pages_to_keep(hop, names);
    if (pages == 0) {
        return false;
    }
    const auto positions = static_cast<std::uint32_t>(pages * kSharedPositions);
    hop.log.shorten(positions);
    KeptCaches::Kept kept{
        .place = place_of(hop.client, hop.open, hop.codec->id()),
        .names = {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(pages)},
        .cache = hop.cache,
        .log = std::move(hop.log)};
    kept.log_bytes = hop.kept_bytes * positions / hop.open.positions;
    kept.until = turn.now + options_.keeps_for;
    kept_bytes_ -= hop.kept_bytes - kept.log_bytes;
    device_.submit(turn, 0, [compute = options_.compute, cache = hop.cache, positions] {
        compute->shrink(cache, positions);
    });
    std::erase(ready_, at->first);
    gather_.forget(at->first.first, at->second.returns);
    hops_.erase(at);
    for (const KeptCaches::Kept& superfluous : kept_.add(std::move(kept))) {
        drop(superfluous, turn);
    }
    return true;
}

void HopTable::take(PeerId from, const protocol::SessionShare& share, node::Turn turn) {
    for (auto at = hops_.lower_bound({share.session, 0});
         at != hops_.end() && at->first.first == share.session;
         ++at) {
        if (at->second.client == from) {
            lend(at->second, share.prefix, turn);
        }
    }
}

/// Keeps the first pages of a session that goes on, one beginning at a time: so a client that names
/// many keeps out no more of others' pages than its sessions are.
void HopTable::lend(Hop& hop, std::span<const std::uint64_t> names, node::Turn turn) {
    const bool has_rows = hop.is_last() || hop.kept_bytes > 0;
    const std::size_t pages = has_rows ? pages_to_keep(hop, names) : 0;
    names = names.first(pages);
    const KeptCaches::Place place = place_of(hop.client, hop.open, hop.codec->id());
    const auto found = kept_.find(place, names);
    const bool is_kept = (hop.lends && kept_.has(*hop.lends)) || (found && found->pages == pages);
    const auto positions = static_cast<std::uint32_t>(pages * kSharedPositions);
    const std::uint64_t log_bytes = hop.kept_bytes * positions / hop.open.positions;
    if (pages == 0 || is_kept || !make_room_for_rows(log_bytes, turn)) {
        return;
    }
    KeptCaches::Kept kept{
        .place = place,
        .names = {names.begin(), names.end()},
        .cache = {++caches_},
        .log = hop.log,
        .log_bytes = log_bytes,
        .until = turn.now + options_.keeps_for};
    kept.log.shorten(positions);
    kept_bytes_ += log_bytes;
    hop.lends = kept.cache;
    hop.shared = std::max(hop.shared, positions);
    device_.submit(
        turn,
        0,
        [compute = options_.compute, from = hop.cache, to = kept.cache, positions] {
            // Without the pages, whoever would begin with them reads them (reserve()).
            static_cast<void>(compute->share(from, to, positions));
        }
    );
    for (const KeptCaches::Kept& superfluous : kept_.add(std::move(kept))) {
        drop(superfluous, turn);
    }
}

/// Drops kept pages until there is room for so many bytes of rows. Returns whether there is.
bool HopTable::make_room_for_rows(std::uint64_t bytes, node::Turn turn) {
    while (kept_bytes_ + bytes > options_.kept_bytes_max) {
        const auto superfluous = kept_.take_superfluous({});
        if (!superfluous) {
            return false;
        }
        drop(*superfluous, turn);
    }
    return true;
}

void HopTable::drop(const KeptCaches::Kept& kept, node::Turn turn) {
    kept_bytes_ -= kept.log_bytes;
    device_.submit(turn, 0, [compute = options_.compute, cache = kept.cache] {
        compute->drop(cache);
    });
}

/// Drops kept pages for a hop that has no room, at last those with which it would begin. Returns
/// false when there are none.
bool HopTable::drop_superfluous(Hop& hop, node::Turn turn) {
    auto superfluous = kept_.take_superfluous(hop.begins_with);
    if (!superfluous) {
        superfluous = kept_.take_superfluous({});
    }
    if (!superfluous) {
        return false;
    }
    if (superfluous->cache == hop.begins_with) {
        begin_empty(hop);
    }
    drop(*superfluous, turn);
    return true;
}

}  // namespace stacking::sessions
