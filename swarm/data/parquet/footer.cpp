#include "swarm/data/parquet/footer.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/data/limits.hpp"
#include "swarm/data/parquet/little_endian.hpp"
#include "swarm/data/parquet/thrift_reader.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace swarm::data::parquet {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr std::string_view kEncryptedMagic = "PARE";
constexpr std::size_t kTailBytes = 8;  // length of the footer and magic

Error encrypted(const std::string& what) {
    return damaged(what + " encrypted, which is not read");
}

bool is_marked_text(ThriftReader& in, ThriftType type) {
    constexpr int kString = 1;  // in the union LogicalType
    bool found = false;
    ThriftFields fields(in, type);
    while (fields.next()) {
        found = found || fields.id() == kString;
        in.skip(fields.type());
    }
    return found;
}

SchemaNode read_node(ThriftReader& in) {
    constexpr std::int32_t kUtf8 = 0;  // a ConvertedType
    SchemaNode node;
    std::int32_t children = 0;
    ThriftFields fields(in);
    while (fields.next()) {
        switch (fields.id()) {
            case 1:
                node.type = in.i32(fields.type());
                break;
            case 3: {
                const std::int32_t repetition = in.i32(fields.type());
                if (repetition < 0 || repetition > 2) {
                    in.fail();
                    break;
                }
                node.repetition = static_cast<Repetition>(repetition);
                break;
            }
            case 4:
                node.name = in.binary(fields.type());
                break;
            case 5:
                children = in.i32(fields.type());
                break;
            case 6:
                node.is_text = in.i32(fields.type()) == kUtf8 || node.is_text;
                break;
            case 10:
                node.is_text = is_marked_text(in, fields.type()) || node.is_text;
                break;
            default:
                in.skip(fields.type());
        }
    }
    if (children < 0 || (node.type && children > 0)) {
        in.fail();
        return node;
    }
    node.children = static_cast<std::uint32_t>(children);
    return node;
}

void read_nodes(ThriftReader& in, ThriftType type, std::vector<SchemaNode>& nodes) {
    const std::size_t count = in.list(type, ThriftType::Struct);
    nodes.clear();
    if (count > kParquetColumnsMax) {
        in.fail();
    }
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        nodes.push_back(read_node(in));
    }
}

/// Finds the end of each node; false: the nodes are no tree.
bool build_tree(Footer& footer) {
    struct Open {
        std::uint32_t node = 0;
        std::uint32_t children_left = 0;
    };

    std::vector<Open> open;
    std::vector<SchemaNode>& nodes = footer.nodes;
    if (nodes.empty() || nodes[0].type) {
        return false;
    }
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        if (i > 0) {
            if (open.empty()) {
                return false;
            }
            --open.back().children_left;
        }
        nodes[i].leaf = footer.leaves;
        footer.leaves += nodes[i].type ? 1 : 0;
        open.push_back({i, nodes[i].children});
        while (!open.empty() && open.back().children_left == 0) {
            nodes[open.back().node].end = i + 1;
            open.pop_back();
        }
    }
    return open.empty();
}

Result<> parse_footer(Footer& footer) {
    ThriftReader in({footer.bytes.data(), footer.bytes.size()});
    ThriftFields fields(in);
    std::int64_t rows = -1;
    bool is_encrypted = false;
    while (fields.next()) {
        switch (fields.id()) {
            case 2:
                read_nodes(in, fields.type(), footer.nodes);
                break;
            case 3:
                rows = in.i64(fields.type());
                break;
            case 8:
                is_encrypted = true;
                in.skip(fields.type());
                break;
            default:
                in.skip(fields.type());
        }
    }
    if (!in.ok() || rows < 0 || !build_tree(footer)) {
        return damaged("its footer is damaged");
    }
    if (is_encrypted) {
        return encrypted("its columns are");
    }
    footer.rows = static_cast<std::uint64_t>(rows);
    return {};
}

