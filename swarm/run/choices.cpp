#include "swarm/run/choices.hpp"

#include "compression/codec.hpp"
#include "swarm/base/check.hpp"

#include <array>
#include <sstream>
#include <vector>

namespace swarm::run {
namespace {

template <class Type>
struct Named {
    std::string_view name;
    Type value;
};

constexpr std::array<Named<ModelKind>, 7> kModelKinds{
    {{"llama", ModelKind::Llama},
     {"mistral", ModelKind::Mistral},
     {"qwen2", ModelKind::Qwen2},
     {"qwen3", ModelKind::Qwen3},
     {"mixtral", ModelKind::Mixtral},
     {"qwen3_moe", ModelKind::Qwen3Moe},
     {"oracle", ModelKind::Oracle}}};
constexpr std::array<Named<SyncMode>, 2> kSyncModes{
    {{"exact", SyncMode::Exact}, {"sparse", SyncMode::Sparse}}};
constexpr std::array<Named<SplitMode>, 2> kSplitModes{
    {{"fixed", SplitMode::Fixed}, {"measured", SplitMode::Measured}}};
constexpr std::array<Named<Schedule>, 4> kSchedules{
    {{"cosine", Schedule::Cosine},
     {"linear", Schedule::Linear},
     {"wsd", Schedule::Wsd},
     {"constant", Schedule::Constant}}};

template <class Type, std::size_t Count>
std::string_view name_in(const std::array<Named<Type>, Count>& table, Type value) {
    for (const Named<Type>& entry : table) {
        if (entry.value == value) {
            return entry.name;
        }
    }
    SWARM_ASSERT(false);  // the table has every value
    return {};
}

template <class Type, std::size_t Count>
std::optional<Type> value_in(const std::array<Named<Type>, Count>& table, std::string_view name) {
    for (const Named<Type>& entry : table) {
        if (entry.name == name) {
            return entry.value;
        }
    }
    return std::nullopt;
}

/// "a", "b" or "c"; `last` is the word before the last one.
std::string quoted(const std::vector<std::string>& names, const std::string& last = " or ") {
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i) {
        list += (i == 0 ? "" : i + 1 == names.size() ? last : ", ") + '"' + names[i] + '"';
    }
    return list;
}

template <class Type, std::size_t Count>
std::string quoted_names(const std::array<Named<Type>, Count>& table) {
    std::vector<std::string> names;
    for (const Named<Type>& entry : table) {
        names.emplace_back(entry.name);
    }
    return quoted(names);
}

/// The parts of "a, b, c".
std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream >> std::ws, part, ',');) {
        parts.push_back(part);
    }
    return parts;
}

}  // namespace

std::string_view to_text(ModelKind kind) {
    return name_in(kModelKinds, kind);
}

std::string_view to_text(SyncMode mode) {
    return name_in(kSyncModes, mode);
}

std::string_view to_text(SplitMode mode) {
    return name_in(kSplitModes, mode);
}

std::string_view to_text(Schedule schedule) {
    return name_in(kSchedules, schedule);
}

template <>
std::optional<ModelKind> find_choice(std::string_view name) {
    return value_in(kModelKinds, name);
}

template <>
std::optional<SyncMode> find_choice(std::string_view name) {
    return value_in(kSyncModes, name);
}

template <>
std::optional<SplitMode> find_choice(std::string_view name) {
    return value_in(kSplitModes, name);
}

template <>
std::optional<Schedule> find_choice(std::string_view name) {
    return value_in(kSchedules, name);
}

template <>
std::string choice_names<ModelKind>() {
    return quoted_names(kModelKinds);
}

template <>
std::string choice_names<SyncMode>() {
    return quoted_names(kSyncModes);
}

template <>
std::string choice_names<SplitMode>() {
    return quoted_names(kSplitModes);
}

template <>
std::string choice_names<Schedule>() {
    return quoted_names(kSchedules);
}

template <>
std::string choice_names<CodecSetting>() {
    return quoted(parts_of("auto, " + compression::codec_names()), ", ") +
           ", or two codecs for forward and backward as in \"int4/int8\"";
}

template <>
std::string choice_names<router::PolicyName>() {
    return quoted(parts_of(router::policy_names()));
}

template <>
std::string choice_names<router::RebalancerName>() {
    return quoted(parts_of(router::rebalancer_names()));
}

}  // namespace swarm::run
