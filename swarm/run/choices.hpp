// The settings of a run that are one of some names. Each type has one table of names, which the
// reader, the writer, error texts, flags and the reference use.
// Threading: values. Errors: nullopt, or Usage (Reject) with the key and the names, for a name that
// is not in the table.
#pragma once

#include "router/policy.hpp"
#include "router/rebalancer.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/codec_setting.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace swarm::run {

/// The families of decoders that are trained, and the oracle. A Mistral computes as a Llama does, a
/// Qwen2 has biases of queries, keys and values, a Qwen3 has norms of each head's queries and keys,
/// a Mixtral is a Mistral, and a Qwen3-MoE a Qwen3, whose feed-forward parts are mixtures of
/// experts.
enum class ModelKind : std::uint8_t { Llama, Mistral, Qwen2, Qwen3, Mixtral, Qwen3Moe, Oracle };

constexpr bool has_experts(ModelKind kind) {
    return kind == ModelKind::Mixtral || kind == ModelKind::Qwen3Moe;
}

constexpr bool has_query_key_norms(ModelKind kind) {
    return kind == ModelKind::Qwen3 || kind == ModelKind::Qwen3Moe;
}

/// How the replicas of a stage become one again. Exact: in each step, by the sums of all gradients.
/// Sparse: each replica trains alone for some steps, then they exchange a part of their changes.
enum class SyncMode : std::uint8_t { Exact, Sparse };

/// Whether the cut of the layers into stages stays as it is, or is made anew when a stage has
/// become slower.
enum class SplitMode : std::uint8_t { Fixed, Measured };

/// How the learning rate goes on after the warm-up; wsd: it rests, and falls at the end.
enum class Schedule : std::uint8_t { Cosine, Linear, Wsd, Constant };

template <class Type>
inline constexpr bool kIsChoice = false;
template <>
inline constexpr bool kIsChoice<ModelKind> = true;
template <>
inline constexpr bool kIsChoice<SyncMode> = true;
template <>
inline constexpr bool kIsChoice<SplitMode> = true;
template <>
inline constexpr bool kIsChoice<Schedule> = true;
template <>
inline constexpr bool kIsChoice<CodecSetting> = true;
template <>
inline constexpr bool kIsChoice<router::PolicyName> = true;
template <>
inline constexpr bool kIsChoice<router::RebalancerName> = true;

template <class Type>
concept Choice = kIsChoice<Type>;

std::string_view to_text(ModelKind kind);
std::string_view to_text(SyncMode mode);
std::string_view to_text(SplitMode mode);
std::string_view to_text(Schedule schedule);

template <Choice Type>
std::string_view to_text(const Type& choice) {
    return choice.text();
}

template <Choice Type>
std::optional<Type> find_choice(std::string_view name) {
    return Type::find(name);
}

template <>
std::optional<ModelKind> find_choice(std::string_view name);
template <>
std::optional<SyncMode> find_choice(std::string_view name);
template <>
std::optional<SplitMode> find_choice(std::string_view name);
template <>
std::optional<Schedule> find_choice(std::string_view name);

/// "\"exact\" or \"sparse\"": what "must be" is followed by.
template <Choice Type>
std::string choice_names();

template <>
std::string choice_names<ModelKind>();
template <>
std::string choice_names<SyncMode>();
template <>
std::string choice_names<SplitMode>();
template <>
std::string choice_names<Schedule>();
template <>
std::string choice_names<CodecSetting>();
template <>
std::string choice_names<router::PolicyName>();
template <>
std::string choice_names<router::RebalancerName>();

/// `key` begins the error: "run.mode must be ...".
template <Choice Type>
Result<Type> parse_choice(std::string_view key, std::string_view name) {
    if (auto choice = find_choice<Type>(name)) {
        return *std::move(choice);
    }
    return Error{
        ErrorCode::Usage, Reaction::Reject, std::string(key) + " must be " + choice_names<Type>()};
}

}  // namespace swarm::run
