// The documents of the files of one source, one after another, in pieces of a bounded size.
// Invariant: the pieces from a position on are the same whether the reader came there by reading or
// was made there, so a build that was killed goes on where its last whole shard ends.
//   .txt .md    the file is a document, checked as a whole before its first piece comes; an empty
//               file has none
//   .jsonl*     each line is a JSON object, whose field is a document; blank lines are none
//   .parquet    each row is a document, in the column with the name of the field
// Of a source of chats, each line or row is a chat, and other files are bad.
// Threading: one thread. Errors: StorageFailed, NotFound: the disk; all else is a BadLine.
// Memory: about four times kLineBytesMax at most, and more for pages (parquet/column_reader.hpp).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/byte_stream.hpp"
#include "swarm/data/data_file.hpp"
#include "swarm/data/encoder.hpp"
#include "swarm/data/input_files.hpp"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace swarm::data {

namespace parquet {
class RowReader;
}  // namespace parquet

/// A place between two pieces.
struct InputPlace {
    std::uint64_t file = 0;    // index among the files
    std::uint64_t offset = 0;  // unpacked bytes before it; 0 in a Parquet file
    std::uint64_t lines = 0;   // lines, or rows, before it
    bool within = false;       // a document has begun and not ended

    friend bool operator==(const InputPlace&, const InputPlace&) = default;
};

/// A document, or a part of one. `text` and `chat` are valid until the next call.
struct Piece {
    std::string_view text;  // the contents of a chat, a line each
    bool begins = true;
    bool ends = true;
    InputPlace before{};
    std::span<const ChatMessage> chat{};
};

/// A line, a row or a file without a document.
struct BadLine {
    std::filesystem::path file;
    std::uint64_t line = 0;  // or row, from 1; 0: the whole file
    std::string reason;

    /// "FILE:LINE: reason"
    [[nodiscard]] std::string text() const;
};

class DocumentReader {
 public:
    /// `files` outlives the reader.
    DocumentReader(
        const std::vector<InputFile>& files,
        std::string field,
        InputPlace from = {},
        RowKind rows = RowKind::Text
    );
    DocumentReader(const DocumentReader&) = delete;
    DocumentReader& operator=(const DocumentReader&) = delete;
    ~DocumentReader();

    /// Returns no value at the end of the last file.
    Result<std::optional<std::variant<Piece, BadLine>>> next();

    /// Bytes of this source's files that are behind the reader, packed as they are.
    [[nodiscard]] std::uint64_t consumed() const;

 private:
    using Item = std::optional<std::variant<Piece, BadLine>>;

    /// The next line, or no value at the end of the file.
    struct Line {
        std::string_view text;
        bool too_long = false;
    };

    Result<Item> next_line();
    Result<Item> next_text();
    Result<Item> next_row();
    Result<Item> document_of(const Line& line, const InputPlace& before);
    Item chat_of(const boost::json::value& field, const InputPlace& before);
    Item chat_piece(std::span<const ChatMessage> chat, const InputPlace& before);
    Result<std::optional<Line>> read_line();
    /// Reads more bytes behind those that are left; returns whether some came.
    Result<bool> fill();
    Result<bool> is_valid_text(const InputFile& file);
    Result<> open_file();
    void end_file();
    [[nodiscard]] Item bad(std::string reason, std::uint64_t line) const;

    const std::vector<InputFile>& files_;
    std::string field_;
    RowKind rows_;
    InputPlace place_;
    std::uint64_t consumed_before_ = 0;  // bytes of the files before this one
    std::unique_ptr<ByteStream> stream_;
    std::unique_ptr<parquet::RowReader> row_reader_;  // in place of the stream
    std::vector<char> bytes_;
    std::size_t begin_ = 0;  // the bytes in [begin_, end_) are read and not used
    std::size_t end_ = 0;
    std::string long_line_;  // one that is in several reads
    std::string document_;
    std::vector<ChatMessage> chat_;
    boost::json::parser parser_;
    std::vector<unsigned char> parsed_;  // the first memory of what the parser makes
};

}  // namespace swarm::data