/// The fields of a ColumnChunk and its ColumnMetaData.
struct ChunkFields {
    std::int32_t type = -1;
    std::int32_t codec = -1;
    std::int64_t values = -1;
    std::int64_t bytes = -1;
    std::int64_t data_page = -1;
    std::int64_t dictionary_page = -1;
    bool is_elsewhere = false;
    bool is_encrypted = false;
};

void read_chunk_metadata(ThriftReader& in, ThriftType type, ChunkFields& chunk) {
    ThriftFields fields(in, type);
    while (fields.next()) {
        switch (fields.id()) {
            case 1:
                chunk.type = in.i32(fields.type());
                break;
            case 4:
                chunk.codec = in.i32(fields.type());
                break;
            case 5:
                chunk.values = in.i64(fields.type());
                break;
            case 7:
                chunk.bytes = in.i64(fields.type());
                break;
            case 9:
                chunk.data_page = in.i64(fields.type());
                break;
            case 11:
                chunk.dictionary_page = in.i64(fields.type());
                break;
            default:
                in.skip(fields.type());
        }
    }
}

ChunkFields read_chunk(ThriftReader& in) {
    ChunkFields chunk;
    ThriftFields fields(in);
    while (fields.next()) {
        switch (fields.id()) {
            case 1:
                chunk.is_elsewhere = !in.binary(fields.type()).empty();
                break;
            case 3:
                read_chunk_metadata(in, fields.type(), chunk);
                break;
            case 8:
                chunk.is_encrypted = true;
                in.skip(fields.type());
                break;
            default:
                in.skip(fields.type());
        }
    }
    return chunk;
}

/// Holds the chunk against the file.
Result<ColumnChunk> check_chunk(const ChunkFields& fields, std::uint64_t footer_begin) {
    if (fields.is_encrypted) {
        return encrypted("a column that is needed is");
    }
    if (fields.is_elsewhere) {
        return damaged("the pages of a column that is needed lie in another file");
    }
    // A dictionary lies before the data. Some writers give 0 where there is none.
    const bool has_dictionary =
        fields.dictionary_page > 0 && fields.dictionary_page < fields.data_page;
    const std::int64_t begin = has_dictionary ? fields.dictionary_page : fields.data_page;
    const auto least = static_cast<std::int64_t>(kMagic.size());
    const auto end = static_cast<std::int64_t>(footer_begin);
    if (fields.type != kByteArray || fields.values < 0 || fields.bytes < 0 || begin < least ||
        begin > end || fields.bytes > end - begin) {
        return damaged("a chunk lies outside of the file, or is of another type than its column");
    }
    SWARM_TRY(const PageCodec codec, codec_of(fields.codec));
    return ColumnChunk{
        static_cast<std::uint64_t>(begin),
        static_cast<std::uint64_t>(fields.bytes),
        static_cast<std::uint64_t>(fields.values),
        codec};
}

/// A row group, with all chunks of the leaves that are asked for.
class GroupReader {
 public:
    GroupReader(const Footer& footer, std::span<const std::uint32_t> leaves)
        : footer_(footer), leaves_(leaves) {}

    Result<RowGroup> read(ThriftReader& in) {
        std::array<ChunkFields, kColumnsReadMax> chunks{};
        std::int64_t rows = -1;
        bool has_chunks = false;
        ThriftFields fields(in);
        while (fields.next()) {
            if (fields.id() == 1) {
                has_chunks = read_chunks(in, fields.type(), chunks);
            } else if (fields.id() == 3) {
                rows = in.i64(fields.type());
            } else {
                in.skip(fields.type());
            }
        }
        if (!in.ok() || rows < 0 || (rows > 0 && !has_chunks)) {
            return damaged("its columns are not those of the schema");
        }
        RowGroup group{static_cast<std::uint64_t>(rows), {}};
        for (std::size_t i = 0; i < leaves_.size() && rows > 0; ++i) {
            SWARM_TRY(group.chunks[i], check_chunk(chunks[i], footer_.begin));
        }
        return group;
    }

