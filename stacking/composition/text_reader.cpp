#include "stacking/composition/text_reader.hpp"

#include "stages/compute/top_tokens.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace stacking::composition {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

std::vector<float> rows_of(
    std::span<const float> values, std::size_t width, std::span<const std::uint32_t> rows
) {
    std::vector<float> chosen;
    for (const std::uint32_t row : rows) {
        const auto from = values.subspan(row * width, width);
        chosen.insert(chosen.end(), from.begin(), from.end());
    }
    return chosen;
}

/// Probability of the best token; 0 when a logit is no number.
double best_probability(std::span<const float> logits) {
    const auto best = stages::top_tokens(logits, 1);
    return best.empty() ? 0 : std::exp(best.front().log_probability);
}

}  // namespace

Result<std::uint32_t> TextReader::resume(std::uint32_t /*kept*/, std::uint32_t tokens) {
    SWARM_TRY(begin(tokens));
    return 0U;
}

Result<std::unique_ptr<ModelReader>> ModelReader::make(
    Stages stages, double exit_threshold, std::vector<RowCodec> codecs
) {
    const auto refused = [](std::string what) {
        return Error{ErrorCode::Mismatch, Reaction::Reject, std::move(what)};
    };
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const StageShape shape = stages[i]->shape();
        const bool last = i + 1 == stages.size();
        if ((i == 0 && !shape.takes_tokens) || (last && !shape.gives_logits)) {
            return refused("a path begins where the embedding is and ends where the head is");
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
    return std::unique_ptr<ModelReader>(
        new ModelReader(std::move(stages), exit_threshold, std::move(codecs))
    );
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
        SWARM_TRY(stage->reserve(cache_, tokens));
    }
    return {};
}

Result<std::uint32_t> ModelReader::resume(std::uint32_t kept, std::uint32_t tokens) {
    SWARM_ASSERT(kept <= filled_);
    for (const auto& stage : stages_) {
        stage->truncate(cache_, kept);
        SWARM_TRY(stage->reserve(cache_, tokens));
    }
    filled_ = kept;
    return kept;
}

Result<> ModelReader::pass_on(std::size_t stage, std::vector<float>& values) const {
    const auto codec = codec_of_link(codecs_, stage).value_or(compression::CodecId::None);
    if (codec == compression::CodecId::None) {
        return {};
    }
    return send_through(*find_row_codec(codec), stages_[stage]->shape().width, values);
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
    std::vector<float> scores(logit_rows.size() * vocabulary());
    std::vector<bool> scored(logit_rows.size());
    exits_.clear();
    for (std::size_t at = 0; at < stages_.size(); ++at) {
        SessionCompute& stage = *stages_[at];
        const StageShape shape = stage.shape();
        const bool last = at + 1 == stages_.size();
        if (at > 0) {
            SWARM_TRY(pass_on(at - 1, values));
        }
        const StageInput input =
            at == 0 ? StageInput(tokens) : StageInput(std::span<const float>(values));
        SWARM_TRY(values, stage.run_layers(rows, input));
        const bool may_exit = shape.gives_logits && (exit_threshold_ <= 1 || keeps_exits_);
        if (!last && !may_exit) {
            continue;
        }
        std::vector<float> said = stage.logits(rows_of(values, shape.width, logit_rows));
        for (std::size_t i = 0; i < logit_rows.size(); ++i) {
            const auto row = std::span(said).subspan(i * shape.vocabulary, shape.vocabulary);
            if (!scored[i] && (last || best_probability(row) >= exit_threshold_)) {
                std::ranges::copy(row, scores.data() + i * shape.vocabulary);
                scored[i] = true;
            }
        }
        if (!last && keeps_exits_) {
            exits_.push_back(std::move(said));
        }
    }
    filled_ += static_cast<std::uint32_t>(tokens.size());
    return scores;
}

}  // namespace stacking::composition
