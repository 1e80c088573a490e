// Small numbers in runs: levels, and indices into a dictionary. A run is one number many times, or
// numbers of `width` bits side by side, eight at a time (RLE / bit-packing hybrid).
// Threading: one thread. Errors: no value where the bytes end or are damaged.
// Cost: nothing is allocated; about 5 ns a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace swarm::data::parquet {

class RunDecoder {
 public:
    static constexpr unsigned kWidthMax = 32;

    RunDecoder() = default;

    /// Requires a width of at most kWidthMax. All numbers of no bits are 0.
    RunDecoder(std::string_view bytes, unsigned width) : bytes_(bytes), width_(width) {}

    std::optional<std::uint32_t> next();

 private:
    bool begin_run();

    std::string_view bytes_;
    unsigned width_ = 0;
    std::size_t position_ = 0;  // behind the run
    std::uint64_t left_ = 0;    // numbers that are left of the run
    bool is_packed_ = false;
    std::uint32_t value_ = 0;     // all numbers of a run that is not packed
    std::uint64_t next_bit_ = 0;  // where a packed run goes on
};

}  // namespace swarm::data::parquet
