// The rows of a Parquet file one after another: the texts of a column, or chats.
// Invariant: the rows from a row on are the same whether the reader came there by reading or was
// made there. Row groups are read in order, and one at a time.
// Threading: one thread. Errors: Malformed (Reject): the rest of the file cannot be read; those of
// FileBytes. A row that is none has a fault, and the next one can be read.
// Memory: that of a ColumnReader, two for chats; a row of at most kLineBytesMax.
// Cost: about 1 GB/s of texts, plus unpacking. A reader made at row n skips whole pages of texts;
// for chats it reads the rows of one row group.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/data_file.hpp"
#include "swarm/data/encoder.hpp"
#include "swarm/data/parquet/column_reader.hpp"
#include "swarm/data/parquet/columns.hpp"
#include "swarm/data/parquet/file_bytes.hpp"
#include "swarm/data/parquet/footer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::data::parquet {

/// A row, valid until the next call.
struct Row {
    std::string_view text{};
    std::span<const ChatMessage> chat{};
    std::optional<std::string> fault{};  // why it is none
};

class RowReader {
 public:
    /// `field`: the name of the column. `from_row`: rows before the first that is read.
    static Result<std::unique_ptr<RowReader>> open(
        std::unique_ptr<FileBytes> file,
        const std::string& field,
        RowKind rows,
        std::uint64_t from_row
    );

    /// Returns no value behind the last row.
    Result<std::optional<Row>> next();

    /// Bytes of the file that are behind the reader, packed as they are.
    [[nodiscard]] std::uint64_t consumed() const;

 private:
    enum class Content { Missing, Text, NotUtf8 };

    struct Message {
        bool is_there = false;  // it is not null
        bool has_role = false;
        std::string role{};  // its first bytes
        Content content = Content::Missing;
    };

    /// The list of a row.
    struct List {
        bool is_there = false;
        std::size_t messages = 0;

        friend bool operator==(const List&, const List&) = default;
    };

    RowReader(std::unique_ptr<FileBytes> file, std::string field);

    Result<> find_columns(const Footer& footer, RowKind rows);
    Result<> go_to(std::uint64_t row);
    Result<> open_group(std::uint64_t skipped);
    Result<> end_group();
    Result<std::optional<Row>> next_row();
    Result<Row> next_text();
    Result<Row> next_chat();
    Result<List> read_roles();
    Result<List> read_contents();
    [[nodiscard]] std::optional<std::string> judge(const List& list);
    [[nodiscard]] std::optional<std::string> judge_message(std::size_t index);
    [[nodiscard]] Error in_group(const Error& error) const;

    std::unique_ptr<FileBytes> file_;
    std::string field_;
    std::vector<RowGroup> groups_;
    std::size_t group_ = 0;              // index of the one that is read, or comes next
    std::uint64_t group_left_ = 0;       // rows
    bool is_open_ = false;               // the row group has begun and not ended
    std::vector<ColumnReader> columns_;  // roles and contents, for chats
    std::optional<ChatColumns> chats_;
    std::vector<Message> messages_;  // the first kMessagesMax of a row
    std::vector<ChatMessage> chat_;
    bool is_too_long_ = false;
};

}  // namespace swarm::data::parquet
