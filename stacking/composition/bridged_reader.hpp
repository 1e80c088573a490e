// Two models with a bridge between them, as one reader. The first model reads the text, the output
// of its last layer goes over the bridge into the second model's first layer, and the second model
// gives the scores.
// Threading: one thread. Errors: Mismatch (Reject): the bridge does not fit the models, or they
// have different vocabularies; those of SessionCompute. Cost: both models and the bridge, per
// token.
#pragma once

#include "stacking/composition/bridged_input.hpp"
#include "stacking/composition/text_reader.hpp"

namespace stacking::composition {

class BridgedReader final : public TextReader {
 public:
    struct Parts {
        std::unique_ptr<SessionCompute> lower;  // first model: takes tokens, has no head
        std::unique_ptr<SessionCompute> upper;  // second model: has no embedding
        ReadEmbedding embed;                    // second model's
        std::uint32_t lower_vocabulary = 0;
        Bridge bridge;
    };

    static swarm::Result<std::unique_ptr<BridgedReader>> make(Parts parts);

    [[nodiscard]] std::uint32_t vocabulary() const override;
    [[nodiscard]] std::uint32_t context() const override;
    [[nodiscard]] swarm::Result<> begin(std::uint32_t tokens) override;
    [[nodiscard]] swarm::Result<std::vector<float>> read(
        std::span<const TokenId> tokens, Wanted wanted
    ) override;

 private:
    explicit BridgedReader(Parts parts);

    std::unique_ptr<SessionCompute> lower_;
    std::unique_ptr<SessionCompute> upper_;
    BridgedInput input_;
    CacheId cache_{0};  // cache of the current text; 0: no text yet
    std::uint32_t filled_ = 0;
};

}  // namespace stacking::composition
