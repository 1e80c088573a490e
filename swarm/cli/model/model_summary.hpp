// The figures of a model that `swarm model show` prints, as text and as JSON.
// Threading: pure functions. Errors: none. Cost: O(tensors); reads no weights.
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace swarm::cli {

struct ModelSummary {
    struct Stage {
        std::uint32_t first_layer = 0;
        std::uint32_t layers = 0;
        std::uint64_t parameters = 0;
        std::uint64_t file_bytes = 0;  // bytes of the file that it reads
        std::uint64_t kept_bytes = 0;  // memory of its weights with --weights as-is
    };

    stacking::models::Architecture architecture;
    std::uint32_t own_layers = 0;  // layers that do not share the weights of the one before
    std::uint64_t parameters = 0;  // a tied head and repeated layers do not count again
    std::map<std::string, std::uint64_t> tensors;  // number of tensors by type of weights
    std::uint64_t file_bytes = 0;                  // bytes of all tensors
    std::vector<Stage> stages;                     // a tied head counts in the last one, too
    std::string tokenizer;                         // one line
    std::string chat;                              // one line
};

/// 1 <= stages <= layers
ModelSummary summarise(const stacking::models::ModelSource& model, std::uint32_t stages);

std::string to_text(const ModelSummary& summary);
std::string to_json(const ModelSummary& summary);

}  // namespace swarm::cli
