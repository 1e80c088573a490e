#include "swarm/data/parquet/page_header.hpp"

#include "swarm/base/try.hpp"
#include "swarm/data/limits.hpp"
#include "swarm/data/parquet/file_bytes.hpp"
#include "swarm/data/parquet/thrift_reader.hpp"

#include <string>

namespace swarm::data::parquet {
namespace {

/// A number that may not be negative.
std::uint32_t count(ThriftReader& in, ThriftType type) {
    const std::int32_t value = in.i32(type);
    if (value < 0) {
        in.fail();
        return 0;
    }
    return static_cast<std::uint32_t>(value);
}

void read_data(ThriftReader& in, ThriftType type, PageHeader& page) {
    ThriftFields fields(in, type);
    while (fields.next()) {
        switch (fields.id()) {
            case 1:
                page.values = count(in, fields.type());
                break;
            case 2:
                page.encoding = static_cast<Encoding>(in.i32(fields.type()));
                break;
            case 3:
                page.definition_encoding = static_cast<Encoding>(in.i32(fields.type()));
                break;
            case 4:
                page.repetition_encoding = static_cast<Encoding>(in.i32(fields.type()));
                break;
            default:
                in.skip(fields.type());
        }
    }
}

void read_dictionary(ThriftReader& in, ThriftType type, PageHeader& page) {
    ThriftFields fields(in, type);
    while (fields.next()) {
        switch (fields.id()) {
            case 1:
                page.values = count(in, fields.type());
                break;
            case 2:
                page.encoding = static_cast<Encoding>(in.i32(fields.type()));
                break;
            default:
                in.skip(fields.type());
        }
    }
}

void read_data_v2(ThriftReader& in, ThriftType type, PageHeader& page) {
    ThriftFields fields(in, type);
    while (fields.next()) {
        switch (fields.id()) {
            case 1:
                page.values = count(in, fields.type());
                break;
            case 4:
                page.encoding = static_cast<Encoding>(in.i32(fields.type()));
                break;
            case 5:
                page.definition_bytes = count(in, fields.type());
                break;
            case 6:
                page.repetition_bytes = count(in, fields.type());
                break;
            case 7:
                page.is_packed = in.boolean(fields.type());
                break;
            default:
                in.skip(fields.type());
        }
    }
}

/// Reads the part of this kind; true: there is one.
bool read_part(ThriftReader& in, const ThriftFields& fields, PageHeader& page) {
    if (fields.id() == 5 && page.kind == PageKind::Data) {
        read_data(in, fields.type(), page);
    } else if (fields.id() == 7 && page.kind == PageKind::Dictionary) {
        read_dictionary(in, fields.type(), page);
    } else if (fields.id() == 8 && page.kind == PageKind::DataV2) {
        read_data_v2(in, fields.type(), page);
    } else {
        in.skip(fields.type());
        return false;
    }
    return true;
}

Result<> check_sizes(const PageHeader& page) {
    if (page.packed_bytes > kParquetPageBytesMax || page.bytes > kParquetPageBytesMax) {
        const std::uint64_t most =
            std::uint64_t{page.packed_bytes > page.bytes ? page.packed_bytes : page.bytes};
        return damaged(
            "a page has " + std::to_string(most) + " bytes, and at most " +
            std::to_string(kParquetPageBytesMax >> 20) +
            " MiB are read; write the file with smaller pages"
        );
    }
    if (page.values > kParquetPageValuesMax) {
        return damaged("a page has more than " + std::to_string(kParquetPageValuesMax) + " values");
    }
    return {};
}

}  // namespace

Result<std::optional<PageHeader>> read_page_header(std::string_view bytes) {
    PageHeader page;
    std::int32_t kind = -1;
    bool has_part = false;
    ThriftReader in(bytes);
    ThriftFields fields(in);
    while (fields.next()) {
        switch (fields.id()) {
            case 1:
                kind = in.i32(fields.type());
                page.kind = static_cast<PageKind>(kind);
                break;
            case 2:
                page.bytes = count(in, fields.type());
                break;
            case 3:
                page.packed_bytes = count(in, fields.type());
                break;
            case 4:
                page.crc = static_cast<std::uint32_t>(in.i32(fields.type()));
                break;
            default:
                has_part = read_part(in, fields, page) || has_part;
        }
    }
    if (in.has_ended()) {
        return std::optional<PageHeader>();
    }
    const bool is_known = kind >= 0 && kind <= static_cast<std::int32_t>(PageKind::DataV2);
    if (!in.ok() || !is_known || (!has_part && page.kind != PageKind::Index)) {
        return damaged("a page has a damaged header");
    }
    SWARM_TRY(check_sizes(page));
    page.header_bytes = in.position();
    return std::optional(page);
}

}  // namespace swarm::data::parquet
