// Chats of a data file as tokens, of which only the answers count for the loss.
//   model   the chat template of the tokenizer's model. An answer begins where the template, asked
//           to begin one, ends, and ends with the first end token behind that. The document's end
//           token counts where it is what ends the last answer.
//   lines   "User: ...", "System: ..." and "Tool: ..." with a line feed behind each; "Assistant:",
//           then a space and the answer, which count together with the end token behind them
// Invariant: names of special tokens within messages are text. The same chat gives the same tokens
// on every day: templates that tell the date tell that of 1970.
// Threading: one thread. Errors (Reject): Usage: the model has no template; those of ChatTemplate;
// of a chat: Mismatch: the template writes earlier messages otherwise once others follow, or puts
// no end token behind an answer. Cost: of a chat: a rendering and an encoding for each answer.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/data/data_tokenizer.hpp"
#include "swarm/data/data_file.hpp"

namespace swarm::cli {

/// Gives the tokenizer's encoder the template of the data file.
Result<> add_chat_template(data::ChatTemplateName name, DataTokenizer& tokenizer);

}  // namespace swarm::cli
