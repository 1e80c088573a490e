// Fuzzes a GGUF file from anybody: header, model, tokenizer, and one row of each tensor.
#include "stacking/models/gguf_model.hpp"
#include "stacking/tokenizers/bpe.hpp"
#include "stacking/tokenizers/gguf_vocabulary.hpp"
#include "swarm/base/check.hpp"

#include <utility>

using namespace stacking;

namespace {

void read_first_rows(const models::ModelSource& model) {
    for (const auto& [name, tensor] : model.tensors()) {
        std::vector<float> row(tensor.columns());
        const auto read = model.read_rows(name, {0, 1}, row);
        SWARM_ASSERT(read.has_value() || read.error().code == swarm::ErrorCode::NotFinite);
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    auto file =
        std::make_unique<models::MemoryBytes>(std::vector<std::byte>(bytes.begin(), bytes.end()));
    const auto header = models::read_gguf_header(*file);
    if (!header) {
        return 0;
    }
    for (const models::GgufTensor& tensor : header->tensors) {
        SWARM_ASSERT(tensor.bytes <= size && tensor.offset <= size - tensor.bytes);
    }
    if (auto vocabulary = tokenizers::read_gguf_vocabulary(*header)) {
        const auto bpe = tokenizers::Bpe::make(std::move(*vocabulary));
        SWARM_ASSERT(
            !bpe ||
            bpe->encode("a bc 12 \xE2\x82\xAC \xCC\x81", tokenizers::SpecialTokens::Recognised)
        );
    }
    if (const auto model = models::open_gguf(std::move(file), *header)) {
        read_first_rows(*model);
    }
    return 0;
}
