#include "stacking/tokenizers/gguf_chains.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace stacking::tokenizers {

namespace json = boost::json;

namespace {

// Expressions that cut words. A Split of each comes before the ByteLevel step.
constexpr const char* kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The expressions of "default", one after another.
constexpr const char* kDefaultSigns = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr const char* kDefaultNumbers = R"(\p{N}+)";
constexpr const char* kDefaultDigits = "[0-9][0-9][0-9]";

constexpr const char* kFalconSigns = R"([\p{P}\$\+<=>\^~\|`]+)";

// The expressions of DeepSeek's models, one after another. The models list ranges of letters with
// case, of an older Unicode; their property stands here.
constexpr const char* kLineEnds = R"([\r\n])";
constexpr const char* kCasedWords = R"(\s?[\p{Lu}\p{Ll}\p{Lt}]+)";
constexpr const char* kWideSigns = R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E})"
                                   R"(\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr const char* kLastSpaces = R"(\s+$)";
constexpr const char* kHanAndHangul = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr const char* kWords = R"(\s?\p{L}+)";
constexpr const char* kSigns = R"(\s?\p{P}+)";
constexpr const char* kDigit = R"(\p{N})";
constexpr const char* kThreeDigits = R"(\p{N}{1,3})";
constexpr const char* kHanAndKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr const char* kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class Composes { No, Yes };
enum class Merges { Always, UnlessToken };
enum class Begin { Nothing, Token };

struct Known {
    std::vector<std::string_view> names;
    std::vector<const char*> splits;  // empty: single digits, then GPT-2's words
    Composes composes = Composes::No;
    Merges merges = Merges::Always;
    Begin begin = Begin::Nothing;
};

const std::vector<Known>& known_chains() {
    static const std::vector<Known> known = {
        {{"smollm",
          "starcoder",
          "refact",
          "command-r",
          "codeshell",
          "exaone",
          "minerva-7b",
          "mellum2"},
         {}},
        {{"gpt-2",
          "gpt2",
          "phi-2",
          "olmo",
          "mpt",
          "jais",
          "jina-en",
          "jina-es",
          "jina-de",
          "gigachat",
          "roberta-bpe",
          "a.x-4.0",
          "exaone4",
          "granite-docling",
          "mellum",
          "trillion"},
         {kGpt2}},
        {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
         {kLlama3},
         Composes::No,
         Merges::UnlessToken,
         Begin::Token},
        {{"dbrx", "smaug-bpe", "chatglm-bpe", "gpt-4"}, {kLlama3}},
        {{"glm4", "glm5"}, {kLlama3}, Composes::No, Merges::UnlessToken},
        {{"minicpm5"}, {kThreeDigits, kLlama3}, Composes::No, Merges::UnlessToken},
        {{"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "kormo"},
         {kQwen2},
         Composes::Yes},
        {{"seed-coder"}, {kSeedCoder}},
        {{"falcon"}, {kFalconSigns, kGpt2, kDefaultDigits}},
        {{"deepseek-llm"},
         {kLineEnds, kCasedWords, kWideSigns, kLastSpaces, kHanAndHangul, kDefaultNumbers}},
        {{"deepseek-coder"}, {kLineEnds, kWords, kSigns, kHanAndHangul, kDigit}},
        {{"deepseek-v3", "joyai-llm", "hunyuan-dense"}, {kThreeDigits, kHanAndKana, kDeepSeek3}},
        {{"tekken"}, {kTekken}, Composes::No, Merges::UnlessToken, Begin::Token},
        {{"gpt-4o", "llama4", "kanana2"}, {kGpt4o}},
        {{"default"}, {kDefaultSigns, kGpt2, kDefaultNumbers, kDefaultDigits}},
    };
    return known;
}

json::object byte_level(bool words) {
    return {
        {"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"trim_offsets", true},
        {"use_regex", words}};
}

json::object replace_step(const char* from, const char* to) {
    return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

ChainParts parts_of(const Known& known) {
    ChainParts parts;
    if (!known.splits.empty()) {
        json::array steps;
        for (const char* const expression : known.splits) {
            steps.push_back(json::object{
                {"type", "Split"},
                {"pattern", {{"Regex", expression}}},
                {"behavior", "Isolated"},
                {"invert", false}});
        }
        steps.push_back(byte_level(false));
        parts.pre_tokenizer =
            json::serialize(json::object{{"type", "Sequence"}, {"pretokenizers", steps}});
    }
    if (known.composes == Composes::Yes) {
        parts.normalizer = R"({"type":"NFC"})";
    }
    return parts;
}

}  // namespace

std::optional<GgufChain> find_gguf_chain(std::string_view pre) {
    for (const Known& known : known_chains()) {
        if (std::find(known.names.begin(), known.names.end(), pre) != known.names.end()) {
            return GgufChain{
                parts_of(known), known.merges == Merges::UnlessToken, known.begin == Begin::Token};
        }
    }
    return std::nullopt;
}

ChainParts sentence_piece_parts(bool space_prefix) {
    constexpr const char* kSpaceSign = "\xE2\x96\x81";
    json::array before;
    json::array after{
        replace_step(kSpaceSign, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
    if (space_prefix) {
        before.push_back(json::object{{"type", "Prepend"}, {"prepend", kSpaceSign}});
        after.push_back(json::object{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}
        );
    }
    before.push_back(replace_step(" ", kSpaceSign));
    ChainParts parts;
    parts.normalizer = json::serialize(json::object{{"type", "Sequence"}, {"normalizers", before}});
    parts.pre_tokenizer = kNoPart;
    parts.decoder = json::serialize(json::object{{"type", "Sequence"}, {"decoders", after}});
    return parts;
}

}  // namespace stacking::tokenizers
