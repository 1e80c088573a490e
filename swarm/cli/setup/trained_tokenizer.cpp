#include "swarm/cli/setup/trained_tokenizer.hpp"

#include "stacking/tokenizers/merges/bpe_trainer.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/training/tokenizer_names.hpp"

#include <utility>

namespace swarm::cli {

namespace tokenizers = stacking::tokenizers;

Result<tokenizers::ModelTokenizer> train_tokenizer(std::string_view text, const std::string& name) {
    if (const auto tokens = run::sentencepiece_tokens(name)) {
        SWARM_TRY(auto made, tokenizers::SentencePiece::train(text, *tokens));
        return tokenizers::ModelTokenizer(std::move(made));
    }
    if (const auto tokens = run::bpe_tokens(name)) {
        SWARM_TRY(auto vocabulary, tokenizers::train_bpe(text, *tokens));
        SWARM_TRY(auto made, tokenizers::ByteBpe::make(std::move(vocabulary)));
        return tokenizers::ModelTokenizer(std::move(made));
    }
    return Error{
        ErrorCode::Usage,
        Reaction::Reject,
        "the tokenizer \"" + name + "\" is none that is trained: spm:N or bpe:N"};
}

}  // namespace swarm::cli
