#include "stacking/sessions/kept/kept_caches.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace stacking::sessions {

std::size_t common_pages(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return static_cast<std::size_t>(differ - a.begin());
}

std::optional<KeptCaches::Match> KeptCaches::find(
    const Place& place, std::span<const std::uint64_t> names
) const {
    Match best;
    for (const Kept& kept : kept_) {
        const std::size_t pages =
            kept.place == place ? common_pages(names, kept.names) : std::size_t{0};
        if (pages > 0 && pages >= best.pages) {
            best = {&kept, pages};
        }
    }
    return best.kept == nullptr ? std::nullopt : std::optional(best);
}

std::vector<KeptCaches::Kept> KeptCaches::add(Kept added) {
    std::vector<Kept> dropped;
    for (auto at = kept_.begin(); at != kept_.end();) {
        const bool begins =
            at->place == added.place && common_pages(at->names, added.names) == at->names.size();
        if (begins) {
            dropped.push_back(std::move(*at));
            at = kept_.erase(at);
        } else {
            ++at;
        }
    }
    if (kept_.size() >= kKeptMax) {
        dropped.push_back(std::move(*take_superfluous({})));
    }
    kept_.push_back(std::move(added));
    return dropped;
}

std::optional<KeptCaches::Kept> KeptCaches::take_superfluous(std::optional<CacheId> except) {
    std::map<swarm::PeerId, std::size_t> pages;
    std::size_t most = 0;
    for (const Kept& kept : kept_) {
        if (kept.cache != except) {
            most = std::max(most, pages[kept.place.client] += kept.names.size());
        }
    }
    const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
        return kept.cache != except && pages[kept.place.client] == most;
    });
    if (found == kept_.end()) {
        return std::nullopt;
    }
    Kept taken = std::move(*found);
    kept_.erase(found);
    return taken;
}

std::vector<KeptCaches::Kept> KeptCaches::take_expired(swarm::TimePoint now) {
    std::vector<Kept> expired;
    while (!kept_.empty() && kept_.front().until <= now) {
        expired.push_back(std::move(kept_.front()));
        kept_.pop_front();
    }
    return expired;
}

bool KeptCaches::has(CacheId cache) const {
    return std::ranges::any_of(kept_, [&](const Kept& kept) { return kept.cache == cache; });
}

swarm::TimePoint KeptCaches::next_deadline() const {
    return kept_.empty() ? swarm::kNever : kept_.front().until;
}

}  // namespace stacking::sessions
