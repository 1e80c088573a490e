// An answer as people see it: text on stdout as its tokens come, speeds on stderr.
// Threading: one thread.
#pragma once

#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/utf8.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace swarm::cli {

/// Writes text as its tokens come, and keeps it. Bytes wait until their character is whole; nothing
/// is written before the first one.
class TextStream {
 public:
    /// `before`: stands before what is generated.
    TextStream(const stacking::tokenizers::ModelTokenizer& tokenizer, std::string before)
        : tokenizer_(tokenizer), before_(std::move(before)) {}

    void add(std::uint32_t token);
    /// The rest, and a line's end; all that was written.
    std::string finish();

 private:
    void write(const std::string& text);

    const stacking::tokenizers::ModelTokenizer& tokenizer_;
    stacking::tokenizers::Utf8Stream stream_;
    std::string before_;
    std::string text_;
};

/// "decode      47 tokens     1.92 s     24.5 tokens/s"
std::string timing_line(const char* what, std::size_t tokens, double seconds);

/// Tokens per second for --json; null when nothing was counted.
boost::json::value rate_as_json(std::size_t tokens, double seconds);

}  // namespace swarm::cli
