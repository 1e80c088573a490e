// The text of a training run: its corpus as token ids, and the tokenizer that made them.
// Invariant: the tokens are a function of the text and config.tokenizer alone, so that --single, a
// resumed run and another machine read the same tokens.
// Threading: one thread. Errors: NotFound, TooLarge, Malformed (too short), Mismatch (the text
// gives no such tokenizer, or another one than run.tokenizer_sha256); Reject.
// Memory: the text, and 2 bytes per token. Cost: a new tokenizer takes 3 s for 4 MB and spm:2000.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/batch_plan.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <string>

namespace swarm::cli {

struct TrainingText {
    run::Corpus corpus;
    std::uint64_t bytes = 0;  // size of the text
    std::string tokenizer;    // bytes of tokenizer.model; empty: a token is a byte
};

/// Loads config.corpus, or the demo corpus from the cache; the oracle model needs no text. Trains
/// the tokenizer that `config` names, unless `tokenizer` holds the bytes of its file, and writes
/// its hash to config.tokenizer_sha256.
Result<TrainingText> load_text(run::RunConfig& config, std::string tokenizer = {});

}  // namespace swarm::cli
