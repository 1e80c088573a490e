#include "stacking/llama/stage_weights.hpp"

#include <algorithm>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

namespace stacking::llama {
namespace {

using kernels::PackedMatrix;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

constexpr std::size_t kReadFloats = 1U << 18;  // 1 MiB

/// Reads tensors and keeps the first error; after an error every value is zero.
class Reader {
 public:
    Reader(const models::ModelSource& source, kernels::WeightFormat format)
        : source_(source), format_(format) {}

    std::vector<float> vector(const std::string& name) {
        auto values = source_.read(name);
        if (!values) {
            fail(values.error());
            return {};
        }
        return std::move(*values);
    }

    /// Returns an empty list when the model has no such tensor.
    std::vector<float> vector_if(const std::string& name) {
        return has(name) ? vector(name) : std::vector<float>();
    }

    [[nodiscard]] bool has(const std::string& name) const {
        return source_.tensors().contains(name);
    }

    /// Reads the named tensors as one matrix, one below the other.
    PackedMatrix matrix(std::initializer_list<std::string> names) { return matrix(names, format_); }

    PackedMatrix matrix(std::initializer_list<std::string> names, kernels::WeightFormat format) {
        std::size_t outputs = 0;
        std::size_t inputs = 0;
        for (const std::string& name : names) {
            const auto& tensor = source_.tensors().find(name)->second;
            outputs += tensor.rows();
            inputs = tensor.columns();
        }
        PackedMatrix packed(format, outputs, inputs);
        std::size_t first = 0;
        for (const std::string& name : names) {
            first += add(name, first, packed);
        }
        return packed;
    }

    [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

 private:
    std::size_t add(const std::string& name, std::size_t first, PackedMatrix& packed) {
        const std::size_t rows = source_.tensors().find(name)->second.rows();
        const std::size_t at_once = std::max<std::size_t>(1, kReadFloats / packed.inputs());
        for (std::size_t row = 0; row < rows && !fault_; row += at_once) {
            const std::size_t count = std::min(at_once, rows - row);
            values_.resize(count * packed.inputs());
            if (auto read = source_.read_rows(name, {row, count}, values_); !read) {
                fail(read.error());
                break;
            }
            packed.add_rows(first + row, values_);
        }
        return rows;
    }

    void fail(Error error) {
        if (!fault_) {
            fault_ = std::move(error);
        }
    }

    const models::ModelSource& source_;
    kernels::WeightFormat format_;
    std::vector<float> values_;
    std::optional<Error> fault_;
};

/// Reads a feed-forward part whose names begin with `prefix`.
FeedForwardWeights read_feed_forward(Reader& reader, const std::string& prefix) {
    return {
        .gate_up = reader.matrix({prefix + "w1", prefix + "w3"}),
        .down = reader.matrix({prefix + "w2"})};
}

void read_experts(
    Reader& reader, const std::string& prefix, const models::Experts& experts, LayerWeights& layer
) {
    if (experts.count == 0) {
        layer.experts.push_back(read_feed_forward(reader, prefix + "mlp."));
        return;
    }
    const std::string mixture = prefix + "moe.";
    layer.router = reader.matrix({mixture + "router"}, kernels::WeightFormat::Fp32);
    for (std::uint32_t expert = 0; expert < experts.count && !reader.fault(); ++expert) {
        layer.experts.push_back(read_feed_forward(reader, mixture + std::to_string(expert) + "."));
    }
    if (experts.shared_width > 0) {
        layer.shared = read_feed_forward(reader, mixture + "shared.");
        layer.shared_gate = reader.matrix({mixture + "shared_gate"}, kernels::WeightFormat::Fp32);
    }
}

LayerWeights read_layer(
    Reader& reader, std::uint32_t index, const models::Architecture& architecture
) {
    const std::string prefix = "layers." + std::to_string(index) + ".";
    const std::string attention = prefix + "attn.";
    LayerWeights layer{
        .attention_norm = reader.vector_if(prefix + "attn_norm"),
        .query_key_value = reader.matrix({attention + "wq", attention + "wk", attention + "wv"}),
        .query_key_value_bias = reader.vector_if(attention + "bq"),
        .query_norm = reader.vector_if(attention + "q_norm"),
        .key_norm = reader.vector_if(attention + "k_norm"),
        .attention_out = reader.matrix({attention + "wo"}),
        .attention_out_bias = reader.vector_if(attention + "bo"),
        .attention_post_norm = reader.vector_if(prefix + "attn_post_norm"),
        .ffn_norm = reader.vector_if(prefix + "mlp_norm"),
        .experts = {},
        .router = {},
        .shared = {},
        .shared_gate = {},
        .ffn_post_norm = reader.vector_if(prefix + "mlp_post_norm")};
    for (const char* const name : {"bk", "bv"}) {
        const std::vector<float> bias = reader.vector_if(attention + name);
        layer.query_key_value_bias.insert(
            layer.query_key_value_bias.end(), bias.begin(), bias.end()
        );
    }
    read_experts(reader, prefix, architecture.traits.experts, layer);
    return layer;
}

swarm::Result<std::shared_ptr<const StageWeights>> read_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    kernels::WeightFormat format,
    Exits exits
) {
    Reader reader(source, format);
    auto stage = std::make_shared<StageWeights>();
    stage->architecture = source.architecture();
    stage->format = format;
    stage->first_layer = layout.first_layer;
    const bool tied = source.architecture().tied_embeddings;
    stage->first = layout.has_embedding && layout.layers > 0;
    stage->last = layout.has_head;
    if (layout.has_embedding) {
        stage->embedding = std::make_shared<PackedMatrix>(reader.matrix({"embed.weight"}));
    }
    for (std::uint32_t i = 0; i < layout.layers && !reader.fault(); ++i) {
        stage->layers.push_back(read_layer(reader, layout.first_layer + i, stage->architecture));
    }
    if (tied && stage->first) {
        stage->head = stage->embedding;
    } else if ((stage->last || exits == Exits::EveryStage) && !reader.fault()) {
        const bool shared = layout.has_embedding && tied;
        stage->head = shared ? stage->embedding
                             : std::make_shared<PackedMatrix>(reader.matrix({"head.weight"}));
    }
    if (tied && stage->last) {
        stage->embedding = stage->head;
    }
    if (stage->head != nullptr && !reader.fault()) {
        stage->head_norm = reader.vector("head.norm");
    }
    if (reader.fault()) {
        return *reader.fault();
    }
    return stage;
}

}  // namespace

swarm::Result<std::shared_ptr<const StageWeights>> load_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    kernels::WeightFormat format,
    Exits exits
) {
    try {
        return read_stage(source, layout, format, exits);
    } catch (const std::bad_alloc&) {
        return Error{
            ErrorCode::Full,
            Reaction::Reject,
            "not enough memory for the weights of stage " + std::to_string(layout.stage.value) +
                "; use more stages, or --weights int8"};
    }
}

}  // namespace stacking::llama
