#include "stacking/stack/text_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stacking::stack {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

Result<std::unique_ptr<ModelReader>> ModelReader::make(Stages stages) {
    const auto refused = [](std::string what) {
        return Error{ErrorCode::Mismatch, Reaction::Reject, std::move(what)};
    };
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const StageShape shape = stages[i]->shape();
        const bool last = i + 1 == stages.size();
        if (shape.first != (i == 0) || shape.last != last) {
            return refused("the stages are not those of a model, in their order");
        }
        if (!last && stages[i + 1]->shape().width != shape.width) {
            return refused(
                "width " + std::to_string(shape.width) + " does not go into width " +
                std::to_string(stages[i + 1]->shape().width)
            );
        }
    }
    if (stages.empty()) {
        return refused("a model needs a stage");
    }
    return std::unique_ptr<ModelReader>(new ModelReader(std::move(stages)));
}

std::uint32_t ModelReader::vocabulary() const {
    return stages_.back()->shape().vocabulary;
}

std::uint32_t ModelReader::context() const {
    std::uint32_t least = stages_.front()->shape().context;
    for (const auto& stage : stages_) {
        least = std::min(least, stage->shape().context);
    }
    return least;
}

Result<> ModelReader::begin(std::uint32_t tokens) {
    for (const auto& stage : stages_) {
        stage->drop(cache_);
    }
    ++cache_.value;
    filled_ = 0;
    for (const auto& stage : stages_) {
        if (auto reserved = stage->reserve(cache_, tokens); reserved.has_error()) {
            return reserved;
        }
    }
    return {};
}

Result<std::vector<float>> ModelReader::read(std::span<const TokenId> tokens, Wanted wanted) {
    std::vector<SessionRow> rows;
    std::vector<std::uint32_t> logit_rows;
    for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        rows.push_back({cache_, filled_ + i});
        if (wanted == Wanted::AfterEach || i + 1 == tokens.size()) {
            logit_rows.push_back(i);
        }
    }
    std::vector<float> values;
    for (const auto& stage : stages_) {
        const StageShape shape = stage->shape();
        const StageInput input =
            shape.first ? StageInput(tokens) : StageInput(std::span<const float>(values));
        const auto asked = shape.last ? std::span<const std::uint32_t>(logit_rows)
                                      : std::span<const std::uint32_t>();
        auto out = stage->forward(rows, input, asked);
        if (out.has_error()) {
            return out;
        }
        values = std::move(*out);
    }
    filled_ += static_cast<std::uint32_t>(tokens.size());
    return values;
}

}  // namespace stacking::stack
