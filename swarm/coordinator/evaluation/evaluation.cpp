#include "swarm/coordinator/evaluation/evaluation.hpp"

#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace swarm::coordinator {
namespace {

/// Each process of the coordinator has numbers of its own, so that no answer to an earlier one is
/// taken for an answer to this one.
std::uint64_t numbered(std::uint32_t cinc, std::uint64_t request) {
    return (std::uint64_t{cinc} << 32) + request;
}

}  // namespace

Evaluation::Evaluation(RunContext& context, std::span<const run::HeldOutText> texts)
    : context_(context), microbatches_(run::held_out_microbatches(context.config, texts)) {}

void Evaluation::begin(node::Turn turn) {
    SWARM_ASSERT(has_texts());
    items_.assign(microbatches_.size(), {});
    requests_.clear();
    outcome_.reset();
    version_ = context_.version;
    give_up_at_ = turn.now + kNoAnswerFor;
}

void Evaluation::end(Outcome outcome) {
    version_.reset();
    items_.clear();
    requests_.clear();
    give_up_at_ = kNever;
    outcome_ = std::move(outcome);
}

std::optional<Evaluation::Outcome> Evaluation::take_outcome() {
    return std::exchange(outcome_, std::nullopt);
}

void Evaluation::on(PeerId from, const protocol::Evaluated& evaluated, node::Turn turn) {
    const auto found = requests_.find(evaluated.request);
    if (!under_way() || found == requests_.end() || found->second.peer != from) {
        return;
    }
    Item& item = items_[found->second.item];
    const TimePoint asked_at = found->second.at;
    requests_.erase(found);
    if (item.loss) {
        return;  // a repetition was faster
    }
    if (!evaluated.refused) {
        item.loss = evaluated.loss;
        item.asked.reset();
        item.due = kNever;
        slowest_ = std::max(slowest_, turn.now - asked_at);
        give_up_at_ = turn.now + kNoAnswerFor;
    } else if (item.asked == from) {
        ask_again(item, turn.now);
    }
}

void Evaluation::ask_again(Item& item, TimePoint now) {
    item.failed = std::exchange(item.asked, std::nullopt);
    item.due = kNever;
    item.ask_at = now + kPauseFirst * (1U << std::min(item.asks, 4U));
}

void Evaluation::advance(node::Turn turn) {
    if (!under_way()) {
        return;
    }
    if (version_ != context_.version) {  // the run went back to a checkpoint
        end(std::nullopt);
        return;
    }
    std::vector<double> losses;
    std::size_t room = window() - std::min(window(), in_flight());
    for (std::size_t number = 0; number < items_.size(); ++number) {
        Item& item = items_[number];
        if (item.loss) {
            losses.push_back(*item.loss);
            continue;
        }
        if (item.asked && (item.due <= turn.now || !is_there(*item.asked))) {
            ask_again(item, turn.now);
            ++room;
        }
        if (!item.asked && item.ask_at <= turn.now && room > 0) {
            ask(number, turn);
            room -= item.asked ? 1 : 0;
        }
    }
    if (losses.size() == items_.size()) {
        end(std::move(losses));
    } else if (give_up_at_ <= turn.now) {
        end(std::nullopt);
    }
}

void Evaluation::ask(std::size_t number, node::Turn turn) {
    Item& item = items_[number];
    const std::optional<PeerId> peer = choose(item);
    if (!peer || item.asks >= kAsksMax) {
        item.ask_at = turn.now + kAnswerWithin;  // until then somebody may join
        return;
    }
    const std::uint64_t request = numbered(context_.cinc, next_request_++);
    const auto tokens = microbatches_[number];
    item.asked = *peer;
    item.due = turn.now + std::max(kAnswerWithin, 4 * slowest_);
    item.asks += 1;
    requests_[request] = {number, *peer, turn.now};
    protocol::Evaluate evaluate{*version_, request, {tokens.begin(), tokens.end()}};
    context_.peer_streams.post(*peer, std::move(evaluate), {}, turn);
}

bool Evaluation::is_there(PeerId peer) const {
    const protocol::SlotInfo* const info = context_.roster.find_peer(peer);
    return info && info->standing != protocol::Standing::Observer &&
           context_.peer_streams.is_linked(peer);
}

std::size_t Evaluation::in_flight() const {
    return static_cast<std::size_t>(std::ranges::count_if(items_, [](const Item& item) {
        return item.asked.has_value();
    }));
}

std::size_t Evaluation::window() const {
    return std::clamp<std::size_t>(2 * context_.roster.member_count(), 2, kAskedMax);
}

std::optional<PeerId> Evaluation::choose(const Item& item) const {
    std::optional<PeerId> best;
    std::tuple<bool, std::size_t, std::uint64_t> least;
    std::map<PeerId, std::size_t> has;  // requests by peer
    for (const Item& other : items_) {
        if (other.asked) {
            ++has[*other.asked];
        }
    }
    const std::vector<SlotId> slots = context_.roster.pickable({0});
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const PeerId peer = context_.roster.find(slots[i])->peer;
        if (!is_there(peer)) {
            continue;
        }
        // Equals are taken in turn, so that a few requests do not all meet the first peer.
        const std::tuple rank(
            item.failed == peer,
            has[peer],
            (i + slots.size() - next_request_ % slots.size()) % slots.size()
        );
        if (!best || rank < least) {
            best = peer;
            least = rank;
        }
    }
    return best;
}

TimePoint Evaluation::next_deadline() const {
    TimePoint due = give_up_at_;
    const bool may_ask = under_way() && in_flight() < window();
    for (const Item& item : items_) {
        due = std::min(due, item.due);
        if (may_ask && !item.loss && !item.asked) {
            due = std::min(due, item.ask_at);
        }
    }
    return due;
}

}  // namespace swarm::coordinator
