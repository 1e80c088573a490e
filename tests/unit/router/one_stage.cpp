#include "one_stage.hpp"

#include <algorithm>

namespace router {
namespace {

constexpr std::uint64_t kSeed = 20230127;

HopRouter::Options one_window_for_all(std::size_t in_flight) {
    HopRouter::Options options;
    options.offers_per_peer = in_flight;  // the policy alone decides, not the window
    return options;
}

}  // namespace

OneStage::OneStage(
    std::string_view policy, const std::vector<int>& ms_per_unit, std::size_t in_flight
)
    : router_(make_policy(policy, kSeed), one_window_for_all(in_flight)),
      peers_(ms_per_unit.size()),
      in_flight_max_(in_flight) {
    std::vector<SlotId> slots;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        peers_[i].ms_per_unit = ms_per_unit[i];
        slots.push_back(slot_of(i));
    }
    router_.set_candidates(slots, now_);
    for (const SlotId slot : slots) {
        router_.set_linked(slot, true, now_);
    }
}

void OneStage::set_frozen(std::size_t peer, bool frozen) {
    peers_[peer].frozen = frozen;
    start_next(peers_[peer]);
}

double OneStage::run(int microbatches) {
    const TimePoint began = now_;
    to_launch_ = microbatches;
    launch();
    while (in_flight_ > 0 || to_launch_ > 0) {
        step();
        launch();
    }
    return std::chrono::duration<double>(now_ - began).count();
}

int OneStage::picks_of(std::size_t peer, std::size_t begin, std::size_t end) const {
    const auto at = [this](std::size_t i) {
        return picks_.begin() + static_cast<std::ptrdiff_t>(std::min(i, picks_.size()));
    };
    return static_cast<int>(std::count(at(begin), at(end), peer));
}

void OneStage::launch() {
    while (to_launch_ > 0 && in_flight_ < in_flight_max_) {
        const LegId leg{.version = {}, .microbatch = {}, .attempt = {++attempts_}};
        const auto slot = router_.pick(leg, {.work_units = kUnits}, now_);
        if (!slot) {
            return;
        }
        const std::size_t picked = slot->value - 1;
        picks_.push_back(picked);
        peers_[picked].queue.push_back({leg, now_});
        if (peers_[picked].queue.size() == 1) {
            start_next(peers_[picked]);
        }
        ++in_flight_;
        --to_launch_;
    }
}

void OneStage::step() {
    now_ = next_event_at();
    router_.wake(now_);
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (peers_[i].done_at <= now_) {
            finish_first(i);
        }
        recall_overdue(i);
    }
}

void OneStage::start_next(Peer& peer) {
    peer.done_at = peer.queue.empty() || peer.frozen
                       ? swarm::kNever
                       : now_ + std::chrono::milliseconds(peer.ms_per_unit) * 3;
}

void OneStage::finish_first(std::size_t peer) {
    router_.passed(slot_of(peer), peers_[peer].queue.front().leg, now_);
    peers_[peer].queue.pop_front();
    --in_flight_;
    start_next(peers_[peer]);
}

void OneStage::recall_overdue(std::size_t peer) {
    std::deque<Work>& queue = peers_[peer].queue;
    while (!queue.empty() && queue.front().sent + kPatience <= now_) {
        router_.timed_out(slot_of(peer), queue.front().leg, now_);
        queue.pop_front();
        --in_flight_;
        ++to_launch_;
        start_next(peers_[peer]);
    }
}

TimePoint OneStage::next_event_at() const {
    TimePoint next = router_.next_deadline();
    for (const Peer& peer : peers_) {
        next = std::min(next, peer.done_at);
        if (!peer.queue.empty()) {
            next = std::min(next, peer.queue.front().sent + kPatience);
        }
    }
    return next;
}

}  // namespace router
