// The keys in which two configurations of a run differ, for a run that goes on with other settings
// than before (`train --resume`).
// Invariant: walks the list of config_fields.hpp, so no key is forgotten.
// Threading: pure. Errors: none.
#pragma once

#include "swarm/base/digest.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::run {

struct RunConfig;

/// The answer to another value of a key when a run goes on.
enum class NewValue : std::uint8_t {
    Taken,  // it is printed, and the run goes on with it
    Asked,  // it changes what is trained or makes peers begin anew, so a person must ask for it
    Never,  // the states of the run are of no use with it
};

/// "taken", "asks" or "never", as the reference has it.
const char* to_text(NewValue rule);

struct KeyChange {
    std::string key;  // "run.stages"
    std::string was;  // values as a run file has them
    std::string now;
    NewValue rule = NewValue::Taken;
};

/// The changes from `was` to `now`, in the order of the reference. In mode sparse peers know the
/// last step, so another number of steps is asked for there.
std::vector<KeyChange> changes_between(const RunConfig& was, const RunConfig& now);

/// A digest of the settings that peers compute with, apart from the split into stages: peers that
/// have others cannot go on with the run. A key with its default does not count, so a new key does
/// not change the digest of an older run.
Digest peer_settings(const RunConfig& config);

}  // namespace swarm::run
