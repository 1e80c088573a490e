#include "swarm/run/state_fetcher.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace swarm::run {
namespace {

constexpr Duration kAnswerWithin = std::chrono::seconds(10);
constexpr Duration kBusyPause = std::chrono::milliseconds(200);
/// The first request, or its answer, may be lost because the links are not up yet.
constexpr Duration kManifestAgainAfter = std::chrono::milliseconds(500);
/// Refusals in a row after which something is wrong. A donor that was asked for a snapshot has it
/// once the step is applied, and a donor that gives as much as it may goes on a moment later.
constexpr std::uint32_t kRefusalsMax = 150;

void send(
    const StateFetcher::Plan& plan,
    std::optional<std::uint32_t> chunk,
    PeerId donor,
    node::Turn turn
) {
    protocol::Message message{0, 0, protocol::Fetch{plan.version, plan.stage, chunk}};
    turn.out.add(node::Send{donor, std::move(message)});
}

}  // namespace

StateFetcher::StateFetcher(Plan plan, std::vector<PeerId> donors) : plan_(std::move(plan)) {
    for (const PeerId donor : donors) {
        donors_[donor] = {};
    }
    chunks_.resize(plan_.chunks());
}

StateFetcher::Outcome StateFetcher::outcome() const {
    if (manifest_ && received_ == plan_.chunks()) {
        return Outcome::Complete;
    }
    return donors_.empty() ? Outcome::Failed : Outcome::Open;
}

void StateFetcher::advance(node::Turn turn) {
    give_up_late_donors(turn.now);
    for (auto& [peer, donor] : donors_) {
        if (donor.not_before <= turn.now) {
            donor.not_before = kAtOnce;  // a pause that is over is no deadline
        }
    }
    if (manifest_) {
        ask_for_chunks(turn);
    } else {
        ask_for_manifest(turn);
    }
}

void StateFetcher::ask_for_manifest(node::Turn turn) {
    for (auto& [peer, donor] : donors_) {
        if (!donor.is_down && donor.not_before == kAtOnce) {
            donor.not_before = turn.now + kManifestAgainAfter;
            donor.silent_since = std::min(donor.silent_since, turn.now);
            send(plan_, std::nullopt, peer, turn);
        }
    }
}

void StateFetcher::ask_for_chunks(node::Turn turn) {
    while (const std::optional<PeerId> peer = free_donor(turn.now)) {
        while (next_chunk_ < plan_.chunks() &&
               (!chunks_[next_chunk_].empty() || open_.contains(next_chunk_))) {
            ++next_chunk_;
        }
        if (next_chunk_ == plan_.chunks()) {
            return;
        }
        Donor& donor = donors_[*peer];
        ++donor.open;
        donor.silent_since = std::min(donor.silent_since, turn.now);
        open_[next_chunk_] = *peer;
        send(plan_, next_chunk_, *peer, turn);
    }
}

std::optional<PeerId> StateFetcher::free_donor(TimePoint now) const {
    std::optional<PeerId> best;
    std::uint32_t least = protocol::kOpenFetchesMax;
    for (const auto& [peer, donor] : donors_) {
        if (!donor.is_down && donor.not_before <= now && donor.open < least) {
            least = donor.open;
            best = peer;
        }
    }
    return best;
}

Duration StateFetcher::patience() const {
    return kAnswerWithin * static_cast<std::int64_t>(donors_.size());
}

void StateFetcher::give_up_late_donors(TimePoint now) {
    std::vector<PeerId> late;
    for (const auto& [peer, donor] : donors_) {
        if (donor.silent_since != kNever && donor.silent_since + patience() <= now) {
            late.push_back(peer);
        }
    }
    for (const PeerId donor : late) {
        forget(donor);
    }
}

void StateFetcher::end_request(std::uint32_t chunk) {
    --donors_[open_.at(chunk)].open;
    open_.erase(chunk);
    next_chunk_ = std::min(next_chunk_, chunk);
}

void StateFetcher::heard(PeerId donor, TimePoint now) {
    donors_[donor].silent_since = donors_[donor].open > 0 ? now : kNever;
    donors_[donor].is_known = true;
}

