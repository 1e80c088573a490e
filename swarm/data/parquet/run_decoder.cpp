#include "swarm/data/parquet/run_decoder.hpp"

#include "swarm/data/parquet/little_endian.hpp"

#include <algorithm>

namespace swarm::data::parquet {

bool RunDecoder::begin_run() {
    const auto head = take_varint(bytes_, position_);
    if (!head) {
        return false;
    }
    is_packed_ = (*head & 1U) != 0;
    left_ = *head >> 1;
    if (is_packed_) {
        // Some writers leave out what fills up the last eight numbers: next() looks at each.
        left_ *= 8;
        next_bit_ = std::uint64_t{position_} * 8;
        const std::uint64_t bytes = left_ * width_ / 8;
        position_ +=
            static_cast<std::size_t>(std::min<std::uint64_t>(bytes, bytes_.size() - position_));
        return true;
    }
    const std::size_t count = (width_ + 7) / 8;
    if (count > bytes_.size() - position_) {
        return false;
    }
    value_ = bits_at(bytes_, std::uint64_t{position_} * 8, static_cast<unsigned>(count * 8));
    position_ += count;
    return true;
}

std::optional<std::uint32_t> RunDecoder::next() {
    if (width_ == 0) {
        return 0U;
    }
    while (left_ == 0) {  // a run may be empty; each takes a byte at least
        if (!begin_run()) {
            return std::nullopt;
        }
    }
    --left_;
    if (!is_packed_) {
        return value_;
    }
    if (next_bit_ + width_ > std::uint64_t{bytes_.size()} * 8) {
        return std::nullopt;
    }
    const std::uint32_t value = bits_at(bytes_, next_bit_, width_);
    next_bit_ += width_;
    return value;
}

}  // namespace swarm::data::parquet
