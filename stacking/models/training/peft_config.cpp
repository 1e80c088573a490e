#include "stacking/models/training/peft_config.hpp"

#include "stacking/models/byte_source.hpp"
#include "stacking/models/families/config_members.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/training/peft_folder.hpp"
#include "stages/files/strict_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iterator>

namespace stacking::models {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// Members that are read below, and those that concern training or origin alone.
constexpr std::string_view kKnownMembers[] = {
    "peft_type",
    "r",
    "lora_alpha",
    "target_modules",
    "layers_to_transform",
    "layers_pattern",
    "exclude_modules",
    "bias",
    "init_lora_weights",
    "auto_mapping",
    "base_model_name_or_path",
    "corda_config",
    "eva_config",
    "inference_mode",
    "loftq_config",
    "lora_dropout",
    "lora_ga_config",
    "megatron_config",
    "megatron_core",
    "peft_version",
    "qalora_group_size",
    "revision",
    "runtime_config",
    "task_type"};

/// Ways to begin that leave the base model as it is; after others the adapters fit another one.
constexpr std::string_view kBeginnings[] = {"gaussian", "orthogonal", "eva"};

/// Whether a member stands for a feature that is not used.
bool is_unused(const json::value& value) {
    if (const json::array* const list = value.if_array()) {
        return list->empty();
    }
    if (const json::object* const object = value.if_object()) {
        return object->empty();
    }
    return value.is_null() || (value.is_bool() && !value.get_bool());
}

bool is_unused(const ConfigMembers& members, const char* key) {
    const json::value* const value = members.find(key);
    return value == nullptr || is_unused(*value);
}

void refuse_features(const json::object& object, ConfigMembers& members) {
    for (const auto& member : object) {
        const std::string_view key(member.key().data(), member.key().size());
        if (std::ranges::find(kKnownMembers, key) == std::end(kKnownMembers) &&
            !is_unused(member.value())) {
            members.fail(
                printable(key) + " is " + printable(json::serialize(member.value())) +
                    "; adapters with it cannot be read",
                ErrorCode::Unsupported
            );
        }
    }
    members.require("bias", "none");
    const json::value* const begin = members.find("init_lora_weights");
    if (begin != nullptr && !begin->is_bool() &&
        std::ranges::find(kBeginnings, members.text("init_lora_weights", "")) ==
            std::end(kBeginnings)) {
        members.fail(
            "init_lora_weights is " + printable(json::serialize(*begin)) +
                ", which changes the base model; convert the adapters as peft's manual says",
            ErrorCode::Unsupported
        );
    }
}

void read_size(ConfigMembers& members, PeftConfig& config) {
    config.rank = members.count("r");
    if (config.rank == 0 || config.rank > kAdapterRankMax) {
        members.fail(
            "r is " + std::to_string(config.rank) + "; it must be 1 to " +
                std::to_string(kAdapterRankMax),
            config.rank == 0 ? ErrorCode::Malformed : ErrorCode::TooLarge
        );
        return;
    }
    if (members.find("lora_alpha") == nullptr) {
        members.fail("lora_alpha is missing");
    }
    const double alpha = members.real("lora_alpha", 0);
    // Written so that NaN fails, too.
    if (!(alpha > 0 && alpha <= kScaleMax)) {
        members.fail("lora_alpha must be above 0 and at most 1000000");
    }
    config.scale = static_cast<float>(alpha / config.rank);
}

void read_targets(ConfigMembers& members, PeftConfig& config) {
    const json::value* const value = members.find("target_modules");
    if (value != nullptr && value->is_string()) {
        return;  // a pattern: the names of the tensors say which modules it meant
    }
    const json::array* const list = value == nullptr ? nullptr : value->if_array();
    if (list == nullptr || list->empty() || list->size() > kAdapterTargetsMax) {
        members.fail(
            "target_modules is no list of 1 to " + std::to_string(kAdapterTargetsMax) + " names"
        );
        return;
    }
    for (const json::value& target : *list) {
        if (!target.is_string() || target.get_string().empty()) {
            members.fail("target_modules has " + printable(json::serialize(target)) + ", no name");
            return;
        }
        config.targets.emplace_back(target.get_string());
    }
    config.in_every_layer = is_unused(members, "layers_to_transform") &&
                            is_unused(members, "layers_pattern") &&
                            is_unused(members, "exclude_modules");
}

}  // namespace

bool PeftConfig::names(std::string_view module) const {
    return std::ranges::any_of(targets, [&](const std::string& target) {
        return module == target || module.ends_with("." + target);
    });
}

Result<PeftConfig> parse_peft_config(std::string_view text) {
    const auto parsed = stages::parse_strict_json(text);
    if (parsed.has_error() || !parsed->is_object()) {
        const std::string why = parsed.has_error() ? parsed.error().detail : "no object";
        return Error{
            ErrorCode::Malformed, Reaction::Reject, std::string(kPeftConfigFile) + ": " + why};
    }
    ConfigMembers members(parsed->get_object(), kPeftConfigFile);
    PeftConfig config;
    if (members.find("peft_type") == nullptr) {
        members.fail("peft_type is missing");
    }
    members.require("peft_type", "LORA");
    refuse_features(parsed->get_object(), members);
    read_size(members, config);
    read_targets(members, config);
    if (members.fault()) {
        return *members.fault();
    }
    return config;
}

}  // namespace stacking::models
