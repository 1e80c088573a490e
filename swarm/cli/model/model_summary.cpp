#include "swarm/cli/model/model_summary.hpp"

#include "stacking/llama/stage_weights.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "swarm/run/partition.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstdio>
#include <string_view>

namespace swarm::cli {

namespace json = boost::json;
using stacking::models::ModelSource;
using stacking::models::StoredTensor;

namespace {

/// "134,515,008"
std::string with_commas(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string megabytes(std::uint64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
    return text;
}

std::string real(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

std::string row(const std::vector<std::string>& cells) {
    constexpr int kWidths[] = {5, 9, 15, 12, 12, 12};
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        char cell[64];
        std::snprintf(cell, sizeof cell, "%*s", kWidths[i], cells[i].c_str());
        text += cell;
    }
    return text + "\n";
}

}  // namespace

ModelSummary summarise(const ModelSource& model, std::uint32_t stages) {
    ModelSummary summary;
    summary.architecture = model.architecture();
    std::vector<bool> repeats;
    for (std::uint32_t layer = 0; layer < summary.architecture.model.layers; ++layer) {
        repeats.push_back(stacking::models::repeats_layer_before(model, layer));
        summary.own_layers += repeats.back() ? 0 : 1;
    }
    for (const auto& [name, tensor] : model.tensors()) {
        const auto layer = stacking::models::layer_of_tensor(name);
        if (layer && *layer < repeats.size() && repeats[*layer]) {
            continue;  // the bytes of the layer before
        }
        if (summary.architecture.tied_embeddings && name == "head.weight") {
            continue;  // the bytes of the embedding
        }
        summary.parameters += tensor.rows() * tensor.columns();
        summary.tensors[std::string(name_of(tensor.type))] += 1;
        summary.file_bytes += tensor.bytes;
    }
    for (const run::StageLayout& layout : split(summary.architecture, stages)) {
        summary.stages.push_back(
            {layout.first_layer,
             layout.layers,
             layout.elements(),
             model.stored_bytes(layout),
             kept_bytes(model, layout, stacking::llama::WeightChoice::as_is())}
        );
    }
    return summary;
}

std::string to_text(const ModelSummary& summary) {
    const run::ModelConfig& model = summary.architecture.model;
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    const stacking::models::Experts& experts = summary.architecture.traits.experts;
    std::string text =
        summary.architecture.name + "\n  " + std::string(summary.architecture.traits.family) +
        ": " + number(model.layers) + " layers" +
        (summary.own_layers < model.layers
             ? " (" + number(summary.own_layers) + " with weights of their own)"
             : std::string()) +
        ", width " + number(model.width) + ", " +
        number(model.heads) + " heads of " + number(summary.architecture.head_width()) + ", " +
        number(model.kv_heads) + " key/value heads, " +
        (experts.count > 0 ? number(experts.chosen) + " of " + number(experts.count) + " experts, "
                           : std::string()) +
        "feed-forward " + number(model.ffn_width) + ", vocabulary " + number(model.vocabulary) +
        ", context " + number(model.context) + "\n  rope base " + real(model.rope_base) +
        ", norm epsilon " + real(model.norm_epsilon) +
        (summary.architecture.tied_embeddings ? ", tied embeddings\n" : "\n");
    std::string types;
    for (const auto& [type, count] : summary.tensors) {
        types += (types.empty() ? "" : ", ") + type + " x " + number(count);
    }
    text += "  " + with_commas(summary.parameters) + " parameters, tensors " + types + ", " +
            megabytes(summary.file_bytes) + "\n  tokenizer: " + summary.tokenizer +
            "\n  chat template: " + summary.chat + "\n";
    text += row({"stage", "layers", "parameters", "in file", "as-is", "as fp32"});
    for (std::size_t i = 0; i < summary.stages.size(); ++i) {
        const ModelSummary::Stage& stage = summary.stages[i];
        text += row(
            {number(i),
             run::layers_text(stage.first_layer, stage.layers),
             with_commas(stage.parameters),
             megabytes(stage.file_bytes),
             megabytes(stage.kept_bytes),
             megabytes(stage.parameters * sizeof(float))}
        );
    }
    return text;
}

std::string to_json(const ModelSummary& summary) {
    const run::ModelConfig& model = summary.architecture.model;
    json::array stages;
    for (const ModelSummary::Stage& stage : summary.stages) {
        stages.push_back(json::object{
            {"first_layer", stage.first_layer},
            {"layers", stage.layers},
            {"parameters", stage.parameters},
            {"file_bytes", stage.file_bytes},
            {"kept_bytes", stage.kept_bytes},
            {"fp32_bytes", stage.parameters * sizeof(float)}});
    }
    json::object tensors;
    for (const auto& [type, count] : summary.tensors) {
        tensors[type] = count;
    }
    const json::object object{
        {"name", summary.architecture.name},
        {"architecture", summary.architecture.traits.family},
        {"layers", model.layers},
        {"own_layers", summary.own_layers},
        {"width", model.width},
        {"heads", model.heads},
        {"kv_heads", model.kv_heads},
        {"head_width", summary.architecture.head_width()},
        {"experts", summary.architecture.traits.experts.count},
        {"experts_per_token", summary.architecture.traits.experts.chosen},
        {"ffn_width", model.ffn_width},
        {"vocabulary", model.vocabulary},
        {"context", model.context},
        {"rope_base", model.rope_base},
        {"norm_epsilon", model.norm_epsilon},
        {"tied_embeddings", summary.architecture.tied_embeddings},
        {"parameters", summary.parameters},
        {"tensors", std::move(tensors)},
        {"file_bytes", summary.file_bytes},
        {"tokenizer", summary.tokenizer},
        {"chat_template", summary.chat},
        {"stages", std::move(stages)}};
    return json::serialize(object) + "\n";
}

}  // namespace swarm::cli
