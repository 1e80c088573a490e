// One key of a run file as the lists of keys name it (config_fields.hpp). Private to swarm/run.
// Threading: values.
#pragma once

#include "swarm/run/choices.hpp"
#include "swarm/run/run_file/config_changes.hpp"
#include "swarm/run/run_file/key_bounds.hpp"

#include <string>

namespace swarm::run {

/// Facts that the list holds about a key beside its field and its bounds.
struct Key {
    const char* table;
    const char* name;
    const char* meaning;                   // one sentence
    NewValue new_value = NewValue::Taken;  // for a run that goes on with another value
};

/// "run.stages".
inline std::string dotted(const Key& key) {
    return std::string(key.table) + "." + key.name;
}

template <Choice Type>
Names one_of(const Type& /*field*/) {
    return {&choice_names<Type>};
}

}  // namespace swarm::run
