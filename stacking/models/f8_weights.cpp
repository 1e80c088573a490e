#include "stacking/models/f8_weights.hpp"

#include "stages/worker/tensor_checks.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <string_view>

namespace stacking::models {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr std::string_view kWeight = ".weight";
constexpr const char* kF8BlockText = "128x128";  // older compressed-tensors write it

Error bad_scheme(const std::string& what) {
    return {ErrorCode::Unsupported, Reaction::Reject, what};
}

std::string text_or_empty(const json::object& object, const char* key) {
    const json::value* const value = object.if_contains(key);
    const json::string* const text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string() : std::string(*text);
}

/// The shape of the scales does not tell blocks of other sides apart.
bool has_known_blocks(const json::object& object, const char* key) {
    const json::value* const size = object.if_contains(key);
    return size == nullptr || size->is_null() || *size == json::array{kF8BlockSide, kF8BlockSide} ||
           *size == json::value(kF8BlockText);
}

/// Whether each group of compressed-tensors has weights of blocks that are known, if of blocks.
bool has_known_groups(const json::object& config) {
    const json::value* const groups = config.if_contains("config_groups");
    const json::object* const each = groups == nullptr ? nullptr : groups->if_object();
    if (each == nullptr) {
        return true;
    }
    return std::all_of(each->begin(), each->end(), [](const auto& member) {
        const json::object* const group = member.value().if_object();
        const json::value* const weights =
            group == nullptr ? nullptr : group->if_contains("weights");
        const json::object* const how = weights == nullptr ? nullptr : weights->if_object();
        return how == nullptr || has_known_blocks(*how, "block_structure");
    });
}

std::uint32_t divided_up(std::uint64_t value) {
    return static_cast<std::uint32_t>((value + kF8BlockSide - 1) / kF8BlockSide);
}

/// Returns scales without their values; none for a shape that is no known scheme.
std::optional<WeightScales> scheme_of(
    const std::vector<std::uint32_t>& shape, std::uint32_t rows, std::uint32_t columns
) {
    using Shape = std::vector<std::uint32_t>;
    if (shape.empty() || shape == Shape{1}) {
        return WeightScales{rows, columns, {}};
    }
    if (shape == Shape{rows} || shape == Shape{rows, 1}) {
        return WeightScales{1, columns, {}};
    }
    if (shape == Shape{divided_up(rows), divided_up(columns)}) {
        return WeightScales{kF8BlockSide, kF8BlockSide, {}};
    }
    return std::nullopt;
}

}  // namespace

std::string refuse_quantisation(const json::value& config) {
    const json::object* const object = config.if_object();
    const std::string method = object == nullptr ? "" : text_or_empty(*object, "quant_method");
    const std::string format = object == nullptr ? "" : text_or_empty(*object, "format");
    const std::string sides =
        " is not [" + std::to_string(kF8BlockSide) + ", " + std::to_string(kF8BlockSide) + "]";
    if (object != nullptr && !has_known_blocks(*object, "weight_block_size")) {
        return "weight_block_size" + sides;
    }
    if (object != nullptr && !has_known_groups(*object)) {
        return "block_structure" + sides;
    }
    if (method == "fp8" || (method == "compressed-tensors" && format == "float-quantized")) {
        return "";
    }
    return "the weights are quantised by \"" + printable(method) +
           "\"; F32, F16, BF16 and F8_E4M3 can be read";
}

Result<> add_f8_scales(
    const std::string& name,
    const TensorCatalogue& catalogue,
    const ModelSource::Files& files,
    Quantised quantised,
    StoredTensor& tensor,
    std::set<std::string>& used
) {
    // A tensor without rows fits no architecture; its shape is refused later.
    if (tensor.type != WeightType::F8_E4M3 || !name.ends_with(kWeight) || tensor.shape.empty()) {
        return {};
    }
    used.insert(name.substr(0, name.size() - kWeight.size()) + ".input_scale");
    auto found = catalogue.find(name + "_scale");
    if (found == catalogue.end()) {
        found = catalogue.find(name + "_scale_inv");
    }
    if (found == catalogue.end() && quantised == Quantised::Yes) {
        return bad_scheme(
            printable(name) + " is F8_E4M3 without a scale, which quantization_config promises"
        );
    }
    if (found == catalogue.end()) {
        return {};
    }
    used.insert(found->first);
    const auto& [scale_name, scale] = *found;
    const auto rows = static_cast<std::uint32_t>(tensor.rows());
    const auto columns = static_cast<std::uint32_t>(tensor.columns());
    std::optional<WeightScales> scales = scheme_of(scale.entry.shape, rows, columns);
    const auto type = blocks::parse_weight_type(scale.entry.dtype);
    if (!scales || !type || *type == WeightType::F8_E4M3) {
        return bad_scheme(
            printable(scale_name) + " is no scale per tensor, per row or per 128 x 128 weights"
        );
    }
    std::vector<std::byte> bytes(scale.entry.end - scale.entry.begin);
    SWARM_TRY(files[scale.file]->read(scale.offset, bytes));
    scales->values.resize(bytes.size() / block_size(*type).bytes);
    decode_weights(*type, bytes, scales->values);
    if (stages::check_finite(scales->values).has_error()) {
        return not_finite(scale_name);
    }
    tensor.scales = std::move(*scales);
    return {};
}

}  // namespace stacking::models
