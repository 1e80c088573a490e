#include "stacking/sharing/manifest_fetch.hpp"

#include <algorithm>
#include <utility>

namespace stacking::sharing {
namespace {

std::uint32_t next_chunk(const std::vector<std::byte>& bytes) {
    return static_cast<std::uint32_t>(bytes.size() / protocol::kChunkBytes);
}

}  // namespace

void ManifestFetch::donor_up(PeerId donor, std::uint32_t bytes) {
    donor_down(donor);
    if (!is_liar(donor) && bytes > 0) {
        donors_.push_back({donor, bytes});
    }
}

void ManifestFetch::donor_down(PeerId donor) {
    const bool current = !donors_.empty() && donors_.front().peer == donor;
    std::erase_if(donors_, [&](const Donor& other) { return other.peer == donor; });
    if (current && !complete_) {
        drop_current();
    }
}

/// The next donor begins anew.
void ManifestFetch::drop_current() {
    bytes_.clear();
    asked_ = false;
    due_ = swarm::kAtOnce;
}

void ManifestFetch::take(
    PeerId from, const protocol::FileChunk& chunk, std::span<const std::byte> bytes, TimePoint now
) {
    const bool is_answer = !complete_ && asked_ && !donors_.empty() &&
                           donors_.front().peer == from && chunk.manifest == manifest_ &&
                           chunk.of_manifest && chunk.chunk == next_chunk(bytes_);
    if (!is_answer) {
        return;
    }
    const std::uint64_t left = donors_.front().bytes - bytes_.size();
    if (bytes.size() == std::min<std::uint64_t>(left, protocol::kChunkBytes)) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        asked_ = false;
        due_ = now;
        if (bytes_.size() < donors_.front().bytes) {
            return;
        }
        complete_ = swarm::sha256(bytes_) == manifest_;
    }
    if (!complete_) {
        liars_.insert(from);
        donor_down(from);
    }
}

void ManifestFetch::take(PeerId from, const protocol::FileRefused& refused, TimePoint now) {
    const bool is_answer = !complete_ && asked_ && !donors_.empty() &&
                           donors_.front().peer == from && refused.manifest == manifest_ &&
                           refused.of_manifest;
    if (is_answer) {
        if (!refused.busy) {
            std::rotate(donors_.begin(), donors_.begin() + 1, donors_.end());
            drop_current();
        }
        asked_ = false;
        due_ = now + kPause;
    }
}

void ManifestFetch::advance(node::Turn turn) {
    if (complete_ || donors_.empty() || due_ > turn.now) {
        return;
    }
    if (asked_) {
        std::rotate(donors_.begin(), donors_.begin() + 1, donors_.end());
        drop_current();
    }
    const protocol::FileFetch fetch{manifest_, true, next_chunk(bytes_)};
    turn.out.add(node::Send{donors_.front().peer, {0, 0, fetch}, {}});
    asked_ = true;
    due_ = turn.now + kAnswerWithin;
}

TimePoint ManifestFetch::next_deadline() const {
    return complete_ || donors_.empty() ? swarm::kNever : due_;
}

}  // namespace stacking::sharing
