// The tokenizers of the model families against PyPI `tokenizers` and `sentencepiece`: small ones
// that tokenizer_families.py trained, over 10,000 lines of prose, code, scripts, joined emoji,
// control characters, names of special tokens and bytes that are no UTF-8.
#include "stacking/models/byte_source.hpp"
#include "stacking/models/gguf_header.hpp"
#include "stacking/tokenizers/bpe.hpp"
#include "stacking/tokenizers/gguf_vocabulary.hpp"
#include "stacking/tokenizers/sentence_piece_file.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/digest.hpp"
#include "tests/golden/model_file.hpp"
#include "tests/golden/tokenizers/tokenizer_lines.hpp"
#include "tests/places.hpp"
#include "tests/unit/stacking_models/gguf_builder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <zstd.h>

namespace swarm::golden {
namespace {

namespace json = boost::json;
namespace models = stacking::models;
namespace tokenizers = stacking::tokenizers;
using models::test::GgufBuilder;
using tokenizers::Bpe;
using tokenizers::SpecialTokens;
using tokenizers::Vocabulary;
using Ids = std::vector<std::uint32_t>;

constexpr std::size_t kLines = 10'000;
constexpr std::size_t kChunk = 500;

/// Decompresses the file of the script.
json::value read_families() {
    const auto packed = models::read_text(
        swarm::test::source_dir() + "/tests/golden/tokenizers/tokenizer_families.json.zst", 1U << 20
    );
    if (!packed) {
        return {};
    }
    std::string text(ZSTD_getFrameContentSize(packed->data(), packed->size()), '\0');
    const std::size_t size =
        ZSTD_decompress(text.data(), text.size(), packed->data(), packed->size());
    return ZSTD_isError(size) != 0 ? json::value() : *stages::parse_strict_json(text);
}

const json::value& golden() {
    static const json::value families = read_families();
    return families;
}

/// The lines as text: bytes that are no UTF-8 are replaced, as the script does.
const std::vector<std::string>& lines() {
    static const std::vector<std::string> made = [] {
        const auto austen = models::read_text(cache_folder() / "corpus" / "austen.txt", 16U << 20);
        EXPECT_TRUE(austen.has_value()) << kFetchIt;
        const std::vector<std::string> prose = lines_of(*austen);
        std::vector<std::string> all;
        for (std::size_t number = 0; number < kLines; ++number) {
            all.push_back(tokenizers::to_utf8(make_family_line(number, prose)));
        }
        return all;
    }();
    return made;
}

std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(at, 2)), nullptr, 16));
    }
    return bytes;
}

/// Makes the tokenizer of a family from the file that the library wrote.
Vocabulary read_vocabulary(const json::value& family) {
    const json::object& object = family.as_object();
    const json::value* const pieces = object.if_contains("model");
    auto read = pieces != nullptr
                    ? tokenizers::read_sentence_piece_file(from_hex(pieces->as_string()), {})
                    : tokenizers::parse_tokenizer_json(object.at("tokenizer").as_string());
    EXPECT_TRUE(read.has_value()) << read.error().detail;
    return read ? std::move(*read) : Vocabulary();
}

std::string name_of(const json::value& family) {
    return std::string(family.at("name").as_string());
}

std::optional<Bpe> make(const json::value& family, Vocabulary vocabulary) {
    auto bpe = Bpe::make(std::move(vocabulary));
    EXPECT_TRUE(bpe.has_value()) << name_of(family) << ": " << bpe.error().detail;
    return bpe ? std::optional(std::move(*bpe)) : std::nullopt;
}

/// SentencePiece never takes text for a special token; the others do in every second ten lines.
SpecialTokens special_in(const json::value& family, std::size_t number) {
    const bool as_text = number / 10 % 2 == 0 || family.as_object().contains("model");
    return as_text ? SpecialTokens::AsText : SpecialTokens::Recognised;
}

/// Compares the ids of the first chunks with the digests of the reference.
void expect_reference(const json::value& family, const Bpe& bpe, std::size_t chunks) {
    std::size_t wrong = 0;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        Sha256 hash;
        for (std::size_t number = kChunk * chunk; number < kChunk * (chunk + 1); ++number) {
            const auto ids = bpe.encode(lines()[number], special_in(family, number));
            ASSERT_TRUE(ids.has_value()) << ids.error().detail;
            const auto count = static_cast<std::uint32_t>(ids->size());
            hash.add(std::as_bytes(std::span(&count, 1)));
            hash.add(std::as_bytes(std::span(*ids)));
        }
        wrong += to_hex(hash.finish()).substr(0, 16) !=
                         std::string(family.at("ids").at(chunk).as_string())
                     ? 1
                     : 0;
    }
    EXPECT_EQ(wrong, 0U) << name_of(family)
                         << ": chunks of lines with other ids than the reference";
}

