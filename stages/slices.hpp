// How the flat vector of a stage is cut for its reduction. Each member owns an equal share of it,
// in slot order; a share is cut into pieces of kSliceBytesMax at most, so that a frame stays small
// however large the stage is, and adding, sending and storing go on at once. Small stages: one
// piece. A slice is one piece of one member's share; slices are numbered along the vector.
// Invariant: every member that has the same stage, group and `slice_bytes_max` cuts alike.
#pragma once

#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cstdint>

namespace stages {

/// Elements [begin, end).
struct SliceRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] std::uint64_t size() const { return end - begin; }

    friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

class Slices {
 public:
    /// Of int64 sums, which are the longer parts.
    Slices(
        std::uint64_t elements,
        std::uint32_t members,
        std::uint64_t slice_bytes_max = swarm::protocol::kSliceBytesMax
    )
        : elements_(elements), members_(members) {
        SWARM_ASSERT(members > 0 && slice_bytes_max >= sizeof(std::int64_t));
        const std::uint64_t share = (elements + members - 1) / members;
        const std::uint64_t in_a_piece = slice_bytes_max / sizeof(std::int64_t);
        pieces_ = static_cast<std::uint32_t>(
            std::max<std::uint64_t>(1, (share + in_a_piece - 1) / in_a_piece)
        );
    }

    [[nodiscard]] std::uint32_t members() const { return members_; }

    /// Of each member.
    [[nodiscard]] std::uint32_t pieces() const { return pieces_; }

    [[nodiscard]] std::uint32_t count() const { return members_ * pieces_; }

    [[nodiscard]] std::uint32_t slice(std::uint32_t member, std::uint32_t piece) const {
        return member * pieces_ + piece;
    }

    [[nodiscard]] std::uint32_t owner(std::uint32_t slice) const { return slice / pieces_; }

    [[nodiscard]] std::uint32_t piece(std::uint32_t slice) const { return slice % pieces_; }

    /// As equal as possible, the first ones larger.
    [[nodiscard]] SliceRange range(std::uint32_t slice) const {
        SWARM_ASSERT(slice < count());
        const std::uint64_t least = elements_ / count();
        const std::uint64_t larger = elements_ % count();  // so many slices have one element more
        const std::uint64_t begin = slice * least + std::min<std::uint64_t>(slice, larger);
        return {begin, begin + least + (slice < larger ? 1 : 0)};
    }

    /// The member's share.
    [[nodiscard]] SliceRange share(std::uint32_t member) const {
        return {range(slice(member, 0)).begin, range(slice(member, pieces_ - 1)).end};
    }

 private:
    std::uint64_t elements_;
    std::uint32_t members_;
    std::uint32_t pieces_ = 1;
};

}  // namespace stages
