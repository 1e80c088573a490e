// The data file: a TOML file that names the sources of training data and the tokenizer.
//   tokenizer = "smollm2"                 # bytes, spm:N, bpe:N, spm:FILE, or a model
//   end_token = "<|endoftext|>"           # or an id; default: the tokenizer's own
//   chat_template = "lines"               # or "model": that of the tokenizer's model (default)
//   [[source]]
//   name = "prose"
//   paths = ["prose/*.parquet", "notes"]  # files, globs and folders, from the data file's folder
//   rows = "text"                         # or "chat": each line or row is a list of messages
//   field = "text"                        # of each JSON line, or the column; of chats "messages"
//   weight = 0.7
//   bad_lines = "skip"                    # or "fatal"
// Threading: values. Errors: Usage (Reject), one line "FILE:LINE: key what it may be".
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/limits.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace swarm::data {

/// A line, or a text file, that cannot be read is counted and skipped, or ends the build.
enum class BadLines { Skip, Fatal };

/// The content of a line of JSONL, or a row of Parquet.
enum class RowKind { Text, Chat };

struct Source {
    std::string name;
    std::vector<std::string> paths;
    std::string field = "text";
    /// All sources have a weight or none: then each sample of all sources comes once per epoch.
    std::optional<double> weight{};
    BadLines bad_lines = BadLines::Fatal;
    RowKind rows = RowKind::Text;
};

/// How chats become texts.
enum class ChatTemplateName { Model, Lines };

/// No value: the tokenizer's own; a number: the id; a text: the token with this text.
using EndToken = std::variant<std::monostate, std::uint32_t, std::string>;

struct DataFile {
    std::string tokenizer;
    EndToken end_token{};
    std::uint64_t shard_tokens = kShardTokens;
    std::vector<Source> sources;
    ChatTemplateName chat_template = ChatTemplateName::Model;

    [[nodiscard]] bool has_chats() const;
};

/// A source's name begins the names of its files: 1 to 40 of a-z, 0-9, - and _.
bool is_source_name(std::string_view name);

/// `name`: the file's, for errors.
Result<DataFile> parse_data_file(std::string_view toml, std::string_view name);

}  // namespace swarm::data
