// Fuzzes a tokenizer.json from anybody and, after a line end, a text for the tokenizer that the
// file makes.
#include "stacking/tokenizers/byte_bpe.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/check.hpp"

#include <string>
#include <utility>

using namespace stacking::tokenizers;

namespace {

/// Encodes a text and decodes it: the tokens are made of the text's own bytes, in their order.
void encode_and_decode(const ByteBpe& bpe, std::string_view text, SpecialTokens special) {
    const auto ids = bpe.encode(text, special);
    SWARM_ASSERT(ids.has_value() == (utf8_prefix(text) == text.size()));
    if (!ids) {
        return;
    }
    const auto bytes = bpe.decode(*ids);
    SWARM_ASSERT(bytes.has_value());
    std::size_t at = 0;
    for (const char byte : *bytes) {
        at = text.find(byte, at);
        SWARM_ASSERT(at != std::string_view::npos);
        ++at;
    }
    Utf8Stream stream;
    const std::string streamed = stream.push(*bytes) + stream.finish();
    SWARM_ASSERT(utf8_prefix(streamed) == streamed.size());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t line = input.find('\n');
    auto vocabulary = parse_tokenizer_json(input.substr(0, line));
    if (!vocabulary) {
        return 0;
    }
    const auto bpe = ByteBpe::make(std::move(*vocabulary));
    if (bpe && line != std::string_view::npos) {
        encode_and_decode(*bpe, input.substr(line + 1), SpecialTokens::AsText);
        encode_and_decode(*bpe, input.substr(line + 1), SpecialTokens::Recognised);
    }
    return 0;
}
