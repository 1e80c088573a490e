#include "stacking/row_codec_choice.hpp"

#include "compression/passing_time.hpp"

#include <algorithm>
#include <array>

namespace stacking {

using compression::CodecId;

namespace {

/// Candidates, the least lossy one first.
constexpr std::array kLadder{CodecId::None, CodecId::Bf16, CodecId::Int8};

/// Seconds that the device takes for a row of a prompt or for the row of a token, whichever is
/// less: the shorter the computing, the more a slow line shows.
double computing_s(const swarm::protocol::RowRates& device) {
    const auto row_s = [](double per_s) { return per_s > 0 ? 1 / per_s : 0; };
    return std::min(row_s(device.prefill_per_s), row_s(device.decode_per_s));
}

}  // namespace

CodecId choose_row_codec(const RowLink& link) {
    if (link.bytes_per_s <= 0) {
        return kLadder.back();
    }
    const auto row_s = [&link, computing_s = computing_s(link.device)](CodecId id) {
        const compression::Codec& codec = *find_row_codec(id);
        return computing_s + compression::passing_s(codec, link.width, link.bytes_per_s);
    };
    const double fastest_s = row_s(*std::ranges::min_element(kLadder, {}, row_s));
    return *std::ranges::find_if(kLadder, [&](CodecId id) {
        return row_s(id) <= compression::kSlowerAtMost * fastest_s;
    });
}

}  // namespace stacking
