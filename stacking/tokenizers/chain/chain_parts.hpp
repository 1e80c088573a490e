// The parts of a chain in the form of tokenizer.json. They are kept as text, so that a chain is
// written as it was read; the readers of other files make such parts, too.
// Threading: pure functions. Errors: Unsupported (a part that is not known, by its name),
// Malformed, those of Pattern; Reject. Cost: O(bytes), and compiling the expressions.
// Source: tokenizers (serialization); its documents do not tell all defaults.
#pragma once

#include "stacking/tokenizers/chain/chain.hpp"
#include "swarm/base/result.hpp"

#include <string>

namespace stacking::tokenizers {

/// Pieces of a chain that several tokenizers have.
inline constexpr const char* kNoPart = "null";
inline constexpr const char* kByteLevelDecoder =
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
inline constexpr const char* kSingleDigits =
    R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)"
    R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})";

/// JSON texts. The default is byte-level BPE with single digits: SmolLM2's chain.
struct ChainParts {
    std::string normalizer = kNoPart;
    std::string pre_tokenizer = kSingleDigits;
    std::string post_processor = kNoPart;
    std::string decoder = kByteLevelDecoder;
};

swarm::Result<Chain> read_chain(const ChainParts& parts);

}  // namespace stacking::tokenizers
