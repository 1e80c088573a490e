// Third part of HopTable: pages that outlive their sessions. A session that ends with names for its
// pages leaves them, and the next one of the same client begins with those that it names again.
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

/// Keeps the pages of a session that its client ends, if it names them and all their rows are here.
bool HopTable::keep(Hops::iterator at, std::span<const std::uint64_t> names, node::Turn turn) {
    Hop& hop = at->second;
    const std::size_t pages =
        std::min<std::size_t>(names.size(), hop.log.upto() / kSharedPositions);
    const bool can = options_.keeps_for > swarm::Duration::zero() && pages > 0 && hop.reserved &&
                     !hop.troubled && hop.open.tokens_upto == 0 && hop.log.is_whole() &&
                     hop.lacking.empty();  // later sessions have the experts that are back
    if (!can) {
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
    hops_.erase(at);
    for (const KeptCaches::Kept& superfluous : kept_.add(std::move(kept))) {
        drop(superfluous, turn);
    }
    return true;
}

void HopTable::drop(const KeptCaches::Kept& kept, node::Turn turn) {
    kept_bytes_ -= kept.log_bytes;
    device_.submit(turn, 0, [compute = options_.compute, cache = kept.cache] {
        compute->drop(cache);
    });
}

/// Drops kept pages for a hop that has no room: the oldest ones, and at last those with which it
/// would begin. Returns false when there are none.
bool HopTable::drop_oldest(Hop& hop, node::Turn turn) {
    auto oldest = kept_.take_oldest(hop.begins_with);
    if (!oldest) {
        oldest = kept_.take_oldest({});
    }
    if (!oldest) {
        return false;
    }
    if (oldest->cache == hop.begins_with) {
        begin_empty(hop);
    }
    drop(*oldest, turn);
    return true;
}

}  // namespace stacking::sessions
