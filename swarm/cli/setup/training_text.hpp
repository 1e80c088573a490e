// The text of a training run: its corpus as token ids, or the rows of a folder of `swarm data
// build`, and the tokenizer that made them.
// Invariant: the tokens are a function of the text and config.tokenizer alone, so that --single, a
// resumed run and another machine read the same tokens.
// Threading: one thread. Errors: NotFound, TooLarge, Malformed (too short), Mismatch (the text is
// not that of run.corpus_sha256, or has another tokenizer than the run); Reject.
// Memory: the text, and 4 bytes per token; a folder is mapped. Cost: SHA-256 of the text; a new
// tokenizer takes 3 s for 4 MB and spm:2000.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/setup/data_rows.hpp"
#include "swarm/run/batch_plan.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/training/held_out.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {

struct TrainingText {
    run::Corpus corpus;
    std::unique_ptr<DataRows> rows{};  // read in place of the corpus, which is empty then
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;  // size of the text
    std::string tokenizer;    // bytes of the tokenizer's file; empty: a token is a byte
    std::vector<run::HeldOutText> held_out{};  // the texts of config.eval
};

/// The file or folder of a corpus.
struct CorpusFile {
    std::filesystem::path path;
    std::string notice;  // says which file was taken, where another one might be meant
};

/// Returns where run.corpus lies: relative to `folder`, that of the run file, or, where it is not
/// there, in the current folder. An empty name stands for the demo corpus in the cache.
CorpusFile find_corpus(const std::string& corpus, const std::filesystem::path& folder);

/// Returns the SHA-256 of a file, which is read piece by piece. Error: NotFound (Reject).
Result<std::string> digest_of_file(const std::filesystem::path& path);

/// Loads config.corpus, a path from the current folder, or the demo corpus from the cache; the
/// oracle model needs no text. Trains the tokenizer that `config` names, unless `tokenizer` holds
/// the bytes of its file, or the corpus is a folder, which has one. Writes the hashes of both to
/// `config`, or compares them with those that it has, and does find_document_end().
Result<TrainingText> load_text(run::RunConfig& config, std::string tokenizer = {});

/// Loads held-out texts as tokens of the run: `tokenizer` holds the bytes of its tokenizer's file.
/// Errors: those of load_text().
Result<std::vector<run::HeldOutText>> load_held_out(
    const run::RunConfig& config,
    const std::vector<std::filesystem::path>& paths,
    const std::string& tokenizer
);

}  // namespace swarm::cli
