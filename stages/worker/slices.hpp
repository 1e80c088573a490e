// How the flat vector of a stage is cut for its reduction. Each member owns an equal portion of it,
// in slot order. A portion is cut into pieces of at most kSliceBytesMax, so that a frame stays
// small however large the stage is, and adding, sending and storing overlap. A small stage has one
// piece per portion. A slice is one piece of one member's portion; slices are numbered along the
// vector.
// Invariant: all members with the same stage, group and `slice_bytes_max` cut alike.
// Threading: immutable values. Units: elements of the flat vector, int64 sums of 8 bytes each.
#pragma once

#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cstdint>

namespace stages {

/// The elements [begin, end) of a flat vector.
struct SliceRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] std::uint64_t size() const { return end - begin; }

    friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

class Slices {
 public:
    /// Cuts so that a piece of int64 sums has at most `slice_bytes_max` bytes; fp32 values of the
    /// same piece have half as many.
    Slices(
        std::uint64_t elements,
        std::uint32_t members,
        std::uint64_t slice_bytes_max = swarm::protocol::kSliceBytesMax
    )
        : elements_(elements), members_(members) {
        SWARM_ASSERT(members > 0 && slice_bytes_max >= sizeof(std::int64_t));
        const std::uint64_t portion = (elements + members - 1) / members;
        const std::uint64_t in_a_piece = slice_bytes_max / sizeof(std::int64_t);
        pieces_ = static_cast<std::uint32_t>(
            std::max<std::uint64_t>(1, (portion + in_a_piece - 1) / in_a_piece)
        );
    }

    [[nodiscard]] std::uint32_t members() const { return members_; }

    /// Number of pieces of each member's portion.
    [[nodiscard]] std::uint32_t pieces() const { return pieces_; }

    /// Number of slices of all members together.
    [[nodiscard]] std::uint32_t count() const { return members_ * pieces_; }

    [[nodiscard]] std::uint32_t slice(std::uint32_t member, std::uint32_t piece) const {
        return member * pieces_ + piece;
    }

    [[nodiscard]] std::uint32_t owner(std::uint32_t slice) const { return slice / pieces_; }

    [[nodiscard]] std::uint32_t piece(std::uint32_t slice) const { return slice % pieces_; }

    /// Slices are as equal as possible; the first ones are larger by one element.
    [[nodiscard]] SliceRange range(std::uint32_t slice) const {
        SWARM_ASSERT(slice < count());
        const std::uint64_t least = elements_ / count();
        const std::uint64_t larger = elements_ % count();  // number of slices with one more element
        const std::uint64_t begin = slice * least + std::min<std::uint64_t>(slice, larger);
        return {begin, begin + least + (slice < larger ? 1 : 0)};
    }

    /// All pieces of the member together.
    [[nodiscard]] SliceRange portion(std::uint32_t member) const {
        return {range(slice(member, 0)).begin, range(slice(member, pieces_ - 1)).end};
    }

 private:
    std::uint64_t elements_;
    std::uint32_t members_;
    std::uint32_t pieces_ = 1;
};

}  // namespace stages
