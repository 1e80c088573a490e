// Which columns of a Parquet file hold the texts, or the chats, of a source.
// A text is a column of its own (BYTE_ARRAY). A chat is a list of groups with the columns "role"
// and "content", in three levels as the format wants it, or in two as older writers do it:
//     group messages (LIST) { repeated group list { group element { role; content; } } }
//     group messages (LIST) { repeated group array { role; content; } }
// Invariant: a column is repeated as often as its reader expects: a text never, a chat once.
// Threading: pure functions. Errors: Malformed (Reject): the column is not there, or is another;
// one line, which names columns of the file that could be meant.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/parquet/footer.hpp"

#include <cstdint>
#include <string>

namespace swarm::data::parquet {

/// A column of texts. A value is there where the definition level is the largest.
struct LeafColumn {
    std::uint32_t leaf = 0;
    std::uint32_t definition_max = 0;
    std::uint32_t repetition_max = 0;  // 0 or 1
    std::string name;
};

/// The least definition level at which something is there.
struct ChatColumns {
    LeafColumn role;
    LeafColumn content;
    std::uint32_t list_level = 0;     // the list, which may be empty
    std::uint32_t item_level = 0;     // an item of the list, which may be null
    std::uint32_t message_level = 0;  // the message
};

Result<LeafColumn> find_text_column(const Footer& footer, const std::string& field);

Result<ChatColumns> find_chat_columns(const Footer& footer, const std::string& field);

}  // namespace swarm::data::parquet
