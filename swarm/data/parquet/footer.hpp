// The footer of a Parquet file: its columns, and where the pages of some of them lie.
//     "PAR1"  pages ..  footer (FileMetaData in Thrift)  its length u32  "PAR1"
// Invariant: the nodes are a tree in preorder; each chunk of a row group that is returned lies
// between the two magics' insides, before the footer, and its codec is one that is unpacked.
// Threading: values. Errors: Malformed: no Parquet file, cut short, damaged, encrypted, or with a
// codec that is not read; those of FileBytes; one line. Memory: the footer, kParquetFooterBytesMax
// at most, while a Footer lives; a RowGroup for each.
// Source: https://github.com/apache/parquet-format, parquet.thrift
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/parquet/file_bytes.hpp"
#include "swarm/data/parquet/page_codec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace swarm::data::parquet {

enum class Repetition { Required = 0, Optional = 1, Repeated = 2 };

/// The physical type of a text.
inline constexpr std::int32_t kByteArray = 6;

/// A column, or a group of columns.
struct SchemaNode {
    std::string_view name;  // lies in the bytes of the footer
    Repetition repetition = Repetition::Required;
    std::optional<std::int32_t> type{};  // no value: a group
    bool is_text = false;                // marked as UTF-8
    std::uint32_t children = 0;
    std::uint32_t end = 0;   // index behind the node and all below it
    std::uint32_t leaf = 0;  // columns before this one
};

struct Footer {
    std::vector<char> bytes;
    std::vector<SchemaNode> nodes;  // the first is the root
    std::uint32_t leaves = 0;
    std::uint64_t rows = 0;
    std::uint64_t begin = 0;  // offset of the footer in the file
};

/// The pages of one column in one row group.
struct ColumnChunk {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::uint64_t values = 0;  // nulls are among them
    PageCodec codec = PageCodec::Plain;
};

/// A text is one column, a chat two.
inline constexpr std::size_t kColumnsReadMax = 2;

struct RowGroup {
    std::uint64_t rows = 0;
    std::array<ColumnChunk, kColumnsReadMax> chunks{};  // in the order that was asked for
};

Result<Footer> read_footer(const FileBytes& file);

/// Returns the row groups with the chunks of these leaves.
Result<std::vector<RowGroup>> read_row_groups(
    const Footer& footer, std::span<const std::uint32_t> leaves
);

}  // namespace swarm::data::parquet
