#include "swarm/run/state_fetcher.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace swarm::run {
namespace {

constexpr Duration kAnswerWithin = std::chrono::seconds(10);
constexpr Duration kBusyPause = std::chrono::milliseconds(200);
/// The first request may leave, or its answer, before the links between the two are up.
constexpr Duration kManifestAgainAfter = std::chrono::milliseconds(500);
/// A donor that was asked for a snapshot has it within a step's apply; then something is wrong.
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
    give_up_late_requests(turn.now);
    for (auto& [peer, donor] : donors_) {
        if (donor.not_before <= turn.now) {
            donor.not_before = kAtOnce;  // a pause that is over is no deadline
        }
    }
    if (!manifest_) {
        const auto asked = open_.find(std::nullopt);
        if (asked == open_.end()) {
            ask(std::nullopt, turn);
        } else if (Donor& donor = donors_[asked->second.donor]; donor.not_before == kAtOnce) {
            donor.not_before = turn.now + kManifestAgainAfter;
            send(plan_, std::nullopt, asked->second.donor, turn);
        }
        return;
    }
    while (free_donor(turn.now)) {
        while (next_chunk_ < plan_.chunks() &&
               (!chunks_[next_chunk_].empty() || open_.contains(next_chunk_))) {
            ++next_chunk_;
        }
        if (next_chunk_ == plan_.chunks()) {
            return;
        }
        ask(next_chunk_, turn);
    }
}

void StateFetcher::ask(std::optional<std::uint32_t> chunk, node::Turn turn) {
    const auto donor = free_donor(turn.now);
    if (!donor) {
        return;
    }
    ++donors_[*donor].open;
    open_[chunk] = {*donor, turn.now};
    if (!chunk) {
        donors_[*donor].not_before = turn.now + kManifestAgainAfter;
    }
    send(plan_, chunk, *donor, turn);
}

std::optional<PeerId> StateFetcher::free_donor(TimePoint now) const {
    std::optional<PeerId> best;
    std::uint32_t least = protocol::kOpenFetchesMax;
    for (const auto& [peer, donor] : donors_) {
        if (donor.not_before <= now && donor.open < least) {
            least = donor.open;
            best = peer;
        }
    }
    return best;
}

void StateFetcher::give_up_late_requests(TimePoint now) {
    std::vector<PeerId> late;
    for (const auto& [chunk, request] : open_) {
        if (request.asked_at + kAnswerWithin <= now) {
            late.push_back(request.donor);
        }
    }
    for (const PeerId donor : late) {
        donor_lost(donor);
    }
}

void StateFetcher::end_request(std::optional<std::uint32_t> chunk, PeerId donor) {
    open_.erase(chunk);
    const auto found = donors_.find(donor);
    if (found != donors_.end() && found->second.open > 0) {
        --found->second.open;
    }
    if (chunk && *chunk < next_chunk_) {
        next_chunk_ = *chunk;
    }
}

void StateFetcher::on(
    PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn
) {
    const auto request = open_.find(chunk.chunk);
    if (request == open_.end() || request->second.donor != from || chunk.version != plan_.version ||
        chunk.stage != plan_.stage) {
        return;
    }
    end_request(chunk.chunk, from);
    const auto bytes = payload.bytes();
    if (!chunk.chunk) {
        donors_[from].not_before = kAtOnce;
        const bool sized = bytes.size() == plan_.chunks() * sizeof(Digest);
        if (!sized || (plan_.state_hash && sha256(bytes) != *plan_.state_hash)) {
            donor_lost(from);
        } else {
            manifest_.emplace(plan_.chunks());
            std::memcpy(manifest_->data(), bytes.data(), bytes.size());
        }
    } else if (manifest_ && chunks_[*chunk.chunk].empty()) {
        auto raw = unpack_chunk(std::move(payload), chunk_bytes(plan_.state_bytes, *chunk.chunk));
        if (!raw || sha256(raw->bytes()) != (*manifest_)[*chunk.chunk]) {
            donor_lost(from);
        } else {
            chunks_[*chunk.chunk] = std::move(*raw);
            ++received_;
        }
    }
    advance(turn);
}

void StateFetcher::on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn) {
    const auto request = open_.find(refused.chunk);
    if (request == open_.end() || request->second.donor != from) {
        return;
    }
    end_request(refused.chunk, from);
    Donor& donor = donors_[from];
    donor.not_before = turn.now + kBusyPause;
    if (!refused.busy || ++donor.refusals > kRefusalsMax) {
        donor_lost(from);
    }
    advance(turn);
}

void StateFetcher::donor_lost(PeerId donor) {
    donors_.erase(donor);
    std::erase_if(open_, [&](const auto& entry) { return entry.second.donor == donor; });
    next_chunk_ = 0;
}

TimePoint StateFetcher::next_deadline() const {
    if (outcome() != Outcome::Open) {
        return kNever;
    }
    TimePoint due = kNever;
    for (const auto& [chunk, request] : open_) {
        due = std::min(due, request.asked_at + kAnswerWithin);
    }
    for (const auto& [peer, donor] : donors_) {
        if (donor.not_before != kAtOnce) {
            due = std::min(due, donor.not_before);
        }
    }
    return due;
}

Digest StateFetcher::state_hash() const {
    return sha256(std::as_bytes(std::span(*manifest_)));
}

}  // namespace swarm::run
