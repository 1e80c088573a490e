#include "stacking/llama/stage_weights.hpp"

#include "stacking/models/training/shared_layers.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/boundary_maps.hpp"

#include <algorithm>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

namespace stacking::llama {
namespace {

using kernels::JoinedMatrix;
using kernels::PackedMatrix;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

constexpr std::size_t kReadFloats = 1U << 18;  // 1 MiB

/// Whether the tensor's weights stay as they are stored.
bool keeps_stored(const models::StoredTensor& tensor, WeightChoice choice) {
    return !choice.format() && PackedMatrix::keeps(tensor.type) && tensor.adapter == nullptr;
}

PackedMatrix make(const models::StoredTensor& tensor, std::size_t outputs, WeightChoice choice) {
    if (keeps_stored(tensor, choice)) {
        return {tensor.type, outputs, tensor.columns()};
    }
    return {choice.format().value_or(kernels::WeightFormat::Fp32), outputs, tensor.columns()};
}

/// Reads tensors and keeps the first error; after an error every value is zero.
class Reader {
 public:
    Reader(const models::ModelSource& source, WeightChoice choice)
        : source_(source), choice_(choice) {}

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
        return source_.tensors().contains(name) ? vector(name) : std::vector<float>();
    }

    /// Reads the named tensors as one matrix, one below the other. Neighbours of one format share
    /// their panels.
    JoinedMatrix matrix(std::initializer_list<std::string> names) {
        JoinedMatrix joined;
        for (const auto* name = names.begin(); name != names.end();) {
            const auto* const end = std::find_if(name + 1, names.end(), [&](const auto& other) {
                return !has_format_of(*name, other);
            });
            std::size_t outputs = 0;
            for (const auto* each = name; each != end; ++each) {
                outputs += stored(*each).rows();
            }
            PackedMatrix packed = make(stored(*name), outputs, choice_);
            std::size_t first = 0;
            for (; name != end; ++name) {
                first += add(*name, first, packed);
            }
            joined.add(std::move(packed));
        }
        return joined;
    }

    /// Reads a matrix as fp32, whatever the others are.
    JoinedMatrix exact_matrix(const std::string& name) {
        const WeightChoice usual = std::exchange(choice_, kernels::WeightFormat::Fp32);
        JoinedMatrix exact = matrix({name});
        choice_ = usual;
        return exact;
    }

