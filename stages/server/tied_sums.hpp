// The sums of a tied matrix, whose two uses lie in the first and in the last stage. Once a member
// has its stage's sums of an own slice (reduction.hpp), the slice's part of the matrix goes to the
// members of the other stage whose slices hold the same weights. When their sums are here and
// added, the slice becomes values, with the same bits in both stages. The class knows what is to be
// swapped and what came.
// Invariant: the own sums are made before the other stage's are added, so neither use counts twice;
// a complete slice holds both uses.
// Threading: single strand. Bounds: per epoch as many cuts as both groups have slices. Errors: sums
// of another sender, and sums that come again, are not taken.
// Cost: 8 bytes per weight of the matrix each way, or about 4 as byte planes; the own sums are kept
// for links that lose them. Source: step protocol, section 7 (tied embeddings).
#pragma once

#include "stages/server/server_context.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stages {

class TiedSums {
 public:
    /// The weights that an own slice and a slice of the other stage have in common.
    struct Cut {
        std::uint32_t own = 0;    // number of the own slice
        std::uint32_t other = 0;  // number of the other stage's slice
        SliceRange range;         // range in the own stage's flat vector

        friend bool operator==(const Cut&, const Cut&) = default;
    };

    using Taken = std::vector<std::pair<Cut, node::Payload>>;

    /// Where the matrix lies in a stage's flat vector, and how that vector is cut.
    struct Matrix {
        Slices slices;
        std::uint64_t begin = 0;
        std::uint64_t elements = 0;
    };

    /// The cuts of a slice, in order of the other stage's slices.
    static std::vector<Cut> cuts(const Matrix& own, std::uint32_t slice, const Matrix& other);

    explicit TiedSums(const ServerContext& context) : context_(context) {}

    /// Begins an epoch with its list. Returns false when the run ties this stage to another one and
    /// the list names no members there.
    [[nodiscard]] bool start(const protocol::Reduce& reduce, std::uint32_t own);
    void clear();

    /// The cuts of an own slice, by its piece; empty where nothing of it is tied.
    [[nodiscard]] const std::vector<Cut>& cuts(std::uint32_t piece) const {
        return pieces_[piece].cuts;
    }

    /// The cut of which the part has the other stage's sums. Empty unless `from` owns the other
    /// slice and this peer the own one.
    [[nodiscard]] std::optional<Cut> find(PeerId from, const protocol::Part& part) const;
    /// Takes the other stage's sums of a cut. Returns false when they came before.
    bool take(const Cut& cut, node::Payload values);
    /// Waits again for the sums of a cut, because those that came do not unpack.
    void refuse(const Cut& cut);
    /// Takes the own sums of a piece, in order of its cuts, and sends them.
    void made(std::uint32_t piece, std::vector<node::Payload> parts, node::Turn turn);
    /// Returns the taken sums of a piece that may be added: none before the own sums are made.
    [[nodiscard]] Taken take_addable(std::uint32_t piece);
    /// True when the own sums are made and all of the other stage's were taken.
    [[nodiscard]] bool is_complete(std::uint32_t piece) const;

    /// Sends the own sums once more to a peer whose links are back.
    void resend(PeerId peer, node::Turn turn) const;
    /// Members of the other stage whose sums are missing where the own sums are made.
    [[nodiscard]] std::vector<SlotId> awaited() const;

 private:
    struct Piece {
        std::vector<Cut> cuts;
        std::vector<bool> taken;          // true when the other stage's sums came, by cut
        std::vector<node::Payload> ours;  // own sums by cut, once they are made
        Taken waiting;                    // the other stage's sums that wait for the own sums
    };

    void send(const Cut& cut, const node::Payload& ours, node::Turn turn) const;
    [[nodiscard]] std::size_t index_of(const Cut& cut) const;

    const ServerContext& context_;
    swarm::Epoch epoch_;
    std::vector<SlotId> group_;  // members of the other stage
    std::vector<PeerId> peers_;  // peers of group_, in its order
    Slices own_slices_{0, 1};
    Slices other_slices_{0, 1};
    std::uint32_t own_ = 0;  // index of this peer in the group of its stage
    std::vector<Piece> pieces_;
};

}  // namespace stages
