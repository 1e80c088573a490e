// A stack of mode chain as one model: the layers of its members one after the other.
// Threading: one thread. Errors: Usage (Reject): the stack is no chain; and those of the stack's
// file, of its members, and of stacking/models/averages/model_chain.hpp.
#pragma once

#include "stacking/models/model_source.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/answer/open_stack.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {

struct JoinedChain {
    std::shared_ptr<const OpenStack> stack;
    stacking::models::ModelSource model;
    std::vector<std::uint32_t> layers;  // number of layers by member

    /// Writes the model and its tokenizer into the folder.
    [[nodiscard]] Result<> write(const std::filesystem::path& folder, Console& console) const;
};

/// `file`: that of the stack.
Result<JoinedChain> open_joined(const std::string& file);

}  // namespace swarm::cli