    [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

 private:
    [[nodiscard]] const models::StoredTensor& stored(const std::string& name) const {
        return source_.tensors().find(name)->second;
    }

    [[nodiscard]] bool has_format_of(const std::string& left, const std::string& right) const {
        return choice_.format() ||
               (stored(left).type == stored(right).type &&
                keeps_stored(stored(left), choice_) == keeps_stored(stored(right), choice_));
    }

    std::size_t add(const std::string& name, std::size_t first, PackedMatrix& packed) {
        const std::size_t rows = stored(name).rows();
        const std::size_t at_once = std::max<std::size_t>(1, kReadFloats / packed.inputs());
        const bool keep = keeps_stored(stored(name), choice_);
        for (std::size_t row = 0; row < rows && !fault_; row += at_once) {
            const models::RowRange range{row, std::min(at_once, rows - row)};
            const auto read = keep ? add_stored(name, range, first + row, packed)
                                   : add_values(name, range, first + row, packed);
            if (!read) {
                fail(read.error());
            }
        }
        return rows;
    }

    swarm::Result<> add_stored(
        const std::string& name, models::RowRange range, std::size_t first, PackedMatrix& packed
    ) {
        SWARM_TRY(source_.read_stored_rows(name, range, bytes_));
        if (!packed.add_stored(first, bytes_)) {
            return models::not_finite(name);
        }
        return {};
    }

    swarm::Result<> add_values(
        const std::string& name, models::RowRange range, std::size_t first, PackedMatrix& packed
    ) {
        values_.resize(range.count * packed.inputs());
        SWARM_TRY(source_.read_rows(name, range, values_));
        packed.add_rows(first, values_);
        return {};
    }

    void fail(Error error) {
        if (!fault_) {
            fault_ = std::move(error);
        }
    }

    const models::ModelSource& source_;
    WeightChoice choice_;
    std::vector<float> values_;
    std::vector<std::byte> bytes_;
    std::optional<Error> fault_;
};

/// Reads a feed-forward part whose names begin with `prefix`.
FeedForwardWeights read_feed_forward(Reader& reader, const std::string& prefix) {
    return {
        .gate_up = reader.matrix({prefix + "w1", prefix + "w3"}),
        .down = reader.matrix({prefix + "w2"})};
}

void read_experts(
    Reader& reader,
    const std::string& prefix,
    const models::Experts& experts,
    const HeldParts& held,
    LayerWeights& layer
) {
    if (experts.count == 0 && held.trunk) {
        layer.experts.push_back(read_feed_forward(reader, prefix + "mlp."));
        return;
    }
    const std::string mixture = prefix + "moe.";
    for (std::uint32_t expert = 0; expert < experts.count && !reader.fault(); ++expert) {
        const bool holds = !held.experts || held.experts->has(expert);
        const std::string name = mixture + std::to_string(expert) + ".";
        layer.experts.push_back(holds ? read_feed_forward(reader, name) : FeedForwardWeights());
    }
    if (!held.trunk || experts.count == 0) {
        return;
    }
    layer.router = reader.exact_matrix(mixture + "router");
    if (experts.shared_width > 0) {
        layer.shared = read_feed_forward(reader, mixture + "shared.");
        layer.shared_gate = reader.exact_matrix(mixture + "shared_gate");
    }
}

void read_bottleneck(Reader& reader, std::uint32_t layer, StageWeights& stage) {
    const auto& layers = stage.architecture.traits.bottlenecks.layers;
    const auto at = std::ranges::find(layers, layer);
    if (at == layers.end()) {
        return;
    }
    using namespace swarm::run;
    const auto boundary = static_cast<std::uint32_t>(at - layers.begin());
    stage.bottlenecks.push_back(
        {layer - stage.first_layer,
         reader.matrix({boundary_tensor(boundary, kBoundaryDown)}),
         reader.matrix({boundary_tensor(boundary, kBoundaryUp)}),
         reader.matrix({boundary_tensor(boundary, kBoundaryTokens)})}
    );
}

LayerWeights read_layer(
    Reader& reader,
    std::uint32_t index,
    const models::Architecture& architecture,
    const HeldParts& held
) {
    const std::string prefix = "layers." + std::to_string(index) + ".";
    if (!held.trunk) {
        LayerWeights experts;
        read_experts(reader, prefix, architecture.traits.experts, held, experts);
        return experts;
    }
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
    read_experts(reader, prefix, architecture.traits.experts, held, layer);
    return layer;
}

swarm::Result<std::shared_ptr<const StageWeights>> read_stage(
    const models::ModelSource& source,
    const swarm::run::StageLayout& layout,
    WeightChoice choice,
    Exits exits,
    const HeldParts& held
) {
    Reader reader(source, choice);
    auto stage = std::make_shared<StageWeights>();
    stage->architecture = source.architecture();
    stage->first_layer = layout.first_layer;
    const bool tied = source.architecture().tied_embeddings;
    stage->first = layout.has_embedding && layout.layers > 0;
    stage->last = layout.has_head;
    if (layout.has_embedding && held.trunk) {
        stage->embedding = std::make_shared<JoinedMatrix>(reader.matrix({"embed.weight"}));
    }
    for (std::uint32_t i = 0; i < layout.layers && !reader.fault(); ++i) {
        const std::uint32_t layer = layout.first_layer + i;
        if (held.trunk) {
            read_bottleneck(reader, layer, *stage);
        }
        if (i == 0 || !models::repeats_layer_before(source, layer)) {
            stage->layers.push_back(read_layer(reader, layer, stage->architecture, held));
        }
        stage->weights_of.push_back(stage->layers.size() - 1);
    }
    if (!held.trunk) {
        return reader.fault() ? swarm::Result<std::shared_ptr<const StageWeights>>(*reader.fault())
                              : std::shared_ptr<const StageWeights>(std::move(stage));
    }
    if (tied && stage->first) {
        stage->head = stage->embedding;
    } else if ((stage->last || exits == Exits::EveryStage) && !reader.fault()) {
        const bool shared = layout.has_embedding && tied;
        stage->head = shared ? stage->embedding
                             : std::make_shared<JoinedMatrix>(reader.matrix({"head.weight"}));
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
    WeightChoice choice,
    Exits exits,
    const HeldParts& held
) {
    try {
        return read_stage(source, layout, choice, exits, held);
    } catch (const std::bad_alloc&) {
        return Error{
            ErrorCode::Full,
            Reaction::Reject,
            "not enough memory for the weights of stage " + std::to_string(layout.stage.value) +
                "; use more stages, or --weights int8"};
    }
}

std::uint64_t kept_bytes(
    const models::ModelSource& source, const swarm::run::StageLayout& layout, WeightChoice choice
) {
    std::uint64_t bytes = 0;
    std::vector<bool> repeats(layout.layers);
    for (std::uint32_t i = 1; i < layout.layers; ++i) {
        repeats[i] = models::repeats_layer_before(source, layout.first_layer + i);
    }
    for (const swarm::run::TensorSpec& wanted : layout.tensors) {
        const auto layer = models::layer_of_tensor(wanted.name);
        if (layer && repeats[*layer - layout.first_layer]) {
            continue;
        }
        const auto& tensor = source.tensors().find(wanted.name)->second;
        const bool counted = wanted.name == "head.weight" && layout.has_embedding &&
                             source.architecture().tied_embeddings;
        if (tensor.shape.size() < 2) {
            bytes += tensor.columns() * sizeof(float);
        } else if (!counted) {
            bytes += keeps_stored(tensor, choice)
                         ? PackedMatrix::bytes_of(tensor.type, tensor.rows(), tensor.columns())
                         : PackedMatrix::bytes_of(
                               choice.format().value_or(kernels::WeightFormat::Fp32),
                               tensor.rows(),
                               tensor.columns()
                           );
        }
    }
    return bytes;
}

}  // namespace stacking::llama
