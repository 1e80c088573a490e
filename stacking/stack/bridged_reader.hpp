// Two models with a bridge between them, as one: the first one reads the text, its last layer's
// output goes over the bridge into the second one's first layer, and that one says what follows.
// Threading: one thread. Errors: Mismatch (Reject): the models are not those that the bridge fits,
// or have other tokens; those of SessionCompute. Cost: both models, and the bridge, per token.
#pragma once

#include "stacking/stack/bridged_input.hpp"
#include "stacking/stack/text_reader.hpp"

namespace stacking::stack {

class BridgedReader final : public TextReader {
 public:
    struct Parts {
        std::unique_ptr<SessionCompute> lower;  // takes tokens, has no head
        std::unique_ptr<SessionCompute> upper;  // has no embedding
        ReadEmbedding embed;                    // of the second model
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
    CacheId cache_{0};  // of the text that is being read; 0: none yet
    std::uint32_t filled_ = 0;
};

}  // namespace stacking::stack
