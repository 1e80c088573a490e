#include "stages/server/share_exchange.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace stages {

namespace {

node::Payload payload_of(std::vector<std::byte> share) {
    swarm::protocol::TensorEnvelope envelope;
    envelope.shape = {static_cast<std::uint32_t>(share.size())};
    return {std::move(envelope), std::move(share)};
}

SparseShare share_of(const node::Payload& payload, std::uint64_t microbatches) {
    return {{payload.bytes().begin(), payload.bytes().end()}, microbatches};
}

}  // namespace

void ShareExchange::start(List list, node::Turn turn) {
    if (active_ && list_.epoch == list.epoch) {
        return;  // a repeated REDUCE
    }
    abort();
    if (!context_.slot || std::ranges::find(list.group, *context_.slot) == list.group.end()) {
        return;
    }
    list_ = std::move(list);
    active_ = true;
    shares_.assign(list_.shares.size(), std::nullopt);
    stuck_at_ = turn.now + kStuckAfter;
    own_ = index_of(*context_.slot);
    if (own_) {
        make_own(*own_, turn);
    }
    for (auto& [peer, early] : std::exchange(early_, {})) {
        on(peer, early.part, std::move(early.share), turn);
    }
    if (shares_.empty()) {
        stuck_at_ = swarm::kNever;
        propose(turn);
    }
}

void ShareExchange::abort() {
    ++generation_;
    active_ = false;
    own_.reset();
    shares_.clear();
    proposal_.reset();
    stuck_at_ = swarm::kNever;
}

void ShareExchange::new_step() {
    abort();
    list_ = {};  // each exchange has epochs of its own: a share may overtake its first REDUCE
    if (!context_.bugs.share_of_another) {
        early_.clear();
    }
}

void ShareExchange::make_own(std::size_t index, node::Turn turn) {
    struct Outcome {
        std::optional<Result<SparseShare>> share;  // empty: the list counts other microbatches
    };

    context_.device.submit_for<Outcome>(
        turn,
        0,
        [worker = context_.worker,
         replica = context_.replica,
         counted = list_.shares[index].microbatches](Outcome& outcome) {
            if (replica->trained() == counted) {
                // `sparse` draws no random numbers, so replicas need no different seeds.
                outcome.share = replica->share(worker->state().weights(), 0);
            }
        },
        [this, index, mine = generation_](Outcome& outcome, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
            if (!outcome.share || outcome.share->has_error()) {
                context_.tell_coordinator(
                    protocol::Mismatch{*context_.version, list_.epoch, {}}, later
                );
                abort();
                return;
            }
            arrived(index, payload_of(std::move((*outcome.share)->bytes)), later);
            for (const auto* const slots : {&list_.group, &list_.observers}) {
                for (const SlotId slot : *slots) {
                    const auto* const info = context_.roster.find(slot);
                    if (info && info->peer != context_.self) {
                        send_own(info->peer, later);
                    }
                }
            }
        }
    );
}

void ShareExchange::send_own(PeerId to, node::Turn turn) const {
    const auto slice = static_cast<std::uint32_t>(*own_);
    const protocol::Part part{*context_.version, list_.epoch, slice, true};
    ServerContext::send(to, part, *shares_[*own_], turn);
}

std::optional<std::size_t> ShareExchange::index_of(SlotId slot) const {
    const auto found = std::ranges::find(list_.shares, slot, &Trained::slot);
    return found == list_.shares.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - list_.shares.begin()));
}

std::optional<std::size_t> ShareExchange::index_of(PeerId peer) const {
    const auto* const info = context_.roster.find_peer(peer);
    return info ? index_of(info->slot) : std::nullopt;
}

bool ShareExchange::has_size(const node::Payload& share) const {
    const std::uint64_t bytes = context_.replica->share_bytes();
    const std::vector<std::uint32_t> shape{static_cast<std::uint32_t>(bytes)};
    return share.bytes().size() == bytes && share.envelope().shape == shape;
}

