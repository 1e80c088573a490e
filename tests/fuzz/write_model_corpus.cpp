// Writes the seeds of the fuzz targets that read model files: a small model and its tokenizer.
//   write_model_corpus <folder>   fills <folder>/{gguf,hf_folder,tokenizer,weights}
#include "stacking/models/families/family.hpp"
#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_config.hpp"
#include "stacking/tokenizers/gguf_vocabulary.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stages/files/safetensors_header.hpp"
#include "swarm/base/check.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"
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
    for (std::size_t i = 0; i < blocks::kWeightTypes; ++i) {
        const auto type = static_cast<blocks::WeightType>(i);
        const std::string blocks(2 * blocks::block_size(type).bytes, '\x2b');
        write(folder / "weights" / std::string(name_of(type)), static_cast<char>(i) + blocks);
    }
    write(folder / "tokenizer" / "small", tokenizer + "\nabc ab <s> 12\xc3\xa9");
    return 0;
}
