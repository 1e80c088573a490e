#include "stacking/sessions/experts/expert_lenders.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace stacking::sessions {
namespace {

/// A lender's place in the order of one server.
std::uint64_t place(PeerId server, PeerId lender) {
    std::uint64_t mixed = 0;
    for (std::size_t i = 0; i < lender.words.size(); ++i) {
        mixed = swarm::mix_bits(mixed ^ lender.words[i] ^ swarm::mix_bits(server.words[i] + 1));
    }
    return mixed;
}

double seconds(swarm::Duration time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

bool ExpertLenders::is_wanted(const protocol::HostInfo& host) const {
    const ExpertSet lent = ExpertSet::of_words(host.experts);
    const auto wanted = options_.lacking.list();
    const bool has_some =
        std::ranges::any_of(wanted, [&](std::uint32_t expert) { return lent.has(expert); });
    const bool fits =
        host.hosted.first < options_.hosted.end && options_.hosted.first < host.hosted.end;
    // A server with a trunk is listed with another digest; it refuses if its weights are others.
    return has_some && fits && host.peer != options_.self &&
           (!host.experts_only || host.weights == options_.weights);
}

void ExpertLenders::learn(const protocol::Located& located, node::Turn turn) {
    for (auto& [peer, lender] : lenders_) {
        lender.listed = false;
    }
    for (const protocol::HostInfo& host : located.hosts) {
        if (!is_wanted(host) || (lenders_.size() >= kLendersMax && !knows(host.peer))) {
            continue;
        }
        Lender& lender = lenders_[host.peer];
        lender.hosted = host.hosted;
        lender.experts = ExpertSet::of_words(host.experts);
        lender.address = host.address;
        lender.listed = true;
    }
    std::erase_if(lenders_, [](const auto& item) {
        return !item.second.listed && item.second.requests == 0;
    });
    dial(turn);
}

void ExpertLenders::dial(node::Turn turn) {
    for (const auto& [peer, lender] : lenders_) {
        if (lender.listed && lender.rests_until <= turn.now) {
            links_.want(peer, node::Lane::Bulk, lender.address, turn);
        }
    }
}

void ExpertLenders::linked(PeerId peer) {
    const auto found = lenders_.find(peer);
    if (found != lenders_.end()) {
        found->second.rests_until = {};
    }
}

bool ExpertLenders::lends(PeerId peer, const LayerExpert& which) const {
    const auto found = lenders_.find(peer);
    if (found == lenders_.end()) {
        return false;
    }
    const Lender& lender = found->second;
    return lender.listed && lender.experts.has(which.expert) &&
           which.layer >= lender.hosted.first && which.layer < lender.hosted.end;
}

bool ExpertLenders::has_linked(const LayerExpert& which) const {
    return std::ranges::any_of(lenders_, [&](const auto& item) {
        return lends(item.first, which) && links_.is_up(item.first, node::Lane::Bulk);
    });
}

bool ExpertLenders::has_another(const LayerExpert& which, const LayerExpert& without) const {
    return std::ranges::any_of(lenders_, [&](const auto& item) {
        return lends(item.first, which) && !lends(item.first, without) &&
               links_.is_up(item.first, node::Lane::Bulk);
    });
}

ExpertLenders::Choice ExpertLenders::choose(
    const LayerExpert& which, std::uint32_t rows, TimePoint now
) const {
    double fastest = 0;
    for (const auto& [peer, lender] : lenders_) {
        fastest = std::max(fastest, lender.rows_per_s);
    }
    using Rank = std::tuple<double, std::uint64_t>;
    Rank best{std::numeric_limits<double>::infinity(), 0};
    Choice choice;
    for (const auto& [peer, lender] : lenders_) {
        if (!lends(peer, which) || lender.rests_until > now ||
            !links_.is_up(peer, node::Lane::Bulk)) {
            continue;
        }
        if (lender.requests >= protocol::kExpertCallsPerPeerMax) {
            choice.all_busy = true;
            continue;
        }
        const double measured = lender.rows_per_s > 0 ? lender.rows_per_s : 2 * fastest;
        const double rate = measured > 0 ? measured : 1;
        const Rank rank{static_cast<double>(lender.rows + rows) / rate, place(options_.self, peer)};
        if (rank < best) {
            best = rank;
            choice.lender = peer;
        }
    }
    choice.all_busy = choice.all_busy && !choice.lender;
    return choice;
}

double ExpertLenders::Slowest::value() const {
    return *std::ranges::max_element(values_);
}

/// A token's time is mostly that of the line; the time of a prompt's rows grows with their number.
swarm::Duration ExpertLenders::patience(const Lender& lender) const {
    const auto times = [](double longest_s) {
        return std::chrono::duration_cast<swarm::Duration>(
            std::chrono::duration<double>(kSilentWorst * longest_s)
        );
    };
    const double token_s = lender.token_s.value();
    const double row_s = lender.row_s.value();
    const swarm::Duration first =
        token_s > 0 ? std::max(times(token_s), kSilentLeast) : kFirstAnswer;
    const std::uint64_t few = protocol::kSessionBatchMax;
    const auto more_rows = static_cast<double>(lender.rows - std::min(lender.rows, few));
    const double each_s = row_s > 0 ? kSilentWorst * row_s : seconds(kRowAllowance);
    return first + std::chrono::duration_cast<swarm::Duration>(
                       std::chrono::duration<double>(each_s * more_rows)
                   );
}

swarm::Duration ExpertLenders::sent(PeerId peer, std::uint32_t rows) {
    Lender& lender = lenders_.at(peer);
    lender.rows += rows;
    ++lender.requests;
    SWARM_ASSERT(lender.requests <= protocol::kExpertCallsPerPeerMax);
    return patience(lender);
}

void ExpertLenders::end(Lender& lender, std::uint32_t rows) {
    SWARM_ASSERT(lender.requests > 0 && lender.rows >= rows);
    lender.rows -= rows;
    --lender.requests;
}

void ExpertLenders::answered(PeerId peer, std::uint32_t rows, swarm::Duration took) {
    constexpr double kNew = 0.2;  // weight of the newest answer in the rate
    Lender& lender = lenders_.at(peer);
    const auto under_way = static_cast<double>(lender.rows);
    const bool few = lender.rows <= protocol::kSessionBatchMax;
    end(lender, rows);
    lender.rest = kRestFirst;
    const double spent = std::max(seconds(took), 1e-6);
    (few ? lender.token_s : lender.row_s).add(few ? spent : spent / under_way);
    const double rate = under_way / spent;
    lender.rows_per_s = lender.rows_per_s > 0 ? (1 - kNew) * lender.rows_per_s + kNew * rate : rate;
}

void ExpertLenders::failed(PeerId peer, std::uint32_t rows, TimePoint now) {
    forget(peer, rows);
    rest(peer, now);
}

void ExpertLenders::refused(PeerId peer, std::uint32_t rows, TimePoint now) {
    forget(peer, rows);
    lenders_.at(peer).rest = kRestMax;
    rest(peer, now);
}

void ExpertLenders::forget(PeerId peer, std::uint32_t rows) {
    end(lenders_.at(peer), rows);
}

void ExpertLenders::rest(PeerId peer, TimePoint now) {
    const auto found = lenders_.find(peer);
    if (found != lenders_.end()) {
        Lender& lender = found->second;
        lender.rests_until = now + lender.rest;
        lender.rest = std::min(2 * lender.rest, kRestMax);
    }
}

TimePoint ExpertLenders::next_deadline(TimePoint now) const {
    TimePoint due = swarm::kNever;
    for (const auto& [peer, lender] : lenders_) {
        if (lender.listed && lender.rests_until > now) {
            due = std::min(due, lender.rests_until);
        }
    }
    return due;
}

}  // namespace stacking::sessions
