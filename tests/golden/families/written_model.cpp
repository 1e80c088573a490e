#include "tests/golden/families/written_model.hpp"

#include "stages/files/safetensors_header.hpp"
#include "swarm/base/digest.hpp"
#include "tests/unit/stacking_models/gguf_builder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>

namespace swarm::golden {

namespace json = boost::json;
using stacking::models::test::GgufBuilder;

namespace {

struct Tensor {
    std::string name;
    std::vector<std::uint32_t> shape;
    float base = 0;
    float scale = 0;

    [[nodiscard]] std::vector<float> values() const {
        const std::size_t count = std::accumulate(
            shape.begin(), shape.end(), std::size_t{1}, std::multiplies<std::size_t>()
        );
        std::vector<float> values = uniform(name, count);
        for (float& value : values) {
            value = base + scale * (value - 0.5F);
        }
        return values;
    }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::uint32_t number(const json::object& config, std::initializer_list<const char*> keys) {
    for (const char* const key : keys) {
        if (const json::value* const found = config.if_contains(key)) {
            return found->to_number<std::uint32_t>();
        }
    }
    return 0;
}

std::uint32_t expert_count(const json::object& config) {
    return number(config, {"num_experts", "num_local_experts"});
}

/// Names of a tensor in all experts of one layer; its own, if it belongs to none.
std::vector<std::string> in_experts(const std::string& name, std::uint32_t experts) {
    std::vector<std::string> names;
    const bool of_expert = name.find(".experts.0.") != std::string::npos;
    for (std::uint32_t expert = 0; expert < (of_expert ? experts : 1); ++expert) {
        names.push_back(replaced(name, ".experts.0.", ".experts." + std::to_string(expert) + "."));
    }
    return names;
}

/// Names of a tensor in all layers; its own, if it belongs to none.
std::vector<std::string> in_layers(
    const std::string& name, const std::string& first, const json::object& config
) {
    std::vector<std::string> names;
    const bool of_layer = name.find(first + "0.") != std::string::npos;
    const std::uint32_t layers = number(config, {"num_hidden_layers"});
    for (std::uint32_t layer = 0; layer < (of_layer ? layers : 1); ++layer) {
        names.push_back(replaced(name, first + "0.", first + std::to_string(layer) + "."));
    }
    return names;
}

/// The tensors that families.json names, which are those of the first layer and expert.
std::vector<Tensor> listed(const json::object& golden) {
    std::vector<Tensor> tensors;
    for (const json::value& entry : golden.at("tensors").as_array()) {
        const json::array& row = entry.as_array();
        Tensor tensor{std::string(row[0].as_string()), {}};
        for (const json::value& size : row[1].as_array()) {
            tensor.shape.push_back(size.to_number<std::uint32_t>());
        }
        tensor.base = row[2].as_array()[0].to_number<float>();
        tensor.scale = row[2].as_array()[1].to_number<float>();
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

void append(std::vector<std::byte>& bytes, std::span<const float> values) {
    const auto raw = std::as_bytes(values);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

/// Stores the rows of each head as x0, x(h/2), x1, x(h/2 + 1), ...
std::vector<float> interleaved(
    const std::vector<float>& values, std::size_t columns, std::size_t heads
) {
    const std::size_t head_rows = values.size() / columns / heads;
    std::vector<float> out;
    for (std::size_t head = 0; head < heads; ++head) {
        for (std::size_t i = 0; i < head_rows; ++i) {
            const std::size_t row = head * head_rows + i % 2 * (head_rows / 2) + i / 2;
            const float* const from = values.data() + row * columns;
            out.insert(out.end(), from, from + columns);
        }
    }
    return out;
}

void add_keys(const json::object& gguf, GgufBuilder& file) {
    file.text("general.architecture", gguf.at("architecture").as_string());
    for (const json::value& entry : gguf.at("keys").as_array()) {
        const std::string name(entry.as_array()[0].as_string());
        const json::value& value = entry.as_array()[1];
        if (value.is_string()) {
            file.text(name, value.as_string());
        } else if (value.is_int64()) {
            file.u32(name, value.to_number<std::uint32_t>());
        } else {
            file.f32(name, value.to_number<float>());
        }
    }
    for (const json::value& entry : gguf.at("tables").as_array()) {
        std::vector<float> table;
        for (const json::value& divisor : entry.as_array()[1].as_array()) {
            table.push_back(divisor.to_number<float>());
        }
        file.f32_tensor(entry.as_array()[0].as_string(), {table.size()}, table);
    }
}

/// Adds a tensor of a Hugging Face folder under its name in GGUF, changed as the converter does.
void add_tensor(
    const json::object& config,
    const std::string& name,
    const Tensor& tensor,
    std::string_view change,
    GgufBuilder& file
) {
    std::vector<std::uint64_t> sizes(tensor.shape.rbegin(), tensor.shape.rend());
    if (sizes.size() == 2 && sizes.back() == 1) {
        sizes.pop_back();  // the gate of the expert for all tokens is a vector there
    }
    std::vector<float> values;
    if (change == "stack") {
        const std::uint32_t experts = expert_count(config);
        sizes.push_back(experts);
        for (const std::string& of_expert : in_experts(tensor.name, experts)) {
            const Tensor one{of_expert, tensor.shape, tensor.base, tensor.scale};
            const std::vector<float> part = one.values();
            values.insert(values.end(), part.begin(), part.end());
        }
    } else {
        values = tensor.values();
    }
    if (change == "permute") {
        const bool queries = tensor.name.find("q_proj") != std::string::npos;
        const char* const key = queries ? "num_attention_heads" : "num_key_value_heads";
        values = interleaved(values, sizes[0], number(config, {key}));
    }
    if (change == "plus one") {
        std::ranges::transform(values, values.begin(), [](float value) { return value + 1; });
    }
    file.f32_tensor(name, sizes, values);
}

}  // namespace

std::vector<float> uniform(const std::string& name, std::size_t count) {
    const Digest digest = sha256(std::as_bytes(std::span(name)));
    std::uint64_t key = 0;
    std::memcpy(&key, digest.bytes.data(), sizeof key);
    std::vector<float> numbers;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t z = key + 0x9E3779B97F4A7C15U * (i + 1);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        z ^= z >> 31;
        numbers.push_back(static_cast<float>(z >> 40) * 0x1p-24F);
    }
    return numbers;
}

void write_folder(const json::object& golden, const std::filesystem::path& folder) {
    const json::object& config = golden.at("config").as_object();
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.json") << json::serialize(config);
    std::vector<stages::SafetensorsEntry> entries;
    std::vector<std::byte> bytes;
    for (const Tensor& tensor : listed(golden)) {
        for (const std::string& layer : in_layers(tensor.name, ".layers.", config)) {
            for (const std::string& name : in_experts(layer, expert_count(config))) {
                const std::uint64_t begin = bytes.size();
                append(bytes, Tensor{name, tensor.shape, tensor.base, tensor.scale}.values());
                entries.push_back({name, "F32", tensor.shape, begin, bytes.size()});
            }
        }
    }
    std::ofstream file(folder / "model.safetensors", std::ios::binary);
    file << stages::make_safetensors_header(entries, "pt");
    file.write(
        reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())
    );
}

std::vector<std::byte> make_gguf(const json::object& golden) {
    const json::object& config = golden.at("config").as_object();
    const json::object& gguf = golden.at("gguf").as_object();
    GgufBuilder file;
    add_keys(gguf, file);
    const std::vector<Tensor> tensors = listed(golden);
    for (const json::value& entry : gguf.at("tensors").as_array()) {
        const json::array& row = entry.as_array();
        const std::string theirs(row[1].as_string());
        const auto found = std::ranges::find(tensors, theirs, &Tensor::name);
        const auto names = in_layers(std::string(row[0].as_string()), "blk.", config);
        const auto sources = in_layers(theirs, ".layers.", config);
        for (std::size_t layer = 0; layer < names.size(); ++layer) {
            const Tensor tensor{sources[layer], found->shape, found->base, found->scale};
            add_tensor(config, names[layer], tensor, row[2].as_string(), file);
        }
    }
    return file.bytes();
}

}  // namespace swarm::golden
