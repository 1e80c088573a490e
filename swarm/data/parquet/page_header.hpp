// The header of a page: its kind, its sizes and how its values are written.
// Invariant: the sizes of a header are within kParquetPageBytesMax and kParquetPageValuesMax.
// Threading: pure function. Errors: Malformed (Reject).
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace swarm::data::parquet {

enum class PageKind { Data = 0, Index = 1, Dictionary = 2, DataV2 = 3 };

/// How values and levels are written. The numbers are those of parquet.thrift.
enum class Encoding : std::int32_t {
    Plain = 0,
    PlainDictionary = 2,
    Rle = 3,
    BitPacked = 4,
    DeltaLengthByteArray = 6,
    DeltaByteArray = 7,
    RleDictionary = 8,
};

struct PageHeader {
    PageKind kind = PageKind::Data;
    std::size_t header_bytes = 0;
    std::uint32_t packed_bytes = 0;
    std::uint32_t bytes = 0;
    std::optional<std::uint32_t> crc{};
    std::uint32_t values = 0;
    Encoding encoding = Encoding::Plain;
    // A data page alone:
    Encoding definition_encoding = Encoding::Rle;
    Encoding repetition_encoding = Encoding::Rle;
    // A data page of version 2 alone: its levels come first and are not packed.
    std::uint32_t definition_bytes = 0;
    std::uint32_t repetition_bytes = 0;
    bool is_packed = true;
};

/// Reads the header at the beginning of `bytes`. No value: it goes on behind them.
Result<std::optional<PageHeader>> read_page_header(std::string_view bytes);

}  // namespace swarm::data::parquet
