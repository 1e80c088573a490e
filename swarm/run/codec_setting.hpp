// The codec of a run file: one for all tensors between stages ("int8"), one for each way
// ("int4/int8": activations forward, their gradients backward), or "auto", with which the
// coordinator chooses per boundary and way (codec_choice.hpp).
// Invariant: a setting names only codecs that serve these tensors, and remembers how it was
// written, because run files are hashed.
// Threading: a value. Errors: nullopt for text that is no setting.
#pragma once

#include "swarm/protocol/tensor_envelope.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace swarm::run {

using protocol::CodecId;

struct CodecPair {
    CodecId forward = CodecId::None;
    CodecId backward = CodecId::None;

    friend bool operator==(const CodecPair&, const CodecPair&) = default;
};

/// "int8", "int4/int8"; nullopt for "auto".
std::optional<CodecPair> parse_codec_pair(std::string_view text);

class CodecSetting {
 public:
    /// "none".
    CodecSetting() = default;
    static CodecSetting automatic();
    static std::optional<CodecSetting> find(std::string_view text);

    [[nodiscard]] bool is_automatic() const { return !pair_; }

    /// nullopt: automatic.
    [[nodiscard]] const std::optional<CodecPair>& pair() const { return pair_; }

    [[nodiscard]] const std::string& text() const { return text_; }

    friend bool operator==(const CodecSetting&, const CodecSetting&) = default;

 private:
    CodecSetting(std::string text, std::optional<CodecPair> pair)
        : text_(std::move(text)), pair_(pair) {}

    std::string text_ = "none";
    std::optional<CodecPair> pair_ = CodecPair{};
};

}  // namespace swarm::run
