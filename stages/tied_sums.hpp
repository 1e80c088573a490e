// The sums of a tied matrix, whose two uses lie in the first stage and in the last one. Once a
// member has its stage's sums of an own slice (reduction.hpp), what lies in it of the matrix goes
// to the members of the other stage whose slices hold the same weights; when theirs are here and
// added, the slice becomes values, the same bits in both stages. Knows what is to be swapped, and
// what came.
// Invariant: ours are made before theirs are added, so neither use counts twice; a slice that is
// complete holds both.
// Threading: single strand. Bounds: in an epoch as many cuts as both groups have slices.
// Errors: what comes from another sender, or again, is not taken.
// Source: step protocol, section 9 (a reduce group per tensor group). Cost: 8 bytes per weight of
// the matrix each way, or about 4 as byte planes; ours are kept for links that lose them.
#pragma once

#include "stages/server_context.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stages {

class TiedSums {
 public:
    /// What an own slice and one of the other stage have in common.
    struct Cut {
        std::uint32_t own = 0;
        std::uint32_t other = 0;
        SliceRange range;  // of our stage's flat vector

        friend bool operator==(const Cut&, const Cut&) = default;
    };

    using Taken = std::vector<std::pair<Cut, node::Payload>>;

    /// Where the matrix lies in a stage's flat vector, and how that is cut.
    struct Matrix {
        Slices slices;
        std::uint64_t begin = 0;
        std::uint64_t elements = 0;
    };

    /// Of the slice, in order of the other stage's slices.
    static std::vector<Cut> cuts(const Matrix& own, std::uint32_t slice, const Matrix& other);

    explicit TiedSums(const ServerContext& context) : context_(context) {}

    /// A new epoch's list. False when the run ties this stage to another and the list does not.
    [[nodiscard]] bool start(const protocol::Reduce& reduce, std::uint32_t own);
    void clear();

    /// Of an own slice, by its piece; none: nothing of it is tied.
    [[nodiscard]] const std::vector<Cut>& cuts(std::uint32_t piece) const {
        return pieces_[piece].cuts;
    }

    /// The cut that the part is the other stage's sums of. Nothing unless `from` owns them, and the
    /// slice is ours.
    [[nodiscard]] std::optional<Cut> find(PeerId from, const protocol::Part& part) const;
    /// The other stage's sums of the cut came. False: they came before.
    bool take(const Cut& cut, node::Payload values);
    /// They came, but do not unpack.
    void refuse(const Cut& cut);
    /// Ours of a piece, in order of its cuts: sends them.
    void made(std::uint32_t piece, std::vector<node::Payload> parts, node::Turn turn);
    /// What was taken of the piece and may be added now: nothing before ours are made.
    [[nodiscard]] Taken take_addable(std::uint32_t piece);
    /// Ours are made, and all of the other stage's were taken.
    [[nodiscard]] bool is_complete(std::uint32_t piece) const;

    /// The peer's links are back: sends it ours once more.
    void resend(PeerId peer, node::Turn turn) const;
    /// Members of the other stage whose sums are missing where ours are made.
    [[nodiscard]] std::vector<SlotId> awaited() const;

 private:
    struct Piece {
        std::vector<Cut> cuts;
        std::vector<bool> taken;          // by cut
        std::vector<node::Payload> ours;  // by cut, once they are made
        Taken waiting;                    // for ours
    };

    void send(const Cut& cut, const node::Payload& ours, node::Turn turn) const;
    [[nodiscard]] std::size_t index_of(const Cut& cut) const;

    const ServerContext& context_;
    swarm::Epoch epoch_;
    std::vector<SlotId> group_;  // of the other stage
    std::vector<PeerId> peers_;  // of group_, in order
    Slices own_slices_{0, 1};
    Slices other_slices_{0, 1};
    std::uint32_t own_ = 0;
    std::vector<Piece> pieces_;
};

}  // namespace stages
