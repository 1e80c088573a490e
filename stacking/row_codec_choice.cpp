#include "stacking/row_codec_choice.hpp"

#include <algorithm>
#include <array>

namespace stacking {

using compression::CodecId;

namespace {

constexpr std::array kLadder{CodecId::None, CodecId::Bf16, CodecId::Int8};  // int8 loses most
constexpr double kSlowerAtMost = 1.03;                                      // than with the fastest
/// Both ends together, of a processor of 2020 with AVX2, as in swarm/run/codec_choice.cpp.
constexpr double kCodingSPerElement = 2e-9;

/// Of one row, from the hop that computes it to the next.
double row_s(const RowLink& link, double rows_per_s, CodecId id) {
    const double computing_s = rows_per_s > 0 ? 1 / rows_per_s : 0;
    const double coding_s =
        id == CodecId::None ? 0 : kCodingSPerElement * static_cast<double>(link.width);
    const auto bytes = static_cast<double>(row_bytes(*find_row_codec(id), link.width));
    return computing_s + coding_s + bytes / link.bytes_per_s;
}

bool is_fast_enough(const RowLink& link, double rows_per_s, CodecId id) {
    double fastest_s = row_s(link, rows_per_s, kLadder.front());
    for (const CodecId other : kLadder) {
        fastest_s = std::min(fastest_s, row_s(link, rows_per_s, other));
    }
    return row_s(link, rows_per_s, id) <= kSlowerAtMost * fastest_s;
}

}  // namespace

CodecId choose_row_codec(const RowLink& link) {
    if (link.bytes_per_s <= 0) {
        return kLadder.back();
    }
    const auto* const chosen = std::ranges::find_if(kLadder, [&](CodecId id) {
        return is_fast_enough(link, link.device.prefill_per_s, id) &&
               is_fast_enough(link, link.device.decode_per_s, id);
    });
    return chosen == kLadder.end() ? kLadder.back() : *chosen;
}

}  // namespace stacking
