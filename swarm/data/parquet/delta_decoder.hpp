// Lengths as differences (DELTA_BINARY_PACKED of INT32): a first value, then blocks of differences
// to the value before, each less the block's smallest, in miniblocks with a width of their own.
// Invariant: sums are those of 32 bits, which wrap.
// Threading: one thread. Errors: Malformed (Reject); no value at the end and where bytes are
// damaged. Cost: nothing is allocated; about 5 ns a value.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace swarm::data::parquet {

class DeltaDecoder {
 public:
    static Result<DeltaDecoder> open(std::string_view bytes);

    std::optional<std::uint32_t> next();

    /// Returns the offset behind the last value. Only the heads of the blocks that are left are
    /// read.
    [[nodiscard]] Result<std::size_t> end() const;

 private:
    explicit DeltaDecoder(std::string_view bytes) : bytes_(bytes) {}

    bool read_head();
    bool begin_miniblock();

    std::string_view bytes_;
    std::size_t position_ = 0;      // behind the miniblock
    std::uint32_t miniblocks_ = 0;  // in a block
    std::uint32_t miniblock_values_ = 0;
    std::uint32_t left_ = 0;  // values
    bool is_first_ = true;
    std::uint32_t value_ = 0;
    std::uint32_t smallest_ = 0;   // difference of the block
    std::size_t widths_ = 0;       // offset of the block's widths, a byte each
    std::uint32_t miniblock_ = 0;  // index of the next one in its block
    std::uint32_t miniblock_left_ = 0;
    unsigned width_ = 0;
    std::uint64_t next_bit_ = 0;
};

}  // namespace swarm::data::parquet
