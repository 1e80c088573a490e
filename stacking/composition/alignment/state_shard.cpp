#include "stacking/composition/alignment/state_shard.hpp"

#include "stages/files/safetensors.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace stacking::composition {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

namespace json = boost::json;

constexpr int kStateFormat = 1;
constexpr float kIdsBelow = 1 << 24;  // fp32 has every whole number up to it
constexpr std::size_t kNumberDigits = 6;
constexpr const char* kTokensTensor = "tokens";
constexpr const char* kRowsTensor = "rows";
constexpr const char* kStatesText = "states";
constexpr const char* kTargetsText = "targets";

Error no_states(const std::string& name, const std::string& what) {
    return {ErrorCode::Malformed, Reaction::Reject, name + " is no file of states: " + what};
}

std::optional<TokenId> id_of(float value) {
    if (!(value >= 0 && value < kIdsBelow) || std::floor(value) != value) {
        return std::nullopt;
    }
    return static_cast<TokenId>(value);
}

std::optional<std::uint32_t> number_at(const json::object& document, const char* key) {
    const json::value* const found = document.if_contains(key);
    if (found == nullptr || !found->is_int64()) {
        return std::nullopt;
    }
    const std::int64_t number = found->get_int64();
    if (number < 1 || number > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(number);
}

std::optional<std::vector<TokenId>> tokens_at(const json::object& document, const char* key) {
    const json::value* const found = document.if_contains(key);
    const json::array* const list = found == nullptr ? nullptr : found->if_array();
    if (list == nullptr) {
        return std::nullopt;
    }
    std::vector<TokenId> tokens;
    for (const json::value& one : *list) {
        const std::int64_t number = one.is_int64() ? one.get_int64() : -1;
        if (number < 0 || number >= static_cast<std::int64_t>(kIdsBelow)) {
            return std::nullopt;
        }
        tokens.push_back(static_cast<TokenId>(number));
    }
    return tokens;
}

std::optional<StateManifest> manifest_of(const json::object& document) {
    const json::value* const format = document.if_contains("format");
    const json::value* const kind = document.if_contains("kind");
    const json::value* const sample = document.if_contains("sample");
    const auto context = number_at(document, "context");
    const auto width = number_at(document, "width");
    const auto vocabulary = number_at(document, "vocabulary");
    const auto batch = number_at(document, "batch");
    const auto shards = number_at(document, "shards");
    auto tokens = tokens_at(document, "sample_tokens");
    const bool whole = format != nullptr && *format == kStateFormat && kind != nullptr &&
                       (*kind == kStatesText || *kind == kTargetsText) && sample != nullptr &&
                       sample->is_string() && context && width && vocabulary && batch && shards &&
                       tokens && *batch <= kShardSequences && *shards <= kShardsMax;
    if (!whole) {
        return std::nullopt;
    }
    StateManifest manifest;
    manifest.kind = *kind == kTargetsText ? StateKind::Targets : StateKind::States;
    manifest.context = *context;
    manifest.width = *width;
    manifest.vocabulary = *vocabulary;
    manifest.batch = *batch;
    manifest.shards = *shards;
    manifest.sample = std::string(sample->get_string());
    manifest.sample_tokens = *std::move(tokens);
    return manifest;
}

}  // namespace

std::vector<std::byte> to_file(const StateShard& shard) {
    const std::uint32_t sequences = shard.sequences();
    SWARM_ASSERT(shard.tokens.size() == std::size_t{sequences} * (shard.context + 1));
    SWARM_ASSERT(shard.rows.size() == std::size_t{sequences} * shard.context * shard.width);
    const std::vector<float> tokens(shard.tokens.begin(), shard.tokens.end());
    const stages::NamedTensor tensors[] = {
        {kTokensTensor, {sequences, shard.context + 1}, tokens},
        {kRowsTensor, {sequences, shard.context, shard.width}, shard.rows},
    };
    return stages::write_safetensors(tensors);
}

Result<StateShard> parse_shard(std::span<const std::byte> file, const std::string& name) {
    const Result<stages::Safetensors> parsed = stages::Safetensors::parse(file);
    if (!parsed) {
        return no_states(name, parsed.error().detail);
    }
    const stages::NamedTensor* const tokens = parsed->find(kTokensTensor);
    const stages::NamedTensor* const rows = parsed->find(kRowsTensor);
    if (tokens == nullptr || rows == nullptr || parsed->tensors().size() != 2) {
        return no_states(name, "it has no tensors \"tokens\" and \"rows\"");
    }
    const bool fits = tokens->shape.size() == 2 && rows->shape.size() == 3 &&
                      tokens->shape[0] == rows->shape[0] && rows->shape[1] > 0 &&
                      std::uint64_t{tokens->shape[1]} == std::uint64_t{rows->shape[1]} + 1 &&
                      rows->shape[2] > 0;
    if (!fits || rows->shape[0] == 0 || rows->shape[0] > kShardSequences) {
        return no_states(name, "the shapes of tokens and rows do not fit each other");
    }
    StateShard shard{rows->shape[1], rows->shape[2], {}, {}};
    for (const float value : tokens->values) {
        const auto id = id_of(value);
        if (!id) {
            return no_states(name, "a token is no whole number");
        }
        shard.tokens.push_back(*id);
    }
    if (!std::ranges::all_of(rows->values, [](float value) { return std::isfinite(value); })) {
        return no_states(name, "a value is no number");
    }
    shard.rows.assign(rows->values.begin(), rows->values.end());
    return shard;
}

std::string shard_name(std::uint32_t number) {
    const std::string digits = std::to_string(number);
    const std::size_t zeros = kNumberDigits - std::min(kNumberDigits, digits.size());
    return "shard-" + std::string(zeros, '0') + digits + ".safetensors";
}

std::string to_json(const StateManifest& manifest) {
    json::object document;
    document["format"] = kStateFormat;
    document["kind"] = manifest.kind == StateKind::Targets ? kTargetsText : kStatesText;
    document["context"] = manifest.context;
    document["width"] = manifest.width;
    document["vocabulary"] = manifest.vocabulary;
    document["batch"] = manifest.batch;
    document["shards"] = manifest.shards;
    document["sample"] = manifest.sample;
    document["sample_tokens"] =
        json::array(manifest.sample_tokens.begin(), manifest.sample_tokens.end());
    return json::serialize(document) + "\n";
}

Result<StateManifest> parse_state_manifest(std::string_view text, const std::string& name) {
    json::error_code failed;
    const json::value document = json::parse(text, failed);
    const json::object* const object = failed ? nullptr : document.if_object();
    auto manifest = object == nullptr ? std::nullopt : manifest_of(*object);
    if (!manifest) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            name +
                " does not describe states of a member; `swarm stack states` writes such folders"};
    }
    return *std::move(manifest);
}

}  // namespace stacking::composition
