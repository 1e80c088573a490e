#include "swarm/data/document_reader.hpp"

#include "swarm/base/try.hpp"
#include "swarm/data/chat_rows.hpp"
#include "swarm/data/parquet/row_reader.hpp"
#include "swarm/data/utf8.hpp"

#include <boost/json/error.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace swarm::data {
namespace {

namespace json = boost::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kParsedBytes = 1U << 20;

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

std::string BadLine::text() const {
    return file.string() + (line == 0 ? "" : ":" + std::to_string(line)) + ": " + reason;
}

DocumentReader::DocumentReader(
    const std::vector<InputFile>& files, std::string field, InputPlace from, RowKind rows
)
    : files_(files),
      field_(std::move(field)),
      rows_(rows),
      place_(from),
      parsed_(kParsedBytes) {
    for (std::size_t i = 0; i < files.size() && i < place_.file; ++i) {
        consumed_before_ += files[i].bytes;
    }
}

DocumentReader::~DocumentReader() = default;

std::uint64_t DocumentReader::consumed() const {
    const std::uint64_t rows = row_reader_ == nullptr ? 0 : row_reader_->consumed();
    return consumed_before_ + (stream_ == nullptr ? rows : stream_->consumed());
}

Result<DocumentReader::Item> DocumentReader::next() {
    while (place_.file < files_.size()) {
        const InputFormat format = files_[place_.file].format;
        const bool is_text = format == InputFormat::Text;
        const bool is_table = format == InputFormat::Parquet;
        if (is_text && rows_ == RowKind::Chat) {
            Item other = bad("is neither JSONL nor Parquet, and its source has chats", 0);
            end_file();
            return other;
        }
        auto item = is_text ? next_text() : is_table ? next_row() : next_line();
        if (item.has_error() && item.error().code == ErrorCode::Malformed) {
            // The rest of a damaged file counts as one bad line.
            const bool is_whole = is_text || (is_table && row_reader_ == nullptr);
            Item lost = bad(item.error().detail, is_whole ? 0 : place_.lines + 1);
            end_file();
            return lost;
        }
        if (item.has_error() || *item) {
            return item;
        }
        end_file();
    }
    return Item();
}

Result<> DocumentReader::open_file() {
    SWARM_TRY(stream_, open_stream(files_[place_.file], place_.offset));
    begin_ = 0;
    end_ = 0;
    if (place_.offset == 0) {
        bytes_.resize(std::max(bytes_.size(), kReadBytes));
        while (end_ < kByteOrderMark.size()) {
            SWARM_TRY(const bool came, fill());
            if (!came) {
                break;
            }
        }
        if (std::string_view(bytes_.data(), end_).starts_with(kByteOrderMark)) {
            begin_ = kByteOrderMark.size();
            place_.offset = begin_;
        }
    }
    return {};
}

void DocumentReader::end_file() {
    consumed_before_ += files_[place_.file].bytes;
    stream_.reset();
    row_reader_.reset();
    begin_ = 0;
    end_ = 0;
    place_ = {place_.file + 1, 0, 0, false};
}

DocumentReader::Item DocumentReader::bad(std::string reason, std::uint64_t line) const {
    return BadLine{files_[place_.file].path, line, std::move(reason)};
}

Result<bool> DocumentReader::fill() {
    if (begin_ > 0) {
        std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    SWARM_TRY(const std::size_t count, stream_->read(std::span(bytes_).subspan(end_)));
    end_ += count;
    return count > 0;
}

Result<DocumentReader::Item> DocumentReader::next_line() {
    bytes_.resize(std::max(bytes_.size(), kReadBytes));
    if (stream_ == nullptr) {
        SWARM_TRY(open_file());
    }
    while (true) {
        const InputPlace before = place_;
        SWARM_TRY(const auto line, read_line());
        if (!line) {
            return Item();
        }
        if (line->too_long || !is_blank(line->text)) {
            return document_of(*line, before);
        }
    }
}

/// Invariant: place_ is behind the line that is returned.
Result<std::optional<DocumentReader::Line>> DocumentReader::read_line() {
    long_line_.clear();
    Line line;
    std::uint64_t length = 0;
    bool in_parts = false;
    while (true) {
        const char* const start = bytes_.data() + begin_;
        const void* const found =
            end_ == begin_ ? nullptr : std::memchr(start, '\n', end_ - begin_);
        const std::size_t count =
            found == nullptr ? end_ - begin_
                             : static_cast<std::size_t>(static_cast<const char*>(found) - start);
        length += count;
        line.too_long = length > kLineBytesMax;
        if (found != nullptr && !in_parts) {
            line.text = {start, count};
        } else if (!line.too_long) {
            long_line_.append(start, count);
        }
        begin_ += count;
        in_parts = in_parts || found == nullptr;
        if (found != nullptr) {
            ++begin_;
            ++length;
            break;
        }
        SWARM_TRY(const bool came, fill());
        if (!came) {
            break;
        }
    }
    if (length == 0) {
        return std::optional<Line>();
    }
    if (in_parts) {
        line.text = long_line_;
    }
    place_.offset += length;
    ++place_.lines;
    return std::optional(line);
}

Result<DocumentReader::Item> DocumentReader::document_of(
    const Line& line, const InputPlace& before
) {
    const std::uint64_t number = before.lines + 1;
    if (line.too_long) {
        return bad("has more than " + std::to_string(kLineBytesMax >> 20) + " MiB", number);
    }
    // The parsed line lies in memory that the next line uses again.
    json::monotonic_resource memory(parsed_.data(), parsed_.size());
    parser_.reset(&memory);
    json::error_code code;
    parser_.write(line.text.data(), line.text.size(), code);
    if (code) {
        parser_.reset();
        // The parser calls such bytes a syntax error.
        const bool is_text = Utf8Check().add(line.text);
        return bad(is_text ? "is no JSON: " + code.message() : "is no UTF-8 text", number);
    }
    const json::value parsed = parser_.release();
    parser_.reset();
    if (!parsed.is_object()) {
        return bad("is no JSON object", number);
    }
    const json::value* const field = parsed.get_object().if_contains(field_);
    if (field == nullptr) {
        return bad("has no field \"" + field_ + "\"", number);
    }
    if (rows_ == RowKind::Chat) {
        return chat_of(*field, before);
    }
    if (!field->is_string()) {
        return bad("has no text in the field \"" + field_ + "\"", number);
    }
    const json::string& text = field->get_string();
    document_.assign(text.data(), text.size());
    return Item(Piece{document_, true, true, before});
}

DocumentReader::Item DocumentReader::chat_of(
    const json::value& field, const InputPlace& before
) {
    if (auto fault = read_chat(field, chat_)) {
        return bad(*std::move(fault), before.lines + 1);
    }
    return chat_piece(chat_, before);
}

DocumentReader::Item DocumentReader::chat_piece(
    std::span<const ChatMessage> chat, const InputPlace& before
) {
    document_.clear();
    for (const ChatMessage& message : chat) {
        document_ += message.content;
        document_ += '\n';
    }
    return Piece{document_, true, true, before, chat};
}

Result<DocumentReader::Item> DocumentReader::next_row() {
    if (row_reader_ == nullptr) {
        SWARM_TRY(auto file, parquet::open_file_bytes(files_[place_.file].path));
        SWARM_TRY(
            row_reader_, parquet::RowReader::open(std::move(file), field_, rows_, place_.lines)
        );
    }
    SWARM_TRY(auto row, row_reader_->next());
    if (!row) {
        return Item();
    }
    const InputPlace before = place_;
    ++place_.lines;
    if (row->fault) {
        return bad(*std::move(row->fault), place_.lines);
    }
    if (rows_ == RowKind::Chat) {
        return chat_piece(row->chat, before);
    }
    return Item(Piece{row->text, true, true, before});
}

Result<bool> DocumentReader::is_valid_text(const InputFile& file) {
    SWARM_TRY(const auto stream, open_stream(file, 0));
    Utf8Check check;
    while (true) {
        SWARM_TRY(const std::size_t count, stream->read(bytes_));
        if (count == 0) {
            return check.finish();
        }
        if (!check.add({bytes_.data(), count})) {
            return false;
        }
    }
}

Result<DocumentReader::Item> DocumentReader::next_text() {
    // One byte more tells whether the document ends here.
    constexpr std::size_t kRoom = kPieceBytesMax + 1;
    bytes_.resize(std::max(bytes_.size(), kRoom));
    if (stream_ == nullptr) {
        if (!place_.within) {
            SWARM_TRY(const bool is_valid, is_valid_text(files_[place_.file]));
            if (!is_valid) {
                Item invalid = bad("is no UTF-8 text", 0);
                end_file();
                return invalid;
            }
        }
        SWARM_TRY(open_file());
    }
    while (end_ - begin_ < kRoom) {
        SWARM_TRY(const bool came, fill());
        if (!came) {
            break;
        }
    }
    Piece piece{{bytes_.data() + begin_, end_ - begin_}, !place_.within, true, place_};
    if (piece.text.empty()) {
        return Item();
    }
    piece.text = piece.text.substr(0, piece_end(piece.text, kPieceBytesMax));
    piece.ends = piece.text.size() == end_ - begin_;
    begin_ += piece.text.size();
    place_.offset += piece.text.size();
    place_.within = !piece.ends;
    return Item(piece);
}

}  // namespace swarm::data
