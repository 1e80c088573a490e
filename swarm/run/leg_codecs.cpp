#include "swarm/run/leg_codecs.hpp"

#include "compression/codec.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>

namespace swarm::run {

using compression::TensorRole;

namespace {

constexpr std::string_view kAuto = "auto";
/// Costs no loss that anybody has measured, and saves a slow line three quarters of its bytes.
constexpr CodecId kUntilMeasured = CodecId::Int8;

std::string_view name_of(CodecId id) {
    const compression::Codec* const codec = compression::find_codec(id);
    SWARM_ASSERT(codec != nullptr);
    return codec->name();
}

}  // namespace

bool chooses_codecs(const RunConfig& config) {
    return config.codec == kAuto;
}

std::optional<CodecPair> parse_codec_pair(std::string_view text) {
    const std::size_t slash = text.find('/');
    const bool is_pair = slash != std::string_view::npos;
    const auto* const forward = compression::find_codec(text.substr(0, slash));
    const auto* const backward =
        is_pair ? compression::find_codec(text.substr(slash + 1)) : forward;
    if (forward == nullptr || !forward->check_role(TensorRole::Activation) || backward == nullptr ||
        !backward->check_role(TensorRole::ActivationGradient)) {
        return std::nullopt;
    }
    return CodecPair{forward->id(), backward->id()};
}

LegCodecs first_codecs(const RunConfig& config) {
    CodecPair pair{kUntilMeasured, kUntilMeasured};
    if (!chooses_codecs(config)) {
        const auto named = parse_codec_pair(config.codec);
        SWARM_ASSERT(named.has_value());
        pair = *named;
    }
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
