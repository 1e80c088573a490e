#include "stacking/models/gguf_model.hpp"

#include "stacking/models/limits.hpp"
#include "stacking/models/tensor_names.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;
using swarm::run::TensorSpec;

namespace {

constexpr double kDefaultRopeBase = 10'000;  // for files without the key

/// End of a text, of a turn and of a message.
constexpr std::array kEndKeys{
    "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};

Error refused(ErrorCode code, const std::string& what) {
    return {code, Reaction::Reject, "GGUF: " + what};
}

/// Reads keys of the metadata and keeps the first fault.
class Keys {
 public:
    explicit Keys(const GgufHeader& header) : header_(header) {}

    [[nodiscard]] bool has(const std::string& key) const { return header_.metadata.contains(key); }

    std::uint32_t count(const std::string& key) {
        const std::optional<std::uint64_t> value = whole(key);
        if (!value || *value > std::numeric_limits<std::uint32_t>::max()) {
            fail(
                ErrorCode::Malformed, key + (value ? " is too large" : " is missing or no number")
            );
            return 0;
        }
        return static_cast<std::uint32_t>(*value);
    }

    std::uint32_t count_or(const std::string& key, std::uint32_t missing) {
        return has(key) ? count(key) : missing;
    }

    double real(const std::string& key) {
        const auto* const value = header_.find<double>(key);
        if (value == nullptr) {
            fail(ErrorCode::Malformed, key + " is missing or no real number");
            return 0;
        }
        return *value;
    }

    void require(bool holds, ErrorCode code, const std::string& what) {
        if (!holds) {
            fail(code, what);
        }
    }

    [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

 private:
    [[nodiscard]] std::optional<std::uint64_t> whole(const std::string& key) const {
        if (const auto* const value = header_.find<std::uint64_t>(key)) {
            return *value;
        }
        if (const auto* const value = header_.find<std::int64_t>(key);
            value != nullptr && *value >= 0) {
            return static_cast<std::uint64_t>(*value);
        }
        return std::nullopt;
    }

    void fail(ErrorCode code, const std::string& what) {
        if (!fault_) {
            fault_ = refused(code, what);
        }
    }

    const GgufHeader& header_;
    std::optional<Error> fault_;
};

std::string text_or(const GgufHeader& header, const char* key, const char* missing) {
    const auto* const text = header.find<std::string>(key);
    return text == nullptr ? missing : *text;
}

const GgufTensor* find_tensor(const GgufHeader& header, std::string_view name) {
    for (const GgufTensor& tensor : header.tensors) {
        if (tensor.name == name) {
            return &tensor;
        }
    }
    return nullptr;
}

/// Refuses features that would change the answer and that this program does not compute.
void refuse_variants(Keys& keys, const GgufHeader& header, const ModelConfig& model) {
    const std::string scaling = text_or(header, "llama.rope.scaling.type", "none");
    keys.require(
        scaling == "none" && !keys.has("llama.rope.scale_linear"),
        ErrorCode::Unsupported,
        "rope scaling \"" + printable(scaling) + "\" is not supported"
    );
    keys.require(
        keys.count_or("llama.expert_count", 0) == 0,
        ErrorCode::Unsupported,
        "a mixture of experts is not supported"
    );
    if (model.heads == 0) {
        return;  // check() refuses such a model
    }
    const std::uint32_t head_width = model.width / model.heads;
    for (const char* const key :
         {"llama.rope.dimension_count",
          "llama.attention.key_length",
          "llama.attention.value_length"}) {
        keys.require(
            keys.count_or(key, head_width) == head_width,
            ErrorCode::Unsupported,
            std::string(key) + " is not width / heads (" + std::to_string(head_width) + ")"
        );
    }
}

Result<Architecture> read_architecture(const GgufHeader& header) {
    const std::string family = text_or(header, "general.architecture", "");
    if (family != "llama") {
        return refused(
            ErrorCode::Unsupported,
            "the architecture is \"" + printable(family) + "\"; only llama can be read"
        );
    }
    Keys keys(header);
    const std::uint32_t parts = keys.count_or("split.count", 1);
    if (parts > 1) {
        return refused(
            ErrorCode::Unsupported,
            "this is part " + std::to_string(keys.count_or("split.no", 0) + 1) + " of " +
                std::to_string(parts) + " of a split model; join the parts with llama-gguf-split"
        );
    }
    Architecture found;
    found.name = printable(text_or(header, "general.name", "unnamed"));
    ModelConfig& model = found.model;
    model.layers = keys.count("llama.block_count");
    model.width = keys.count("llama.embedding_length");
    model.ffn_width = keys.count("llama.feed_forward_length");
    model.heads = keys.count("llama.attention.head_count");
    model.kv_heads = keys.count_or("llama.attention.head_count_kv", model.heads);
    model.context = keys.count("llama.context_length");
    model.norm_epsilon = keys.real("llama.attention.layer_norm_rms_epsilon");
    model.rope_base =
        keys.has("llama.rope.freq_base") ? keys.real("llama.rope.freq_base") : kDefaultRopeBase;
    const GgufTensor* const embedding = find_tensor(header, "token_embd.weight");
    keys.require(
        embedding != nullptr, ErrorCode::Malformed, "the tensor token_embd.weight is missing"
    );
    model.vocabulary = embedding == nullptr ? 0 : embedding->shape.front();
    found.tied_embeddings = find_tensor(header, "output.weight") == nullptr;
    if (keys.has("tokenizer.ggml.bos_token_id")) {
        found.begin_token = keys.count("tokenizer.ggml.bos_token_id");
    }
    for (const char* const key : kEndKeys) {
        if (!keys.has(key)) {
            continue;
        }
        const std::uint32_t token = keys.count(key);
        if (std::ranges::find(found.end_tokens, token) == found.end_tokens.end()) {
            found.end_tokens.push_back(token);
        }
    }
    refuse_variants(keys, header, model);
    if (keys.fault()) {
        return *keys.fault();
    }
    return found;
}

std::uint32_t interleaved_heads(const ModelConfig& model, std::string_view name) {
    if (name.ends_with(".attn.wq")) {
        return model.heads;
    }
    return name.ends_with(".attn.wk") ? model.kv_heads : 0;
}

}  // namespace

Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file, const GgufHeader& header) {
    SWARM_TRY(auto architecture, read_architecture(header));
    SWARM_TRY(check(architecture));
    std::map<std::string_view, const GgufTensor*> unused;
    for (const GgufTensor& tensor : header.tensors) {
        unused.emplace(tensor.name, &tensor);
    }
    ModelSource::Tensors tensors;
    for (const TensorSpec& wanted : tensors_of(architecture)) {
        const bool tied = architecture.tied_embeddings && wanted.name == "head.weight";
        const auto found =
            unused.find(foreign_name(tied ? "embed.weight" : wanted.name, Naming::Gguf));
        if (found == unused.end()) {
            return refused(
                ErrorCode::Malformed,
                "there is no tensor " + foreign_name(wanted.name, Naming::Gguf)
            );
        }
        const GgufTensor& from = *found->second;
        tensors.emplace(
            wanted.name,
            StoredTensor{
                .shape = from.shape,
                .type = from.type,
                .offset = from.offset,
                .bytes = from.bytes,
                .interleaved_heads = interleaved_heads(architecture.model, wanted.name)}
        );
        if (wanted.name != "embed.weight" || !architecture.tied_embeddings) {
            unused.erase(found);
        }
    }
    if (!unused.empty()) {
        return refused(
            ErrorCode::Unsupported,
            "the tensor " + printable(unused.begin()->first) + " is no part of a plain Llama"
        );
    }
    ModelSource::Files files;
    files.push_back(std::move(file));
    return ModelSource::make(std::move(architecture), std::move(tensors), std::move(files));
}

Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file) {
    SWARM_TRY(const auto header, read_gguf_header(*file));
    return open_gguf(std::move(file), header);
}

}  // namespace stacking::models