void StateFetcher::on(
    PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn
) {
    if (!donors_.contains(from) || chunk.version != plan_.version || chunk.stage != plan_.stage) {
        return;
    }
    if (!chunk.chunk) {
        heard(from, turn.now);
        take_manifest(from, payload.bytes());
    } else if (const auto asked = open_.find(*chunk.chunk);
               asked != open_.end() && asked->second == from) {
        end_request(*chunk.chunk);
        heard(from, turn.now);
        donors_[from].refusals = 0;
        take_chunk(from, *chunk.chunk, std::move(payload));
    }
    advance(turn);
}

void StateFetcher::take_manifest(PeerId from, std::span<const std::byte> bytes) {
    if (manifest_) {
        return;  // another donor was faster
    }
    const bool sized = bytes.size() == plan_.chunks() * sizeof(Digest);
    if (!sized || (plan_.state_hash && sha256(bytes) != *plan_.state_hash)) {
        forget(from);
        return;
    }
    manifest_.emplace(plan_.chunks());
    std::memcpy(manifest_->data(), bytes.data(), bytes.size());
    take_known();
    for (auto& [peer, donor] : donors_) {
        donor.not_before = kAtOnce;
        donor.silent_since = donor.is_down ? donor.silent_since : kNever;
    }
}

void StateFetcher::take_known() {
    for (auto& [number, known] : plan_.known) {
        if (number < plan_.chunks() && (*manifest_)[number] == known.digest) {
            chunks_[number] = std::move(known.chunk);
            ++received_;
        }
    }
    plan_.known.clear();
}

void StateFetcher::take_chunk(PeerId from, std::uint32_t chunk, node::Payload payload) {
    auto raw = unpack_chunk(
        std::move(payload), chunk_bytes(plan_.state_bytes, chunk, plan_.chunk_bytes_max)
    );
    if (!raw || sha256(raw->bytes()) != (*manifest_)[chunk]) {
        forget(from);
        return;
    }
    chunks_[chunk] = std::move(*raw);
    ++received_;
}

void StateFetcher::on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn) {
    if (!donors_.contains(from) || refused.version != plan_.version ||
        refused.stage != plan_.stage) {
        return;
    }
    if (refused.chunk) {
        const auto asked = open_.find(*refused.chunk);
        if (asked == open_.end() || asked->second != from) {
            return;
        }
        end_request(*refused.chunk);
    }
    heard(from, turn.now);
    Donor& donor = donors_[from];
    donor.not_before = turn.now + kBusyPause;
    if (!refused.busy || ++donor.refusals > kRefusalsMax) {
        forget(from);
    }
    advance(turn);
}

void StateFetcher::donor_lost(PeerId donor, node::Turn turn) {
    if (donors_.contains(donor)) {
        forget(donor);
        advance(turn);
    }
}

void StateFetcher::link_down(PeerId donor, node::Turn turn) {
    const auto found = donors_.find(donor);
    if (found != donors_.end() && !found->second.is_down) {
        drop_requests_to(donor);
        found->second.is_down = true;
        found->second.silent_since = turn.now;
        advance(turn);
    }
}

void StateFetcher::link_up(PeerId donor, node::Turn turn) {
    const auto found = donors_.find(donor);
    if (found != donors_.end() && (found->second.is_down || !found->second.is_known)) {
        drop_requests_to(donor);
        found->second.is_down = false;
        advance(turn);
    }
}

void StateFetcher::forget(PeerId donor) {
    drop_requests_to(donor);
    donors_.erase(donor);
}

/// Treats the donor as if nobody had asked it anything.
void StateFetcher::drop_requests_to(PeerId donor) {
    std::erase_if(open_, [&](const auto& entry) { return entry.second == donor; });
    donors_[donor].open = 0;
    donors_[donor].not_before = kAtOnce;
    donors_[donor].silent_since = kNever;
    next_chunk_ = 0;
}

TimePoint StateFetcher::next_deadline() const {
    if (outcome() != Outcome::Open) {
        return kNever;
    }
    TimePoint due = kNever;
    for (const auto& [peer, donor] : donors_) {
        if (donor.silent_since != kNever) {
            due = std::min(due, donor.silent_since + patience());
        }
        if (donor.not_before != kAtOnce) {
            due = std::min(due, donor.not_before);
        }
    }
    return due;
}

std::vector<PeerId> StateFetcher::donors() const {
    std::vector<PeerId> peers;
    for (const auto& [peer, donor] : donors_) {
        peers.push_back(peer);
    }
    return peers;
}

Digest StateFetcher::state_hash() const {
    return sha256(std::as_bytes(std::span(*manifest_)));
}

}  // namespace swarm::run
