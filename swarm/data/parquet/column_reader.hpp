// Walks over the entries of one column of texts, page by page, through one row group after another.
// An entry is a text or a null with its levels: repetition 0 begins a row.
// Invariant: one page and one dictionary are in memory, each of at most kParquetPageBytesMax. Sizes
// are held against the chunk and that bound before anything is allocated. Levels are at most those
// of the column.
// Threading: one thread. Errors: Malformed (Reject), which names the column; those of FileBytes.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/parquet/columns.hpp"
#include "swarm/data/parquet/file_bytes.hpp"
#include "swarm/data/parquet/footer.hpp"
#include "swarm/data/parquet/page_codec.hpp"
#include "swarm/data/parquet/page_header.hpp"
#include "swarm/data/parquet/run_decoder.hpp"
#include "swarm/data/parquet/text_decoder.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace swarm::data::parquet {

class ColumnReader {
 public:
    struct Entry {
        std::uint32_t repetition = 0;
        std::uint32_t definition = 0;
        std::string_view text;  // where there is one; valid until the next call
    };

    /// `file` outlives the reader.
    ColumnReader(const FileBytes& file, LeafColumn column);

    /// Begins a row group.
    void open(const ColumnChunk& chunk);

    /// Goes on to the next entry; false at the end of the chunk.
    Result<bool> advance();

    /// Whether the column is at an entry: advance() was called and has not come to the end.
    [[nodiscard]] bool has_entry() const { return has_entry_; }

    /// Requires has_entry().
    [[nodiscard]] const Entry& entry() const { return entry_; }

    [[nodiscard]] bool has_text() const { return entry_.definition == column_.definition_max; }

    /// Goes behind so many entries. Pages that lie before the place are not unpacked.
    Result<> skip(std::uint64_t entries);

    /// Offset in the file behind the last page that was read.
    [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
    Result<bool> next_entry();
    Result<> skip_entries(std::uint64_t entries);
    [[nodiscard]] Error in_column(const Error& error) const;
    /// Loads the next page that has more than `skipped` entries, and takes those before off it;
    /// false at the end of the chunk.
    Result<bool> next_page(std::uint64_t& skipped);
    Result<PageHeader> read_header();
    Result<> load_dictionary(const PageHeader& page);
    Result<> load_page(const PageHeader& page);
    Result<> unpack(const PageHeader& page, std::vector<char>& to);
    Result<> begin_levels(const PageHeader& page);
    Result<> begin_levels_v2(const PageHeader& page);

    const FileBytes& file_;
    LeafColumn column_;
    ColumnChunk chunk_;
    std::uint64_t position_ = 0;
    std::uint64_t chunk_left_ = 0;  // entries behind the page
    std::uint64_t page_left_ = 0;   // entries
    std::vector<char> header_;      // bytes around the header of a page
    std::vector<char> packed_;      // a part of a page
    std::vector<char> page_;
    std::optional<Dictionary> dictionary_;
    RunDecoder repetitions_;
    RunDecoder definitions_;
    Encoding encoding_ = Encoding::Plain;
    std::string_view values_;               // the page behind its levels
    std::unique_ptr<TextDecoder> decoder_;  // made for the first text of the page
    Entry entry_;
    bool has_entry_ = false;
};

}  // namespace swarm::data::parquet
