#include "swarm/run/codec_setting.hpp"

#include "compression/codec.hpp"

namespace swarm::run {

using compression::TensorRole;

namespace {

constexpr std::string_view kAuto = "auto";

}  // namespace

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

CodecSetting CodecSetting::automatic() {
    return {std::string(kAuto), std::nullopt};
}

std::optional<CodecSetting> CodecSetting::find(std::string_view text) {
    if (text == kAuto) {
        return automatic();
    }
    const std::optional<CodecPair> pair = parse_codec_pair(text);
    return pair ? std::optional(CodecSetting(std::string(text), pair)) : std::nullopt;
}

}  // namespace swarm::run
