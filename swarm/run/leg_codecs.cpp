#include "swarm/run/leg_codecs.hpp"

#include "compression/codec.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>

namespace swarm::run {

namespace {

/// The first codec of a run that chooses: no measured loss, and a quarter of the bytes of fp32.
constexpr CodecId kUntilMeasured = CodecId::Int8;

std::string_view name_of(CodecId id) {
    const compression::Codec* const codec = compression::find_codec(id);
    SWARM_ASSERT(codec != nullptr);
    return codec->name();
}

}  // namespace

bool chooses_codecs(const RunConfig& config) {
    return config.codec.is_automatic();
}

LegCodecs first_codecs(const RunConfig& config) {
    const CodecPair pair = config.codec.pair().value_or(CodecPair{kUntilMeasured, kUntilMeasured});
    LegCodecs codecs;
    for (std::uint32_t boundary = 0; boundary + 1 < config.stages; ++boundary) {
        codecs.insert(codecs.end(), {pair.forward, pair.backward});
    }
    return codecs;
}

std::string to_text(const LegCodecs& codecs) {
    std::string text;
    for (std::size_t i = 0; i < codecs.size(); ++i) {
        if (i > 0) {
            text += i % 2 == 0 ? ',' : '/';
        }
        text += name_of(codecs[i]);
    }
    return text;
}

std::optional<LegCodecs> parse_leg_codecs(std::string_view text, std::uint32_t stages) {
    LegCodecs codecs;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::string_view pair = text.substr(0, end);
        const auto parsed = parse_codec_pair(pair);
        if (!parsed || pair.find('/') == std::string_view::npos || end + 1 == text.size()) {
            return std::nullopt;
        }
        codecs.insert(codecs.end(), {parsed->forward, parsed->backward});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return codecs.size() == 2 * (std::size_t{stages} - 1) ? std::optional(codecs) : std::nullopt;
}

}  // namespace swarm::run
