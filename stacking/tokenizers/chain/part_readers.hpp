// Readers of the parts of a chain in a tokenizer.json; read_chain() calls each of them.
// Threading: pure functions. Errors: Unsupported (a step that is not known, by its name),
// Malformed, those of Pattern; Reject. Cost: O(bytes), and compiling the expressions.
#pragma once

#include "stacking/tokenizers/chain/chain.hpp"
#include "swarm/base/result.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <functional>

namespace stacking::tokenizers {

swarm::Result<> read_normalizer(const boost::json::value& part, Chain& chain);
swarm::Result<> read_pre_tokenizer(const boost::json::value& part, Chain& chain);
swarm::Result<> read_post_processor(const boost::json::value& part, Chain& chain);
swarm::Result<> read_decoder(const boost::json::value& part, Chain& chain);

/// Names of a part in the file, for errors, and of the list that its sequences have.
struct PartNames {
    const char* part;
    const char* list;
};

using ReadStep = std::function<swarm::Result<>(const boost::json::object& step)>;

/// Calls `read` with the steps of a part: none, one, or those of a sequence.
swarm::Result<> for_each_step(
    const boost::json::value& part, const PartNames& names, const ReadStep& read
);

/// "pre_tokenizer Whitespace is not known here".
swarm::Error unknown_step(const PartNames& names, const boost::json::object& step);

/// Reads {"String": "x"} or {"Regex": "x"}, the field `pattern` of a step.
swarm::Result<Pattern> read_pattern(const boost::json::object& step);

/// Reads a text of a step, which may be empty and has at most 64 bytes.
swarm::Result<std::string> read_step_text(const boost::json::object& step, const char* key);

}  // namespace stacking::tokenizers
