#include "swarm/data/parquet/delta_decoder.hpp"

#include "swarm/data/parquet/file_bytes.hpp"
#include "swarm/data/parquet/little_endian.hpp"

#include <algorithm>

namespace swarm::data::parquet {
namespace {

constexpr std::uint32_t kBlockValuesMax = 1U << 16;  // writers have 128 or 256
constexpr std::uint32_t kMiniblockStep = 32;         // values of a miniblock are a multiple of it
constexpr unsigned kDeltaWidthMax = 32;

/// A varint of up to 64 bits, of which 32 count: sums wrap.
std::optional<std::uint32_t> take_zigzag(std::string_view bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
        const auto next = static_cast<std::uint8_t>(bytes[at++]);
        value |= std::uint64_t{next & 0x7FU} << shift;
        if ((next & 0x80U) == 0) {
            return static_cast<std::uint32_t>((value >> 1) ^ (~(value & 1) + 1));
        }
    }
    return std::nullopt;
}

Error bad_lengths() {
    return damaged("the lengths of a page are damaged");
}

}  // namespace

Result<DeltaDecoder> DeltaDecoder::open(std::string_view bytes) {
    DeltaDecoder decoder(bytes);
    if (!decoder.read_head()) {
        return bad_lengths();
    }
    return decoder;
}

bool DeltaDecoder::read_head() {
    const auto block_values = take_varint(bytes_, position_);
    const auto miniblocks = take_varint(bytes_, position_);
    const auto count = take_varint(bytes_, position_);
    const auto first = take_zigzag(bytes_, position_);
    if (!block_values || !miniblocks || !count || !first || *block_values == 0 ||
        *block_values > kBlockValuesMax || *miniblocks == 0 || *block_values % *miniblocks != 0) {
        return false;
    }
    miniblocks_ = *miniblocks;
    miniblock_values_ = *block_values / *miniblocks;
    left_ = *count;
    value_ = *first;
    miniblock_ = miniblocks_;  // a block begins with the first difference
    return miniblock_values_ % kMiniblockStep == 0;
}

bool DeltaDecoder::begin_miniblock() {
    if (miniblock_ == miniblocks_) {
        const auto smallest = take_zigzag(bytes_, position_);
        if (!smallest || miniblocks_ > bytes_.size() - position_) {
            return false;
        }
        smallest_ = *smallest;
        widths_ = position_;
        position_ += miniblocks_;
        miniblock_ = 0;
    }
    width_ = static_cast<std::uint8_t>(bytes_[widths_ + miniblock_]);
    ++miniblock_;
    const std::uint64_t body = std::uint64_t{width_} * miniblock_values_ / 8;
    if (width_ > kDeltaWidthMax || body > bytes_.size() - position_) {
        return false;
    }
    next_bit_ = std::uint64_t{position_} * 8;
    position_ += static_cast<std::size_t>(body);
    miniblock_left_ = miniblock_values_;
    return true;
}

std::optional<std::uint32_t> DeltaDecoder::next() {
    if (left_ == 0) {
        return std::nullopt;
    }
    if (is_first_) {
        is_first_ = false;
        --left_;
        return value_;
    }
    if (miniblock_left_ == 0 && !begin_miniblock()) {
        left_ = 0;
        return std::nullopt;
    }
    --left_;
    --miniblock_left_;
    value_ += smallest_ + bits_at(bytes_, next_bit_, width_);
    next_bit_ += width_;
    return value_;
}

Result<std::size_t> DeltaDecoder::end() const {
    DeltaDecoder walker = *this;
    std::uint32_t left = walker.left_ - (walker.is_first_ && walker.left_ > 0 ? 1 : 0);
    left -= std::min(left, walker.miniblock_left_);
    while (left > 0) {
        if (!walker.begin_miniblock()) {
            return bad_lengths();
        }
        left -= std::min(left, walker.miniblock_values_);
    }
    return walker.position_;
}

}  // namespace swarm::data::parquet
