#include "stacking/models/hf_config.hpp"

#include "stacking/models/byte_source.hpp"
#include "stages/files/strict_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <limits>
#include <optional>
#include <utility>

namespace stacking::models {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::ModelConfig;

namespace {

constexpr double kDefaultRopeBase = 10'000;
constexpr double kDefaultNormEpsilon = 1e-6;
constexpr std::uint32_t kDefaultContext = 2048;
constexpr std::size_t kEndTokensMax = 64;

std::string text_of(const json::value& value) {
    return printable(json::serialize(value));
}

/// Reads members of an object and keeps the first fault. A null counts as absent.
class Members {
 public:
    explicit Members(const json::object& object, std::string file = "config.json")
        : object_(object), file_(std::move(file)) {}

    [[nodiscard]] const json::value* find(const char* key) const {
        const json::value* const value = object_.if_contains(key);
        return value == nullptr || value->is_null() ? nullptr : value;
    }

    std::uint32_t count(const char* key, std::optional<std::uint32_t> missing = std::nullopt) {
        const json::value* const value = find(key);
        if (value == nullptr && missing) {
            return *missing;
        }
        return value == nullptr ? fail(std::string(key) + " is missing") : to_count(key, *value);
    }

    std::uint32_t to_count(const char* key, const json::value& value) {
        std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
        if (value.is_int64() && value.get_int64() >= 0) {
            count = static_cast<std::uint64_t>(value.get_int64());
        }
        if (count > std::numeric_limits<std::uint32_t>::max()) {
            return fail(std::string(key) + " is " + text_of(value) + ", no count");
        }
        return static_cast<std::uint32_t>(count);
    }

    double real(const char* key, double missing) {
        const json::value* const value = find(key);
        if (value == nullptr) {
            return missing;
        }
        if (!value->is_number()) {
            fail(std::string(key) + " is " + text_of(*value) + ", no number");
            return missing;
        }
        return value->to_number<double>();
    }

    /// Fails with Unsupported unless the member is absent or equal to `only`.
    void require(const char* key, const json::value& only) {
        const json::value* const value = find(key);
        if (value != nullptr && *value != only) {
            fail(
                std::string(key) + " is " + text_of(*value) + "; only " + text_of(only) +
                    " can be read",
                ErrorCode::Unsupported
            );
        }
    }

    std::uint32_t fail(const std::string& what, ErrorCode code = ErrorCode::Malformed) {
        if (!fault_) {
            fault_ = Error{code, Reaction::Reject, file_ + ": " + what};
        }
        return 0;
    }