void ShareExchange::on(
    PeerId from, const protocol::Part& part, node::Payload share, node::Turn turn
) {
    if (!part.gathered || !has_size(share)) {
        return;
    }
    if (part.epoch > list_.epoch || (!active_ && part.epoch == list_.epoch)) {
        keep_early(from, part, std::move(share));
        return;
    }
    if (context_.bugs.share_of_another) {
        keep_early(from, part, share);
    }
    const auto index = index_of(from);
    if (active_ && part.epoch == list_.epoch && index && index != own_ && part.slice == *index) {
        arrived(*index, std::move(share), turn);
    }
}

void ShareExchange::keep_early(PeerId from, const protocol::Part& part, node::Payload share) {
    const auto* const sender = context_.roster.find_peer(from);
    if (!sender || sender->stage != context_.stage()) {
        return;
    }
    const auto kept = early_.find(from);
    if (kept == early_.end() || kept->second.part.epoch < part.epoch) {
        early_.insert_or_assign(from, Early{part, std::move(share)});
    }
}

void ShareExchange::arrived(std::size_t index, node::Payload share, node::Turn turn) {
    if (shares_[index]) {
        return;
    }
    shares_[index] = std::move(share);
    stuck_at_ = turn.now + kStuckAfter;
    if (std::ranges::all_of(shares_, [](const auto& each) { return each.has_value(); })) {
        stuck_at_ = swarm::kNever;
        propose(turn);
    }
}

void ShareExchange::propose(node::Turn turn) {
    struct Outcome {
        std::vector<std::size_t> refused;
        SparseReplica::Weights weights;
        swarm::Digest hash;
    };

    std::vector<SparseShare> shares;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        shares.push_back(share_of(*shares_[i], list_.shares[i].microbatches));
    }
    if (context_.bugs.share_twice && !shares.empty()) {
        shares.push_back(shares.front());
    }
    context_.device.submit_for<Outcome>(
        turn,
        0,
        [replica = context_.replica, shares = std::move(shares)](Outcome& outcome) {
            const auto proposed = replica->propose(shares);
            if (proposed.has_value()) {
                outcome.weights = *proposed;
                outcome.hash = SparseReplica::hash_of(*proposed);
                return;
            }
            for (std::size_t i = 0; i < shares.size(); ++i) {
                if (replica->propose(std::span(shares).subspan(i, 1)).has_error()) {
                    outcome.refused.push_back(i);
                }
            }
        },
        [this, mine = generation_](Outcome& outcome, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
            if (!outcome.weights) {
                refused(outcome.refused, later);
                return;
            }
            proposal_ = std::move(outcome.weights);
            context_.tell_coordinator(
                protocol::Reduced{
                    *context_.version, list_.epoch, {}, outcome.hash, 0, 0, context_.wire_bytes},
                later
            );
        }
    );
}

void ShareExchange::refused(const std::vector<std::size_t>& indices, node::Turn turn) {
    for (const std::size_t index : indices) {
        shares_[index].reset();
    }
    stuck_at_ = turn.now + kStuckAfter;  // STUCK then names the members whose share is missing
}

void ShareExchange::resend(PeerId peer, node::Turn turn) {
    const auto* const info = context_.roster.find_peer(peer);
    if (!info || !own_ || !shares_[*own_]) {
        return;
    }
    const auto has = [&](const std::vector<SlotId>& slots) {
        return std::ranges::find(slots, info->slot) != slots.end();
    };
    if (peer != context_.self && (has(list_.group) || has(list_.observers))) {
        send_own(peer, turn);
    }
}

void ShareExchange::wake(node::Turn turn) {
    if (stuck_at_ > turn.now) {
        return;
    }
    stuck_at_ = turn.now + kStuckAfter;
    protocol::Stuck stuck{*context_.version, list_.epoch, {}, protocol::Owed::Sums};
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        if (!shares_[i] && i != own_) {
            stuck.waits_for.push_back(list_.shares[i].slot);
        }
    }
    context_.tell_coordinator(std::move(stuck), turn);
}

}  // namespace stages
