// `swarm generate --model` and `--stack` without --join: a whole model, or several as one, answers
// in this process.
// Threading: the main thread, which computes. Errors: an exit code, and one line on stderr.
#pragma once

#include "stacking/composition/text_reader.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {

class OpenStack;

/// Writes the text to stdout as it comes, and the speeds to stderr. Returns the exit code.
int generate_alone(const GenerateOptions& options, Console& console);

/// Says which exits are used because the run was trained with them.
void tell_trained_exits(const std::vector<std::uint32_t>& exits, Console& console);

/// A model or a stack that is open in this process, to be asked again and again.
struct AloneModel {
    std::unique_ptr<stacking::composition::TextReader> reader;
    std::shared_ptr<const stacking::tokenizers::ModelTokenizer> tokenizer;
    std::vector<std::uint32_t> end_tokens;
    std::vector<std::uint32_t> read_before{};              // tokens that the reader knows
    stacking::composition::ModelReader* stages = nullptr;  // the reader, where it is one model
    std::shared_ptr<OpenStack> by_text{};  // a stack whose texts need some members each
};

Result<AloneModel> open_alone(const GenerateOptions& options, Console& console);

/// Answers `options.messages`: writes the text to stdout as it comes, and returns it. The beginning
/// that the conversation shares with the one before is not read again. The answer ends early when
/// `goes_on` says no.
Result<std::string> answer_alone(
    AloneModel& model,
    const GenerateOptions& options,
    const std::function<bool()>& goes_on,
    Console& console
);

/// Returns the same tokens and prints nothing: an answer of peers must equal them.
Result<std::vector<std::uint32_t>> ids_alone(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
