// What a run trains on: its corpus as token ids, and the tokenizer that made them.
// Invariant: a function of the text, config.tokenizer and nothing else, so that --single, a resumed
// run and another machine read the same tokens.
// Threading: one thread. Errors: NotFound, TooLarge, Malformed (too short), Mismatch (the text
// gives no such tokenizer, or another one than run.tokenizer_sha256); Reject.
// Memory: the text, and 2 bytes per token. Cost: of 4 MB and spm:2000, 3 s for a new tokenizer.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/batch_plan.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <string>

namespace swarm::cli {

struct TrainingText {
    run::Corpus corpus;
    std::uint64_t bytes = 0;  // of the text
    std::string tokenizer;    // the bytes of tokenizer.model; empty: tokens are bytes
};

/// Of config.corpus, or the demo corpus below the cache; the oracle model needs none. Trains the
/// tokenizer that `config` names, unless `tokenizer` has its file, and says in
/// config.tokenizer_sha256 which one it is.
Result<TrainingText> load_text(run::RunConfig& config, std::string tokenizer = {});

}  // namespace swarm::cli