/// Writes a tokenizer as the metadata of a GGUF file.
GgufBuilder to_gguf(const Vocabulary& vocabulary, const std::string& pre) {
    std::vector<std::int32_t> types(vocabulary.tokens.size(), 1);
    models::test::Bytes scores;
    scores.add(models::test::Gguf::F32).add(std::uint64_t{vocabulary.scores.size()});
    for (std::size_t id = 0; id < vocabulary.scores.size(); ++id) {
        const bool made = vocabulary.scores[id] != tokenizers::kNoScore;
        types[id] = made ? 1 : 6;
        scores.add(made ? vocabulary.scores[id] : 0.0F);
    }
    for (const auto& token : vocabulary.added_tokens) {
        types[token.id] = 4;
    }
    for (const std::uint32_t id : vocabulary.special_tokens) {
        types[id] = vocabulary.unknown == id ? 2 : 3;
    }
    std::vector<std::string> merges;
    for (const auto& [left, right] : vocabulary.merges) {
        merges.push_back(left + " " + right);
    }
    const bool is_llama = !vocabulary.scores.empty();  // then the first special token is <unk>
    const bool prefix = vocabulary.parts.normalizer.find("Prepend") != std::string::npos;
    GgufBuilder file;
    file.text("tokenizer.ggml.model", is_llama ? "llama" : "gpt2")
        .text("tokenizer.ggml.pre", is_llama ? "default" : pre)
        .u32("tokenizer.ggml.bos_token_id", vocabulary.special_tokens[is_llama ? 1 : 0])
        .key(
            "tokenizer.ggml.add_space_prefix",
            models::test::Gguf::Bool,
            static_cast<std::uint8_t>(prefix ? 1 : 0)
        )
        .texts("tokenizer.ggml.tokens", vocabulary.tokens)
        .numbers("tokenizer.ggml.token_type", types)
        .texts("tokenizer.ggml.merges", merges);
    if (is_llama) {
        file.raw("tokenizer.ggml.scores", models::test::Gguf::Array, scores);
    }
    return file;
}

class Families : public testing::TestWithParam<std::size_t> {
 protected:
    static const json::value& family() { return golden().at("families").at(GetParam()); }
};

TEST(FamilyLines, AreTheScripts) {
    Sha256 hash;
    for (const std::string& line : lines()) {
        hash.add_text(line + "\n");
    }
    EXPECT_EQ(to_hex(hash.finish()), std::string(golden().at("text").as_string()));
}

TEST_P(Families, TenThousandMixedLinesAreTheReferences) {
    const auto bpe = make(family(), read_vocabulary(family()));
    ASSERT_TRUE(bpe.has_value());
    expect_reference(family(), *bpe, kLines / kChunk);
}

TEST_P(Families, AsManyLinesComeBackAsTheReferenceGivesBack) {
    const auto bpe = make(family(), read_vocabulary(family()));
    ASSERT_TRUE(bpe.has_value());
    std::size_t back = 0;
    for (std::size_t number = 0; number < kLines; ++number) {
        const auto ids = bpe->encode(lines()[number], special_in(family(), number));
        ASSERT_TRUE(ids.has_value());
        back += *bpe->decode_whole(*ids) == lines()[number] ? 1 : 0;
    }
    // The reference drops each space of a Metaspace's first token, and not only its own.
    EXPECT_GE(back, family().at("back").to_number<std::size_t>()) << name_of(family());
}

TEST_P(Families, AreTheSameFromTheTokenizerJsonThatIsWritten) {
    const Vocabulary vocabulary = read_vocabulary(family());
    const std::string written = tokenizers::make_tokenizer_json(vocabulary);
    if (const char* const folder = std::getenv("SWARM_WRITE_TOKENIZERS")) {
        std::ofstream(std::string(folder) + "/" + name_of(family()) + ".json") << written;
    }
    auto read = tokenizers::parse_tokenizer_json(written);
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(read->tokens, vocabulary.tokens);
    const auto bpe = make(family(), std::move(*read));
    ASSERT_TRUE(bpe.has_value());
    expect_reference(family(), *bpe, 4);
}

TEST_P(Families, SpecialTokensInUserTextStayText) {
    const Vocabulary vocabulary = read_vocabulary(family());
    const auto bpe = make(family(), vocabulary);
    ASSERT_TRUE(bpe.has_value());
    for (const std::uint32_t id : vocabulary.special_tokens) {
        if (vocabulary.unknown == id) {
            continue;
        }
        const std::string text = "a" + vocabulary.tokens[id] + " b";
        const auto forged = bpe->encode(text, SpecialTokens::AsText);
        const auto meant = bpe->encode(text, SpecialTokens::Recognised);
        ASSERT_TRUE(forged && meant);
        EXPECT_EQ(std::ranges::count(*forged, id), 0) << name_of(family()) << text;
        EXPECT_EQ(std::ranges::count(*meant, id), 1) << name_of(family()) << text;
    }
}

TEST(GgufFamilies, AreTheSameFromTheMetadata) {
    std::size_t compared = 0;
    for (const json::value& family : golden().at("families").as_array()) {
        const json::value& pre = family.at("gguf");
        if (pre.is_null()) {
            continue;  // no name in tokenizer.ggml.pre stands for this chain
        }
        const Vocabulary vocabulary = read_vocabulary(family);
        const models::MemoryBytes file(to_gguf(vocabulary, std::string(pre.as_string())).bytes());
        const auto header = models::read_gguf_header(file);
        ASSERT_TRUE(header.has_value()) << header.error().detail;
        auto read = tokenizers::read_gguf_vocabulary(*header);
        ASSERT_TRUE(read.has_value()) << read.error().detail;
        const auto bpe = make(family, std::move(*read));
        const auto original = make(family, vocabulary);
        ASSERT_TRUE(bpe && original);
        EXPECT_TRUE(std::ranges::equal(bpe->begin_tokens(), original->begin_tokens()))
            << name_of(family);
        expect_reference(family, *bpe, kLines / kChunk);
        ++compared;
    }
    EXPECT_EQ(compared, 10U);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Families,
    testing::Range<std::size_t>(
        0, golden().is_object() ? golden().at("families").as_array().size() : 0
    ),
    [](const testing::TestParamInfo<std::size_t>& family) {
        std::string name = name_of(golden().at("families").at(family.param));
        std::erase(name, '-');
        return name;
    }
);

}  // namespace
}  // namespace swarm::golden