 private:
    /// Returns whether there is one for each leaf of the file.
    bool read_chunks(
        ThriftReader& in, ThriftType type, std::array<ChunkFields, kColumnsReadMax>& chunks
    ) {
        const std::size_t count = in.list(type, ThriftType::Struct);
        for (std::size_t leaf = 0; leaf < count && in.ok(); ++leaf) {
            const auto asked = std::find(leaves_.begin(), leaves_.end(), leaf);
            if (asked == leaves_.end()) {
                in.skip(ThriftType::Struct);
            } else {
                chunks[static_cast<std::size_t>(asked - leaves_.begin())] = read_chunk(in);
            }
        }
        return count == footer_.leaves;
    }

    const Footer& footer_;
    std::span<const std::uint32_t> leaves_;
};

}  // namespace

Result<Footer> read_footer(const FileBytes& file) {
    std::array<char, kTailBytes> bytes{};
    if (file.size() < kMagic.size() + kTailBytes) {
        return damaged("is no Parquet file, or cut short");
    }
    SWARM_TRY(file.read(0, std::span(bytes).first(kMagic.size())));
    const std::string head(bytes.data(), kMagic.size());
    SWARM_TRY(file.read(file.size() - kTailBytes, bytes));
    const std::string_view tail(bytes.data(), kTailBytes);
    if (head == kEncryptedMagic || tail.ends_with(kEncryptedMagic)) {
        return encrypted("its footer is");
    }
    if (head != kMagic) {
        return damaged("is no Parquet file: it does not begin with PAR1");
    }
    if (!tail.ends_with(kMagic)) {
        return damaged("does not end with PAR1: the file is cut short or damaged");
    }
    const std::uint64_t length = u32_at(tail, 0);
    const std::uint64_t room = file.size() - kMagic.size() - kTailBytes;
    if (length > room) {
        return damaged("its footer claims to be longer than the file");
    }
    if (length > kParquetFooterBytesMax) {
        return damaged(
            "its footer has more than " + std::to_string(kParquetFooterBytesMax >> 20) + " MiB"
        );
    }
    Footer footer;
    footer.begin = file.size() - kTailBytes - length;
    footer.bytes.resize(length);
    SWARM_TRY(file.read(footer.begin, footer.bytes));
    SWARM_TRY(parse_footer(footer));
    return footer;
}

Result<std::vector<RowGroup>> read_row_groups(
    const Footer& footer, std::span<const std::uint32_t> leaves
) {
    SWARM_ASSERT(leaves.size() <= kColumnsReadMax);
    std::vector<RowGroup> groups;
    std::uint64_t rows = 0;
    ThriftReader in({footer.bytes.data(), footer.bytes.size()});
    ThriftFields fields(in);
    while (fields.next()) {
        if (fields.id() != 4) {
            in.skip(fields.type());
            continue;
        }
        const std::size_t count = in.list(fields.type(), ThriftType::Struct);
        if (count > kParquetRowGroupsMax) {
            return damaged("has more than " + std::to_string(kParquetRowGroupsMax) + " row groups");
        }
        groups.clear();
        rows = 0;
        for (std::size_t i = 0; i < count; ++i) {
            auto group = GroupReader(footer, leaves).read(in);
            if (group.has_error()) {
                return damaged("row group " + std::to_string(i) + ": " + group.error().detail);
            }
            if (group->rows > std::numeric_limits<std::int64_t>::max() - rows) {
                return damaged("its row groups have too many rows");
            }
            rows += group->rows;
            groups.push_back(*group);
        }
    }
    if (rows != footer.rows) {
        return damaged(
            "its row groups have " + std::to_string(rows) + " rows, and its footer says " +
            std::to_string(footer.rows)
        );
    }
    return groups;
}

}  // namespace swarm::data::parquet
