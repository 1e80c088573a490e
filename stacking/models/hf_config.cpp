#include "stacking/models/hf_config.hpp"

#include "stacking/models/byte_source.hpp"
#include "stacking/models/f8_weights.hpp"
#include "stacking/models/families/config_members.hpp"
#include "stacking/models/families/family.hpp"
#include "stacking/models/hf_rope.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace stacking::models {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;

namespace {

const Family* read_family(ConfigMembers& members) {
    if (members.find("model_type") == nullptr) {
        members.fail("model_type is missing");
        return nullptr;
    }
    const std::string type = members.text("model_type", "");
    const Family* const family = find_family(type);
    if (family == nullptr) {
        members.fail(
            "model_type is \"" + printable(type) + "\"; these can be read: " + family_names(false),
            ErrorCode::Unsupported
        );
    }
    return family;
}

void read_activation(ConfigMembers& members, const Family& family) {
    const bool silu = family.activation == Activation::Silu;
    members.require(family.activation_key, silu ? "silu" : "gelu_pytorch_tanh");
}

void read_shape(ConfigMembers& members, const Family& family, Architecture& found) {
    ModelConfig& model = found.model;
    model.layers = members.count("num_hidden_layers");
    model.width = members.count("hidden_size");
    model.ffn_width = members.count("intermediate_size");
    model.heads = members.count("num_attention_heads");
    const bool as_many = family.kv_heads == 0 || members.has("num_key_value_heads");
    model.kv_heads = members.count("num_key_value_heads", as_many ? model.heads : family.kv_heads);
    model.vocabulary = members.count("vocab_size");
    model.context = members.count("max_position_embeddings", family.context);
    model.norm_epsilon = members.real("rms_norm_eps", family.norm_epsilon);
    const std::uint32_t head_width = members.count("head_dim", family.head_width);
    const bool as_usual = model.heads != 0 && model.width % model.heads == 0 &&
                          model.width / model.heads == head_width;
    found.traits.head_width = as_usual ? 0 : head_width;
}

/// An absent member means the token of the family, if the vocabulary has it.
void read_tokens(ConfigMembers& members, const Family& family, Architecture& found) {
    const auto read = [&](const char* key, const std::optional<std::uint32_t>& missing) {
        std::vector<std::uint32_t> tokens = members.tokens(key);
        if (!members.has(key) && missing && *missing < found.model.vocabulary) {
            tokens.push_back(*missing);
        }
        return tokens;
    };
    const std::vector<std::uint32_t> begin = read("bos_token_id", family.begin_token);
    if (!begin.empty()) {
        found.begin_token = begin.front();
    }
    found.end_tokens = read("eos_token_id", family.end_token);
}

/// Writes a single end token as a number, because older readers know no lists.
json::value end_tokens(const Architecture& architecture) {
    const auto& tokens = architecture.end_tokens;
    if (tokens.size() == 1) {
        return tokens.front();
    }
    return tokens.empty() ? json::value() : json::value(json::array(tokens.begin(), tokens.end()));
}

json::value begin_token(const Architecture& architecture) {
    return architecture.begin_token ? json::value(*architecture.begin_token) : json::value();
}

}  // namespace

Result<Architecture> parse_hf_config(std::string_view text, std::string name) {
    const auto parsed = stages::parse_strict_json(text);
    if (parsed.has_error() || !parsed->is_object()) {
        const std::string why = parsed.has_error() ? parsed.error().detail : "no object";
        return Error{ErrorCode::Malformed, Reaction::Reject, "config.json: " + why};
    }
    ConfigMembers members(parsed->get_object());
    const Family* const family = read_family(members);
    if (family == nullptr) {
        return *members.fault();
    }
    Architecture found;
    found.name = std::move(name);
    found.traits.family = family->name;
    found.traits.activation = family->activation;
    read_shape(members, *family, found);
    if (members.fault()) {
        return *members.fault();
    }
    SWARM_TRY(check_bounds(found));
    read_hf_rope(members, *family, found);
    read_activation(members, *family);
    members.require("is_causal", true);
    if (const json::value* const config = members.find("quantization_config")) {
        if (const std::string why = refuse_quantisation(*config); !why.empty()) {
            members.fail(why, ErrorCode::Unsupported);
        }
    }
    found.tied_embeddings = members.boolean("tie_word_embeddings", family->tied_embeddings);
    read_tokens(members, *family, found);
    family->read_config(members, found);
    if (members.fault()) {
        return *members.fault();
    }
    return found;
}

Result<std::optional<std::vector<std::uint32_t>>> parse_hf_generation_config(std::string_view text
) {
    const auto parsed = stages::parse_strict_json(text);
    if (parsed.has_error() || !parsed->is_object()) {
        const std::string why = parsed.has_error() ? parsed.error().detail : "no object";
        return Error{ErrorCode::Malformed, Reaction::Reject, "generation_config.json: " + why};
    }
    ConfigMembers members(parsed->get_object(), "generation_config.json");
    std::optional<std::vector<std::uint32_t>> found;
    if (members.find("eos_token_id") != nullptr) {
        found = members.tokens("eos_token_id");
    }
    if (members.fault()) {
        return *members.fault();
    }
    return found;
}

std::string make_hf_config(const Architecture& architecture) {
    const ModelConfig& model = architecture.model;
    const Family& family = family_of(architecture);
    const bool silu = architecture.traits.activation == Activation::Silu;
    const json::object rope = make_hf_rope(architecture);
    json::object config{
        {"architectures", {family.class_name}},
        {"model_type", family.name},
        {"hidden_size", model.width},
        {"intermediate_size", model.ffn_width},
        {"num_hidden_layers", model.layers},
        {"num_attention_heads", model.heads},
        {"num_key_value_heads", model.kv_heads},
        {"head_dim", architecture.head_width()},
        {"vocab_size", model.vocabulary},
        {"max_position_embeddings", model.context},
        {"rms_norm_eps", model.norm_epsilon},
        {family.activation_key, silu ? "silu" : "gelu_pytorch_tanh"},
        {"tie_word_embeddings", architecture.tied_embeddings},
        {"bos_token_id", begin_token(architecture)},
        {"eos_token_id", end_tokens(architecture)},
        {"pad_token_id", json::value()},
        {"rope_parameters", rope},
        {"rope_theta", model.rope_base},
        {"dtype", "float32"},
        {"torch_dtype", "float32"}};
    if (rope.at("rope_type") != "default") {
        config["rope_scaling"] = rope;
    }
    family.write_config(architecture, config);
    return json::serialize(config) + "\n";
}

std::string make_hf_generation_config(const Architecture& architecture) {
    const json::object config{
        {"bos_token_id", begin_token(architecture)}, {"eos_token_id", end_tokens(architecture)}};
    return json::serialize(config) + "\n";
}

}  // namespace stacking::models
