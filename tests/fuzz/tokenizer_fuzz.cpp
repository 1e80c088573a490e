// Fuzzes a tokenizer.json or a tokenizer.model from anybody and, after the last line end, a text
// for the tokenizer that the file makes.
#include "stacking/tokenizers/bpe.hpp"
#include "stacking/tokenizers/sentence_piece_file.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/check.hpp"

#include <string>
#include <utility>

using namespace stacking::tokenizers;

namespace {

/// Whether every token is made of the text's own bytes, in their order.
bool changes_nothing(const Bpe& bpe) {
    const ChainParts& parts = bpe.vocabulary().parts;
    return parts.normalizer == kNoPart && parts.pre_tokenizer == kSingleDigits &&
           bpe.vocabulary().added_tokens.empty() && !bpe.vocabulary().unknown;
}

void encode_and_decode(const Bpe& bpe, std::string_view text, SpecialTokens special) {
    const auto ids = bpe.encode(text, special);
    if (!ids) {
        return;  // no UTF-8, or an expression that costs too much
    }
    SWARM_ASSERT(utf8_prefix(text) == text.size());
    const auto bytes = bpe.decode(*ids);
    SWARM_ASSERT(bytes.has_value() && bpe.decode_whole(*ids).has_value());
    std::size_t at = 0;
    for (std::size_t i = 0; changes_nothing(bpe) && i < bytes->size(); ++i) {
        at = text.find((*bytes)[i], at);
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
    const std::size_t line = input.rfind('\n');
    const std::string_view file = input.substr(0, line);
    auto vocabulary = file.starts_with('{') ? parse_tokenizer_json(file)
                                            : read_sentence_piece_file(file, {true, true});
    if (!vocabulary) {
        return 0;
    }
    SWARM_ASSERT(!has_control_tokens(file) || !file.starts_with('{'));
    const auto bpe = Bpe::make(std::move(*vocabulary));
    if (!bpe) {
        return 0;
    }
    // The text that is written is read as the same tokenizer; scores have become merges.
    const auto written = parse_tokenizer_json(make_tokenizer_json(bpe->vocabulary()));
    SWARM_ASSERT(written && written->tokens == bpe->vocabulary().tokens);
    if (line != std::string_view::npos) {
        encode_and_decode(*bpe, input.substr(line + 1), SpecialTokens::AsText);
        encode_and_decode(*bpe, input.substr(line + 1), SpecialTokens::Recognised);
    }
    return 0;
}
