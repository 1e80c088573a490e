#include "tests/unit/stacking_llama/random_llama.hpp"

#include "stacking/models/gguf_model.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "tests/unit/stacking_models/gguf_builder.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>

namespace stacking::llama::test {
namespace {

constexpr std::uint32_t kFfnWidth = 100;
constexpr std::uint32_t kKvWidth = 24;

constexpr std::uint32_t kExperts = 4;

void add_metadata(models::test::GgufBuilder& file) {
    file.text("general.architecture", "llama")
        .text("general.name", "random")
        .u32("llama.block_count", kLayers)
        .u32("llama.embedding_length", kWidth)
        .u32("llama.feed_forward_length", kFfnWidth)
        .u32("llama.attention.head_count", 6)
        .u32("llama.attention.head_count_kv", 2)
        .u32("llama.context_length", kContext)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .f32("llama.rope.freq_base", 100000.0F)
        .u32("tokenizer.ggml.eos_token_id", 2);
}

/// `experts`: 0 for a model without mixtures.
std::vector<std::byte> make_file(Head head, const std::string& spoiled, std::uint32_t experts) {
    models::test::GgufBuilder file;
    add_metadata(file);
    if (experts > 0) {
        file.u32("llama.expert_count", experts).u32("llama.expert_used_count", 2);
    }
    std::uint64_t seed = 0;
    const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& sizes) {
        swarm::Rng rng(++seed, 1);
        std::uint64_t count = 1;
        for (const std::uint64_t size : sizes) {
            count *= size;
        }
        std::vector<float> values(count);
        for (float& value : values) {
            // Norms are near 1, and matrices are such that activations neither vanish nor explode.
            value = static_cast<float>(sizes.size() == 1 ? 0.5 + rng.unit() : rng.unit() - 0.5);
        }
        if (name == spoiled) {
            values.front() = std::numeric_limits<float>::quiet_NaN();
        }
        file.f32_tensor(name, sizes, values);
    };
    add("token_embd.weight", {kWidth, kVocabulary});
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
        const std::string prefix = "blk." + std::to_string(layer) + ".";
        add(prefix + "attn_norm.weight", {kWidth});
        add(prefix + "attn_q.weight", {kWidth, kWidth});
        add(prefix + "attn_k.weight", {kWidth, kKvWidth});
        add(prefix + "attn_v.weight", {kWidth, kKvWidth});
        add(prefix + "attn_output.weight", {kWidth, kWidth});
        add(prefix + "ffn_norm.weight", {kWidth});
        if (experts > 0) {
            add(prefix + "ffn_gate_inp.weight", {kWidth, experts});
            add(prefix + "ffn_gate_exps.weight", {kWidth, kFfnWidth, experts});
            add(prefix + "ffn_up_exps.weight", {kWidth, kFfnWidth, experts});
            add(prefix + "ffn_down_exps.weight", {kFfnWidth, kWidth, experts});
            continue;
        }
        add(prefix + "ffn_gate.weight", {kWidth, kFfnWidth});
        add(prefix + "ffn_up.weight", {kWidth, kFfnWidth});
        add(prefix + "ffn_down.weight", {kFfnWidth, kWidth});
    }
    add("output_norm.weight", {kWidth});
    if (head == Head::Own) {
        add("output.weight", {kWidth, kVocabulary});
    }
    return file.bytes();
}

models::ModelSource random_model(Head head, const std::string& spoiled, std::uint32_t experts) {
    auto model =
        models::open_gguf(std::make_unique<models::MemoryBytes>(make_file(head, spoiled, experts)));
    SWARM_ASSERT(model.has_value());
    return std::move(*model);
}

}  // namespace

models::ModelSource random_llama(Head head, const std::string& spoiled) {
    return random_model(head, spoiled, 0);
}

models::ModelSource open_file_of(const std::filesystem::path& path) {
    const auto bytes = make_file(Head::Own, "", 0);
    std::ofstream(path, std::ios::binary)
        .write(
            reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())
        );
    auto file = models::open_file(path);
    SWARM_ASSERT(file.has_value());
    auto model = models::open_gguf(std::move(*file));
    SWARM_ASSERT(model.has_value());
    return std::move(*model);
}

models::ModelSource random_mixture() {
    return random_model(Head::Own, "", kExperts);
}

TokenId token_of(std::uint64_t session, std::uint32_t position) {
    return static_cast<TokenId>(swarm::Rng(session, position).below(kVocabulary));
}

Stages::Stages(
    const models::ModelSource& model,
    std::uint32_t stages,
    WeightChoice choice,
    const LlamaSessions::Options& options
) {
    for (const auto& layout : models::split(model.architecture(), stages)) {
        auto weights = load_stage(model, layout, choice, Exits::None, {}, options.workers.get());
        SWARM_ASSERT(weights.has_value());
        stages_.push_back(std::make_unique<LlamaSessions>(*weights, options));
    }
}

void Stages::reserve(CacheId cache, std::uint32_t positions) {
    for (const auto& stage : stages_) {
        SWARM_ASSERT(stage->reserve(cache, positions).has_value());
    }
}

void Stages::truncate(CacheId cache, std::uint32_t positions) {
    for (const auto& stage : stages_) {
        stage->truncate(cache, positions);
    }
}

std::vector<float> Stages::logits(std::span<const SessionRow> rows) {
    std::vector<TokenId> tokens;
    for (const SessionRow& row : rows) {
        tokens.push_back(token_of(row.cache.value, row.position));
    }
    std::vector<std::uint32_t> wanted(rows.size());
    std::iota(wanted.begin(), wanted.end(), 0U);
    StageInput input = std::span<const TokenId>(tokens);
    std::vector<float> hidden;
    for (const auto& stage : stages_) {
        const bool last = stage == stages_.back();
        auto out = stage->forward(rows, input, std::span(wanted).first(last ? rows.size() : 0));
        SWARM_ASSERT(out.has_value());
        hidden = std::move(*out);
        input = std::span<const float>(hidden);
    }
    return hidden;
}

std::vector<float> Stages::prefill(
    CacheId cache, std::uint32_t from, std::uint32_t count, std::uint32_t chunk
) {
    std::vector<float> all;
    for (std::uint32_t done = 0; done < count; done += chunk) {
        std::vector<SessionRow> rows;
        for (std::uint32_t i = 0; i < std::min(chunk, count - done); ++i) {
            rows.push_back({cache, from + done + i});
        }
        const std::vector<float> part = logits(rows);
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

}  // namespace stacking::llama::test