    [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

 private:
    const json::object& object_;
    std::string file_;
    std::optional<Error> fault_;
};

void refuse_partial_rope(Members& members) {
    if (members.real("partial_rotary_factor", 1) != 1) {
        members.fail("partial_rotary_factor is not 1", ErrorCode::Unsupported);
    }
}

void read_rope(Members& members, ModelConfig& model) {
    const json::value* const five = members.find("rope_parameters");
    const json::value* const four = members.find("rope_scaling");
    std::optional<double> base;
    for (const json::value* const rope : {five, four}) {
        if (rope == nullptr) {
            continue;
        }
        if (!rope->is_object()) {
            members.fail("rope parameters are no object");
            return;
        }
        Members within(rope->get_object());
        within.require("rope_type", "default");
        within.require("type", "default");
        refuse_partial_rope(within);
        if (within.find("rope_theta") != nullptr) {
            base = within.real("rope_theta", 0);
        }
        if (within.fault()) {
            members.fail(within.fault()->detail, within.fault()->code);
            return;
        }
    }
    model.rope_base = members.real("rope_theta", base.value_or(kDefaultRopeBase));
    if (base && *base != model.rope_base) {
        members.fail("two different values of rope_theta");
    }
}

/// Reads a token id, a list of them, or nothing.
std::vector<std::uint32_t> read_tokens(Members& members, const char* key) {
    std::vector<std::uint32_t> tokens;
    const json::value* const value = members.find(key);
    if (value == nullptr) {
        return tokens;
    }
    if (const json::array* const list = value->if_array()) {
        if (list->size() > kEndTokensMax) {
            members.fail(std::string(key) + " is a list of " + std::to_string(list->size()));
            return tokens;
        }
        for (const json::value& entry : *list) {
            tokens.push_back(members.to_count(key, entry));
        }
        return tokens;
    }
    tokens.push_back(members.to_count(key, *value));
    return tokens;
}

void refuse_variants(Members& members, const ModelConfig& model) {
    members.require("hidden_act", "silu");
    members.require("attention_bias", false);
    members.require("mlp_bias", false);
    refuse_partial_rope(members);
    if (members.find("quantization_config") != nullptr) {
        members.fail(
            "the weights are quantised; F32, F16 and BF16 can be read", ErrorCode::Unsupported
        );
    }
    if (model.heads != 0) {
        members.require("head_dim", model.width / model.heads);
    }
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
    Members members(parsed->get_object());
    if (members.find("model_type") == nullptr) {
        members.fail("model_type is missing");
    }
    members.require("model_type", "llama");
    Architecture found;
    found.name = std::move(name);
    ModelConfig& model = found.model;
    model.layers = members.count("num_hidden_layers");
    model.width = members.count("hidden_size");
    model.ffn_width = members.count("intermediate_size");
    model.heads = members.count("num_attention_heads");
    model.kv_heads = members.count("num_key_value_heads", model.heads);
    model.vocabulary = members.count("vocab_size");
    model.context = members.count("max_position_embeddings", kDefaultContext);
    model.norm_epsilon = members.real("rms_norm_eps", kDefaultNormEpsilon);
    read_rope(members, model);
    refuse_variants(members, model);
    const json::value* const tied = members.find("tie_word_embeddings");
    if (tied != nullptr && !tied->is_bool()) {
        members.fail("tie_word_embeddings is no boolean");
    }
    found.tied_embeddings = tied != nullptr && tied->is_bool() && tied->get_bool();
    const std::vector<std::uint32_t> begin = read_tokens(members, "bos_token_id");
    if (!begin.empty()) {
        found.begin_token = begin.front();
    }
    found.end_tokens = read_tokens(members, "eos_token_id");
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
    Members members(parsed->get_object(), "generation_config.json");
    std::optional<std::vector<std::uint32_t>> found;
    if (members.find("eos_token_id") != nullptr) {
        found = read_tokens(members, "eos_token_id");
    }
    if (members.fault()) {
        return *members.fault();
    }
    return found;
}

std::string make_hf_config(const Architecture& architecture) {
    const ModelConfig& model = architecture.model;
    const json::object config{
        {"architectures", {"LlamaForCausalLM"}},
        {"model_type", "llama"},
        {"hidden_size", model.width},
        {"intermediate_size", model.ffn_width},
        {"num_hidden_layers", model.layers},
        {"num_attention_heads", model.heads},
        {"num_key_value_heads", model.kv_heads},
        {"head_dim", model.width / model.heads},
        {"vocab_size", model.vocabulary},
        {"max_position_embeddings", model.context},
        {"rms_norm_eps", model.norm_epsilon},
        {"hidden_act", "silu"},
        {"attention_bias", false},
        {"mlp_bias", false},
        {"tie_word_embeddings", architecture.tied_embeddings},
        {"bos_token_id", begin_token(architecture)},
        {"eos_token_id", end_tokens(architecture)},
        {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", model.rope_base}}},
        {"rope_theta", model.rope_base},
        {"dtype", "float32"},
        {"torch_dtype", "float32"}};
    return json::serialize(config) + "\n";
}

std::string make_hf_generation_config(const Architecture& architecture) {
    const json::object config{
        {"bos_token_id", begin_token(architecture)}, {"eos_token_id", end_tokens(architecture)}};
    return json::serialize(config) + "\n";
}

}  // namespace stacking::models
