// Held-out texts, as tokens, and the loss of models on them: that of `swarm eval`, over at most so
// many tokens of each text.
// Invariant: all models are asked about the same tokens in the same windows, so their losses can be
// compared.
// Threading: the main thread, whose pool helps. Errors: those of texts, models and scores; Reject.
// Memory: the tokens; while a model is asked, its weights.
#pragma once

#include "stacking/composition/text_reader.hpp"
#include "stacking/composition/token_scores.hpp"
#include "stacking/models/model_source.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/workers.hpp"
#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {

struct HeldOutTexts {
    std::vector<std::vector<stacking::TokenId>> texts;
    std::vector<stacking::TokenId> before;  // tokens that stand before each window
};

/// Reads at most options.tokens tokens of each text; one at least is scored. Warns of characters
/// without a token.
Result<HeldOutTexts> read_held_out(
    const HeldOutOptions& options,
    const stacking::tokenizers::ModelTokenizer& tokenizer,
    Console& console
);

class HeldOut {
 public:
    /// `context`: positions that every model can read.
    static Result<HeldOut> read(
        const HeldOutOptions& options,
        const stacking::tokenizers::ModelTokenizer& tokenizer,
        std::uint32_t context,
        Console& console
    );

    /// Returns the mean over all scored tokens, in nats. `name`: for the progress.
    [[nodiscard]] Result<double> loss_of(
        const stacking::models::ModelSource& model, const std::string& name, Console& console
    ) const;

    /// Tokens that are scored.
    [[nodiscard]] std::uint64_t tokens() const;

 private:
    HeldOut() = default;

    [[nodiscard]] Result<std::unique_ptr<stacking::composition::TextReader>> open(
        const stacking::models::ModelSource& model
    ) const;

    HeldOutTexts read_;
    stacking::composition::WindowSizes sizes_;
    std::shared_ptr<Workers> workers_;
};

}  // namespace swarm::cli
