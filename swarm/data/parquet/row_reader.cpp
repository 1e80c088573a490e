#include "swarm/data/parquet/row_reader.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/data/chat_rows.hpp"
#include "swarm/data/limits.hpp"
#include "swarm/data/utf8.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace swarm::data::parquet {
namespace {

/// A role that is longer is unknown, and an error shows its first bytes.
constexpr std::size_t kRoleBytesMax = 64;

bool is_utf8(std::string_view text) {
    Utf8Check check;
    check.add(text);
    return check.finish();
}

std::string too_long() {
    return "has more than " + std::to_string(kLineBytesMax >> 20) + " MiB";
}

/// Calls `take` with each message of the row, its index and whether it is not null. Requires that
/// the column is at the first entry of the row. ENSURES: it is at that of the next, or at the end.
template <class Take>
Result<std::size_t> each_message(ColumnReader& column, const ChatColumns& chats, const Take& take) {
    std::size_t messages = 0;
    if (!column.has_entry()) {
        return damaged("a column has fewer rows than the row group");
    }
    if (column.entry().repetition != 0) {
        return damaged("a row of \"" + chats.role.name + "\" begins within another");
    }
    while (true) {
        const bool is_item = column.entry().definition >= chats.item_level;
        if (is_item) {
            take(messages, column.entry().definition >= chats.message_level);
            ++messages;
        }
        SWARM_TRY(const bool came, column.advance());
        if (!came || column.entry().repetition == 0) {
            return messages;
        }
        if (!is_item || column.entry().definition < chats.item_level) {
            return damaged("a list of messages goes on without a message");
        }
    }
}

}  // namespace

RowReader::RowReader(std::unique_ptr<FileBytes> file, std::string field)
    : file_(std::move(file)), field_(std::move(field)) {}

Result<std::unique_ptr<RowReader>> RowReader::open(
    std::unique_ptr<FileBytes> file, const std::string& field, RowKind rows, std::uint64_t from_row
) {
    std::unique_ptr<RowReader> reader(new RowReader(std::move(file), field));
    {
        SWARM_TRY(const Footer footer, read_footer(*reader->file_));
        SWARM_TRY(reader->find_columns(footer, rows));
    }
    SWARM_TRY(reader->go_to(from_row));
    return reader;
}

Result<> RowReader::find_columns(const Footer& footer, RowKind rows) {
    std::array<std::uint32_t, kColumnsReadMax> leaves{};
    if (rows == RowKind::Text) {
        SWARM_TRY(const LeafColumn column, find_text_column(footer, field_));
        leaves[0] = column.leaf;
        columns_.emplace_back(*file_, column);
    } else {
        SWARM_TRY(chats_, find_chat_columns(footer, field_));
        leaves = {chats_->role.leaf, chats_->content.leaf};
        columns_.emplace_back(*file_, chats_->role);
        columns_.emplace_back(*file_, chats_->content);
    }
    SWARM_TRY(groups_, read_row_groups(footer, std::span(leaves).first(columns_.size())));
    return {};
}

Result<> RowReader::go_to(std::uint64_t row) {
    while (group_ < groups_.size() && row >= groups_[group_].rows) {
        row -= groups_[group_].rows;
        ++group_;
    }
    if (row == 0) {
        return {};
    }
    if (group_ == groups_.size()) {
        return damaged("has fewer rows than it had");
    }
    auto opened = open_group(row);
    return opened.has_error() ? in_group(opened.error()) : opened;
}

std::uint64_t RowReader::consumed() const {
    std::uint64_t most = 0;
    for (const ColumnReader& column : columns_) {
        most = std::max(most, column.position());
    }
    return most;
}

Error RowReader::in_group(const Error& error) const {
    return error.code == ErrorCode::Malformed
               ? damaged("row group " + std::to_string(group_) + ": " + error.detail)
               : error;
}

Result<std::optional<Row>> RowReader::next() {
    auto row = next_row();
    if (row.has_error()) {
        return in_group(row.error());
    }
    return row;
}

Result<> RowReader::open_group(std::uint64_t skipped) {
    const RowGroup& group = groups_[group_];
    group_left_ = group.rows;
    is_open_ = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::uint64_t values = group.chunks[i].values;
        if (chats_ ? values < group.rows : values != group.rows) {
            return damaged("a column has another number of values than the row group has rows");
        }
        columns_[i].open(group.chunks[i]);
        if (chats_) {
            SWARM_TRY(columns_[i].advance());
        }
    }
    if (!chats_) {
        group_left_ -= skipped;
        return columns_[0].skip(skipped);
    }
    for (; skipped > 0; --skipped) {
        SWARM_TRY(next_chat());
    }
    return {};
}

