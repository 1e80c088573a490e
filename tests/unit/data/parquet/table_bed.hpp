// Parquet files of tests/golden, and what a DocumentReader makes of a file.
// Threading: one thread. Errors: a disk error fails the test.
#pragma once

#include "swarm/data/document_reader.hpp"
#include "tests/places.hpp"
#include "tests/unit/data/data_bed.hpp"

#include <string>
#include <variant>
#include <vector>

namespace swarm::data::test {

/// The rows that were read: texts, chats as "role: content" lines, bad rows as "ROW: reason".
struct ReadRows {
    std::vector<std::string> texts{};
    std::vector<InputPlace> places{};  // before each text
    std::vector<std::string> bad{};
};

class TableBed : public DataBed {
 protected:
    static fs::path golden(const std::string& name) {
        return fs::path(swarm::test::source_dir()) / "tests/golden/parquet" / name;
    }

    static ReadRows read(
        const fs::path& path,
        RowKind rows = RowKind::Text,
        const std::string& field = "",
        InputPlace from = {}
    ) {
        const std::vector<InputFile> files{{path, *format_of(path), fs::file_size(path), 0}};
        const std::string chosen = rows == RowKind::Chat ? "messages" : "text";
        DocumentReader reader(files, field.empty() ? chosen : field, from, rows);
        ReadRows found;
        while (true) {
            const auto item = reader.next();
            if (item.has_error()) {
                ADD_FAILURE() << item.error().detail;
                return found;
            }
            EXPECT_LE(reader.consumed(), fs::file_size(path));
            if (!*item) {
                return found;
            }
            if (const auto* const bad = std::get_if<BadLine>(&**item)) {
                found.bad.push_back(std::to_string(bad->line) + ": " + bad->reason);
                continue;
            }
            const Piece& piece = std::get<Piece>(**item);
            EXPECT_TRUE(piece.begins && piece.ends);
            found.texts.emplace_back(rows == RowKind::Text ? piece.text : "");
            for (const ChatMessage& message : piece.chat) {
                found.texts.back() +=
                    std::to_string(static_cast<int>(message.role)) + ": " + message.content + "\n";
            }
            found.places.push_back(piece.before);
        }
    }

    /// Reads a file that has these bytes.
    [[nodiscard]] ReadRows read_bytes_of(
        const std::string& bytes, RowKind rows = RowKind::Text, const std::string& field = ""
    ) const {
        write("table.parquet", bytes);
        return read(input("table.parquet"), rows, field);
    }
};

}  // namespace swarm::data::test
