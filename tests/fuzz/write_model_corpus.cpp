// Writes the seeds of the fuzz targets that read model files: a small model and its tokenizer.
//   write_model_corpus <folder>   fills <folder>/{gguf,hf_folder,jinja,tokenizer,weights}
#include "stacking/models/families/family.hpp"
#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_config.hpp"
#include "stacking/tokenizers/gguf_chains.hpp"
#include "stacking/tokenizers/gguf_vocabulary.hpp"
#include "stacking/tokenizers/sentence_piece_file.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stages/files/safetensors_header.hpp"
#include "swarm/base/check.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"
#include "tests/unit/stacking_tokenizers/small_sentence_piece.hpp"
#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

using namespace stacking;

namespace {

void write(const std::filesystem::path& file, std::string_view text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
}

std::string small_gguf_with_tokenizer() {
    models::test::GgufBuilder file = models::test::small_gguf();
    file.text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "smollm")
        .texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<s>"})
        .numbers("tokenizer.ggml.token_type", {1, 1, 1, 3})
        .texts("tokenizer.ggml.merges", {"a b"});
    const std::vector<std::byte> bytes = file.bytes();
    // A seed that is refused early would leave most of the readers untried.
    const auto header = models::read_gguf_header(models::MemoryBytes(bytes));
    SWARM_ASSERT(header && tokenizers::read_gguf_vocabulary(*header));
    SWARM_ASSERT(models::open_gguf(std::make_unique<models::MemoryBytes>(bytes)));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A vocabulary of SentencePiece as GGUF's metadata.
std::string small_llama_gguf() {
    models::test::GgufBuilder file = models::test::small_gguf();
    models::test::Bytes scores;
    scores.add(models::test::Gguf::F32).add(std::uint64_t{5});
    for (const float score : {0.0F, 0.0F, -1.0F, -2.0F, -0.5F}) {
        scores.add(score);
    }
    file.text("tokenizer.ggml.model", "llama")
        .u32("tokenizer.ggml.bos_token_id", 1)
        .texts("tokenizer.ggml.tokens", {"<unk>", "<s>", "a", "b", "ab"})
        .numbers("tokenizer.ggml.token_type", {2, 3, 1, 1, 1})
        .raw("tokenizer.ggml.scores", models::test::Gguf::Array, scores);
    const std::vector<std::byte> bytes = file.bytes();
    const auto header = models::read_gguf_header(models::MemoryBytes(bytes));
    SWARM_ASSERT(header && tokenizers::read_gguf_vocabulary(*header));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A tokenizer.json with most kinds of steps.
std::string tokenizer_of_many_steps() {
    tokenizers::Vocabulary vocabulary = tokenizers::test::small_vocabulary();
    vocabulary.added_tokens = {
        {.id = 261, .takes_left_space = true, .takes_right_space = true},
        {.id = 262, .whole_word = true, .normalized = true}};
    vocabulary.unknown = 3;
    vocabulary.unknowns_merge = true;
    vocabulary.byte_fallback = true;
    vocabulary.parts = tokenizers::sentence_piece_parts(true);
    vocabulary.parts.pre_tokenizer = R"json({"type":"Sequence","pretokenizers":[
        {"type":"Split","pattern":{"Regex":"(?i:'s)|\\p{N}{1,3}|\\s+(?!\\S)"},
         "behavior":"Isolated"},
        {"type":"Split","pattern":{"String":"a"},"behavior":"MergedWithNext","invert":true},
        {"type":"Digits","individual_digits":true},{"type":"Punctuation"},
        {"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":true}]})json";
    vocabulary.parts.post_processor = tokenizers::make_template(vocabulary, {262}, {263});
    const std::string text = tokenizers::make_tokenizer_json(vocabulary);
    SWARM_ASSERT(tokenizers::parse_tokenizer_json(text));
    return text;
}

std::string small_folder(const models::Architecture& architecture) {
    const stages::SafetensorsEntry entries[] = {
        {"model.norm.weight", "F32", {8}, 0, 32}, {"lm_head.weight", "BF16", {6, 8}, 32, 128}};
    const std::string header = stages::make_safetensors_header(entries, "pt");
    const std::string json = header.substr(stages::kSafetensorsLengthBytes);
    SWARM_ASSERT(stages::parse_safetensors_header(json, 128));
    const std::string config = models::make_hf_config(architecture);
    SWARM_ASSERT(models::parse_hf_config(config, "small"));
    return config + json + "\n" + std::string(128, 'v');
}

/// The small model as one of this family, with experts if the family has them.
models::Architecture small_architecture(
    const models::Family& family, const models::Architecture& llama
) {
    models::Architecture architecture = llama;
    architecture.traits.family = family.name;
    architecture.traits.activation = family.activation;
    if (!models::parse_hf_config(models::make_hf_config(architecture), "small")) {
        architecture.traits.experts = {.count = 4, .chosen = 2, .shared_width = 8};
    }
    return architecture;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: write_model_corpus <folder>\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    write(folder / "gguf" / "small", small_gguf_with_tokenizer());
    write(folder / "gguf" / "llama", small_llama_gguf());
    const auto model =
        models::open_gguf(std::make_unique<models::MemoryBytes>(models::test::small_gguf().bytes())
        );
    for (const models::Family* const family : models::all_families()) {
        write(
            folder / "hf_folder" / std::string(family->name),
            small_folder(small_architecture(*family, model->architecture()))
        );
    }
    const std::string tokenizer =
        tokenizers::make_tokenizer_json(tokenizers::test::small_vocabulary());
    SWARM_ASSERT(tokenizers::parse_tokenizer_json(tokenizer));
    write(
        folder / "jinja" / "small",
        "{%- macro m(a, b='x') -%}{{ caller() ~ a|upper }}{%- endmacro -%}"
        "{% set ns = namespace(l=[]) %}{% for m in messages if m.role != 'tool' %}"
        "{% set ns.l = ns.l + [m.content[::-1]] %}{{ loop.index }}{{ m|tojson(indent=2) }}"
        "{% if not loop.last %}{% continue %}{% endif %}{% endfor %}"
        "{% call m(ns.l|join('-'), b=n // 2) %}{{ '%5.1f' % n }}{% endcall %}"
        "{{ messages|selectattr('role', 'eq', 'user')|map(attribute='content')|list }}"
    );
    for (std::size_t i = 0; i < blocks::kWeightTypes; ++i) {
        const auto type = static_cast<blocks::WeightType>(i);
        const std::string blocks(2 * blocks::block_size(type).bytes, '\x2b');
        write(folder / "weights" / std::string(name_of(type)), static_cast<char>(i) + blocks);
    }
    write(folder / "tokenizer" / "small", tokenizer + "\nabc ab <s> 12\xc3\xa9");
    SWARM_ASSERT(tokenizers::read_sentence_piece_file(tokenizers::test::small_sentence_piece(), {})
    );
    write(
        folder / "tokenizer" / "pieces", tokenizers::test::small_sentence_piece() + "\nab abc <s>"
    );
    write(folder / "tokenizer" / "steps", tokenizer_of_many_steps() + "\nab aa1234's  x. <s> ");
    return 0;
}