Result<> RowReader::end_group() {
    for (ColumnReader& column : columns_) {
        if (!chats_) {
            SWARM_TRY(column.advance());
        }
        if (column.has_entry()) {
            return damaged("a column has more rows than the row group");
        }
    }
    is_open_ = false;
    ++group_;
    return {};
}

Result<std::optional<Row>> RowReader::next_row() {
    while (!is_open_ || group_left_ == 0) {
        if (is_open_) {
            SWARM_TRY(end_group());
        }
        while (group_ < groups_.size() && groups_[group_].rows == 0) {
            ++group_;
        }
        if (group_ == groups_.size()) {
            return std::optional<Row>();
        }
        SWARM_TRY(open_group(0));
    }
    if (chats_) {
        SWARM_TRY(auto chat, next_chat());
        return std::optional(std::move(chat));
    }
    SWARM_TRY(auto text, next_text());
    return std::optional(std::move(text));
}

Result<Row> RowReader::next_text() {
    ColumnReader& column = columns_[0];
    SWARM_TRY(column.advance());
    if (!column.has_entry()) {
        return damaged("a column has fewer rows than the row group");
    }
    --group_left_;
    const std::string_view text = column.entry().text;
    if (!column.has_text()) {
        return Row{.fault = "has no text in the field \"" + field_ + "\""};
    }
    if (text.size() > kLineBytesMax) {
        return Row{.fault = too_long()};
    }
    if (!is_utf8(text)) {
        return Row{.fault = "has no UTF-8 text in the field \"" + field_ + "\""};
    }
    return Row{.text = text};
}

Result<Row> RowReader::next_chat() {
    SWARM_ASSERT(group_left_ > 0);
    --group_left_;
    SWARM_TRY(const List roles, read_roles());
    SWARM_TRY(const List contents, read_contents());
    if (roles != contents) {
        return damaged("the roles and the contents of its chats do not belong together");
    }
    if (auto fault = judge(roles)) {
        return Row{.fault = std::move(fault)};
    }
    return Row{.chat = chat_};
}

Result<RowReader::List> RowReader::read_roles() {
    ColumnReader& column = columns_[0];
    List list{column.has_entry() && column.entry().definition >= chats_->list_level, 0};
    messages_.clear();
    const auto take = [&](std::size_t index, bool is_there) {
        if (index < kMessagesMax) {
            Message& message = messages_.emplace_back();
            message.is_there = is_there;
            message.has_role = column.has_text();
            message.role = column.entry().text.substr(0, kRoleBytesMax);
        }
    };
    SWARM_TRY(list.messages, each_message(column, *chats_, take));
    return list;
}

Result<RowReader::List> RowReader::read_contents() {
    ColumnReader& column = columns_[1];
    List list{column.has_entry() && column.entry().definition >= chats_->list_level, 0};
    std::size_t room = kLineBytesMax;
    chat_.clear();
    is_too_long_ = false;
    const auto take = [&](std::size_t index, bool) {
        const std::string_view text = column.entry().text;
        is_too_long_ = is_too_long_ || text.size() > room;
        if (index >= messages_.size() || is_too_long_) {
            return;
        }
        room -= text.size();
        chat_.emplace_back();
        if (column.has_text()) {
            messages_[index].content = is_utf8(text) ? Content::Text : Content::NotUtf8;
            chat_.back().content = text;
        }
    };
    SWARM_TRY(list.messages, each_message(column, *chats_, take));
    return list;
}

std::optional<std::string> RowReader::judge(const List& list) {
    if (is_too_long_) {
        return too_long();
    }
    if (!list.is_there) {
        return kNoList;
    }
    if (auto fault = judge_count(list.messages)) {
        return fault;
    }
    SWARM_ASSERT(chat_.size() == list.messages && messages_.size() == list.messages);
    for (std::size_t i = 0; i < list.messages; ++i) {
        if (const auto fault = judge_message(i)) {
            return "message " + std::to_string(i + 1) + " " + *fault;
        }
    }
    return judge_answers(chat_);
}

std::optional<std::string> RowReader::judge_message(std::size_t index) {
    const Message& message = messages_[index];
    if (!message.is_there) {
        return kNoObject;
    }
    const auto role =
        message.has_role ? std::optional<std::string_view>(message.role) : std::nullopt;
    if (auto fault = read_role(role, chat_[index].role)) {
        return fault;
    }
    if (message.content == Content::Text) {
        return std::nullopt;
    }
    return message.content == Content::Missing ? kNoContent : "has no UTF-8 text in \"content\"";
}

}  // namespace swarm::data::parquet
