#include "stacking/sharing/file_fetcher.hpp"

#include <algorithm>
#include <utility>

namespace stacking::sharing {
namespace {

/// Pause after which donors that lacked chunks are asked again, when nobody else has them.
constexpr swarm::Duration kGapsFor = std::chrono::seconds(5);

}  // namespace

void FileFetcher::want(std::span<const std::uint32_t> chunks) {
    for (const std::uint32_t chunk : chunks) {
        if (chunk < hashes_.size()) {
            wanted_.insert(chunk);
        }
    }
}

void FileFetcher::donor_up(PeerId donor) {
    if (!is_liar(donor)) {
        donors_[donor] = {};  // requests from before the link may never have reached it
    }
}

void FileFetcher::donor_down(PeerId donor) {
    donors_.erase(donor);
}

bool FileFetcher::take(
    PeerId from, const protocol::FileChunk& chunk, std::span<const std::byte> bytes, TimePoint now
) {
    const auto found = donors_.find(from);
    if (found == donors_.end() || chunk.manifest != manifest_ || chunk.of_manifest ||
        found->second.open.erase(chunk.chunk) == 0) {
        return false;  // it was not asked, or not any more
    }
    if (swarm::sha256(bytes) != hashes_[chunk.chunk]) {
        liars_.insert(from);
        donors_.erase(found);
        return false;
    }
    found->second.silent_since = found->second.open.empty() ? swarm::kNever : now;
    givers_.insert(from);
    gaps_until_ = swarm::kNever;
    return wanted_.erase(chunk.chunk) > 0;
}

void FileFetcher::take(PeerId from, const protocol::FileRefused& refused, TimePoint now) {
    const auto found = donors_.find(from);
    if (found == donors_.end() || refused.manifest != manifest_ || refused.of_manifest ||
        found->second.open.erase(refused.chunk) == 0) {
        return;
    }
    Donor& donor = found->second;
    donor.silent_since = donor.open.empty() ? swarm::kNever : now;
    if (refused.busy) {
        donor.not_before = now + kBusyPause;
    } else {
        donor.lacks.insert(refused.chunk);
    }
}

void FileFetcher::advance(Pace pace, node::Turn turn) {
    rest_silent_donors(turn.now);
    for (auto& [peer, donor] : donors_) {
        if (donor.not_before <= turn.now) {
            donor.not_before = swarm::kAtOnce;  // a pause that is over is no deadline
        }
    }
    forgive_gaps(turn.now);
    if (pace == Pace::Hold) {
        return;
    }
    // Donors in use go on; a place that is free goes to another one.
    std::size_t used = in_use();
    for (auto& [peer, donor] : donors_) {
        const bool is_used = !donor.open.empty();
        if (donor.not_before == swarm::kAtOnce && (is_used || used < kDonorsAtOnce)) {
            ask(peer, donor, turn);
            used += !is_used && !donor.open.empty() ? 1 : 0;
        }
    }
}

void FileFetcher::ask(PeerId peer, Donor& donor, node::Turn turn) {
    for (const std::uint32_t chunk : wanted_) {
        if (donor.open.size() == protocol::kOpenFetchesMax) {
            return;
        }
        if (!donor.lacks.contains(chunk) && !is_asked(chunk)) {
            donor.open.insert(chunk);
            donor.silent_since = std::min(donor.silent_since, turn.now);
            const protocol::FileFetch fetch{manifest_, false, chunk};
            turn.out.add(node::Send{peer, {0, 0, fetch}, {}});
        }
    }
}

/// When each chunk that is left is lacked by every donor, they are asked again after a while: a
/// donor may be a newcomer itself, which has more by then.
void FileFetcher::forgive_gaps(TimePoint now) {
    const bool stuck = !wanted_.empty() && !donors_.empty() &&
                       std::ranges::all_of(donors_, [&](const auto& entry) {
                           const Donor& donor = entry.second;
                           return donor.open.empty() && std::ranges::includes(donor.lacks, wanted_);
                       });
    if (!stuck) {
        gaps_until_ = swarm::kNever;
    } else if (gaps_until_ == swarm::kNever) {
        gaps_until_ = now + kGapsFor;
    } else if (gaps_until_ <= now) {
        gaps_until_ = swarm::kNever;
        for (auto& [peer, donor] : donors_) {
            donor.lacks.clear();
        }
    }
}

void FileFetcher::rest_silent_donors(TimePoint now) {
    for (bool again = true; again;) {  // with fewer donors in use the patience is shorter
        again = false;
        const swarm::Duration longest = patience();
        for (auto& [peer, donor] : donors_) {
            if (donor.silent_since != swarm::kNever && donor.silent_since + longest <= now) {
                donor.open.clear();
                donor.silent_since = swarm::kNever;
                donor.not_before = now + kRest;
                again = true;
            }
        }
    }
}

bool FileFetcher::is_asked(std::uint32_t chunk) const {
    return std::ranges::any_of(donors_, [&](const auto& entry) {
        return entry.second.open.contains(chunk);
    });
}

std::size_t FileFetcher::in_use() const {
    return static_cast<std::size_t>(std::ranges::count_if(donors_, [](const auto& entry) {
        return !entry.second.open.empty();
    }));
}

/// All donors share our line, so a donor may take longer when more of them send.
swarm::Duration FileFetcher::patience() const {
    return kAnswerWithin * static_cast<std::int64_t>(std::max<std::size_t>(in_use(), 1));
}

TimePoint FileFetcher::next_deadline() const {
    if (wanted_.empty()) {
        return swarm::kNever;
    }
    TimePoint due = gaps_until_;
    for (const auto& [peer, donor] : donors_) {
        if (donor.silent_since != swarm::kNever) {
            due = std::min(due, donor.silent_since + patience());
        }
        if (donor.not_before != swarm::kAtOnce) {
            due = std::min(due, donor.not_before);
        }
    }
    return due;
}

}  // namespace stacking::sharing
