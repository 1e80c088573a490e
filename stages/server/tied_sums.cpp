#include "stages/server/tied_sums.hpp"

#include "swarm/base/check.hpp"
#include "swarm/run/partition.hpp"

#include <algorithm>

namespace stages {
namespace {

/// The matrix is the first tensor of the first stage, and the last tensor of the last stage.
TiedSums::Matrix matrix_in(
    const ServerContext& context,
    StageIndex stage,
    std::uint64_t stage_elements,
    const Slices& slices
) {
    const std::uint64_t elements = swarm::run::tied_elements(context.config);
    return {slices, stage.value == 0 ? 0 : stage_elements - elements, elements};
}

/// The part of a slice that lies in the matrix, as offsets within the matrix.
SliceRange within(const TiedSums::Matrix& matrix, std::uint32_t slice) {
    const SliceRange range = matrix.slices.range(slice);
    const auto offset = [&](std::uint64_t at) {
        return std::min(at - std::min(at, matrix.begin), matrix.elements);
    };
    return {offset(range.begin), offset(range.end)};
}

}  // namespace

std::vector<TiedSums::Cut> TiedSums::cuts(
    const Matrix& own, std::uint32_t slice, const Matrix& other
) {
    const SliceRange ours = within(own, slice);
    std::vector<Cut> cuts;
    for (std::uint32_t at = 0; ours.size() > 0 && at < other.slices.count(); ++at) {
        const SliceRange theirs = within(other, at);
        const SliceRange both{std::max(ours.begin, theirs.begin), std::min(ours.end, theirs.end)};
        if (both.begin < both.end) {
            cuts.push_back({slice, at, {own.begin + both.begin, own.begin + both.end}});
        }
    }
    return cuts;
}

bool TiedSums::start(const protocol::Reduce& reduce, std::uint32_t own) {
    clear();
    epoch_ = reduce.epoch;
    own_ = own;
    own_slices_ = context_.slices(reduce.group.size());
    pieces_.resize(own_slices_.pieces());
    if (!context_.tied) {
        return true;
    }
    if (reduce.tied_group.empty()) {
        return false;
    }
    group_ = reduce.tied_group;
    for (const SlotId slot : group_) {
        const auto* const info = context_.roster.find(slot);
        const bool known = info != nullptr && info->stage == context_.tied->stage;
        peers_.push_back(known ? info->peer : PeerId{});
    }
    other_slices_ = context_.slices_of(context_.tied->elements, group_.size());
    const Matrix ours =
        matrix_in(context_, context_.stage(), context_.layout.elements(), own_slices_);
    const Matrix theirs =
        matrix_in(context_, context_.tied->stage, context_.tied->elements, other_slices_);
    for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
        pieces_[piece].cuts = cuts(ours, own_slices_.slice(own, piece), theirs);
        pieces_[piece].taken.assign(pieces_[piece].cuts.size(), false);
    }
    return true;
}

void TiedSums::clear() {
    group_.clear();
    peers_.clear();
    pieces_.clear();
}

std::optional<TiedSums::Cut> TiedSums::find(PeerId from, const protocol::Part& part) const {
    const bool fits = part.tied_into && *part.tied_into < own_slices_.count() &&
                      own_slices_.owner(*part.tied_into) == own_ && !peers_.empty() &&
                      part.slice < other_slices_.count() &&
                      peers_[other_slices_.owner(part.slice)] == from;
    if (!fits) {
        return std::nullopt;
    }
    const std::vector<Cut>& cuts = pieces_[own_slices_.piece(*part.tied_into)].cuts;
    const auto found = std::ranges::find(cuts, part.slice, &Cut::other);
    return found == cuts.end() ? std::nullopt : std::optional(*found);
}

std::size_t TiedSums::index_of(const Cut& cut) const {
    const std::vector<Cut>& cuts = pieces_[own_slices_.piece(cut.own)].cuts;
    const auto found = std::ranges::find(cuts, cut);
    SWARM_ASSERT(found != cuts.end());
    return static_cast<std::size_t>(found - cuts.begin());
}

bool TiedSums::take(const Cut& cut, node::Payload values) {
    Piece& piece = pieces_[own_slices_.piece(cut.own)];
    const std::size_t index = index_of(cut);
    if (piece.taken[index]) {
        return false;
    }
    piece.taken[index] = true;
    piece.waiting.emplace_back(cut, std::move(values));
    return true;
}

void TiedSums::refuse(const Cut& cut) {
    pieces_[own_slices_.piece(cut.own)].taken[index_of(cut)] = false;
}

void TiedSums::made(std::uint32_t piece, std::vector<node::Payload> parts, node::Turn turn) {
    Piece& of = pieces_[piece];
    SWARM_ASSERT(of.ours.empty() && parts.size() == of.cuts.size());
    of.ours = std::move(parts);
    for (std::size_t i = 0; i < of.cuts.size(); ++i) {
        send(of.cuts[i], of.ours[i], turn);
    }
}

TiedSums::Taken TiedSums::take_addable(std::uint32_t piece) {
    Piece& of = pieces_[piece];
    return of.ours.empty() ? Taken{} : std::exchange(of.waiting, {});
}

bool TiedSums::is_complete(std::uint32_t piece) const {
    const Piece& of = pieces_[piece];
    return of.ours.size() == of.cuts.size() && std::ranges::find(of.taken, false) == of.taken.end();
}

void TiedSums::send(const Cut& cut, const node::Payload& ours, node::Turn turn) const {
    const protocol::Part part{*context_.version, epoch_, cut.own, false, cut.other};
    ServerContext::send(peers_[other_slices_.owner(cut.other)], part, ours, turn);
}

void TiedSums::resend(PeerId peer, node::Turn turn) const {
    for (const Piece& piece : pieces_) {
        for (std::size_t i = 0; i < piece.ours.size(); ++i) {
            if (peers_[other_slices_.owner(piece.cuts[i].other)] == peer) {
                send(piece.cuts[i], piece.ours[i], turn);
            }
        }
    }
}

std::vector<SlotId> TiedSums::awaited() const {
    std::vector<bool> waits(group_.size(), false);
    for (const Piece& piece : pieces_) {
        for (std::size_t i = 0; i < piece.ours.size(); ++i) {
            if (!piece.taken[i]) {
                waits[other_slices_.owner(piece.cuts[i].other)] = true;
            }
        }
    }
    std::vector<SlotId> slots;
    for (std::size_t member = 0; member < group_.size(); ++member) {
        if (waits[member]) {
            slots.push_back(group_[member]);
        }
    }
    return slots;
}

}  // namespace stages
