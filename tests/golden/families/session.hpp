// A session of a tiny model, in one stage or several, and its answer to a golden prompt.
// Threading: one thread. Errors: failures of the test.
#pragma once

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/model_source.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace swarm::golden {

/// One session of a model that is cut into stages.
class Session {
 public:
    Session(
        const stacking::models::ModelSource& model,
        std::uint32_t stages,
        stacking::llama::WeightChoice choice = stacking::kernels::WeightFormat::Fp32
    );

    /// Reads the tokens and returns the logits after the last one.
    std::vector<float> read(const std::vector<stacking::TokenId>& tokens);

    /// Reads one token in a call that reads `neighbours` of another session before it.
    std::vector<float> read_beside(
        stacking::TokenId token, const std::vector<stacking::TokenId>& neighbours
    );

 private:
    std::vector<float> read(
        const std::vector<stacking::SessionRow>& rows, const std::vector<stacking::TokenId>& tokens
    );

    std::vector<std::unique_ptr<stacking::llama::LlamaSessions>> stages_;
    std::uint32_t position_ = 0;
    std::uint32_t neighbour_position_ = 0;
};

std::vector<stacking::TokenId> tokens_of(const boost::json::value& list);

struct Answer {
    std::vector<float> logits;  // after the prompt
    std::vector<stacking::TokenId> ids;

    bool operator==(const Answer&) const = default;
};

/// Reads the golden prompt and continues it by as many greedy ids as the golden answer has.
Answer answer(
    const stacking::models::ModelSource& model,
    const boost::json::object& golden,
    std::uint32_t stages
);

/// Compares the logits, every fifth of which is kept, and the ids.
void expect_golden(
    const stacking::models::ModelSource& model,
    const boost::json::object& golden,
    const Answer& found
);

}  // namespace swarm::golden
