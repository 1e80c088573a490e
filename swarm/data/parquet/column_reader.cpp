#include "swarm/data/parquet/column_reader.hpp"

#include "swarm/base/try.hpp"
#include "swarm/data/limits.hpp"
#include "swarm/data/parquet/little_endian.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <zlib.h>

namespace swarm::data::parquet {
namespace {

constexpr std::size_t kHeaderBytes = 4U << 10;  // first read for the header of a page
constexpr std::size_t kLevelsLengthBytes = 4;

/// Makes room without holding the bytes from before beside it.
void make_room(std::vector<char>& bytes, std::size_t count) {
    if (count > bytes.capacity()) {
        std::vector<char>().swap(bytes);
    }
    bytes.resize(count);
}

uLong crc_of(std::span<const char> bytes) {
    const uLong none = ::crc32(0, nullptr, 0);
    return bytes.empty() ? none
                         : ::crc32(
                               none,
                               reinterpret_cast<const Bytef*>(bytes.data()),
                               static_cast<uInt>(bytes.size())
                           );
}

unsigned width_of(std::uint32_t level_max) {
    return static_cast<unsigned>(std::bit_width(level_max));
}

/// Takes the levels off a page, with their length before them.
Result<RunDecoder> take_levels(std::string_view& values, Encoding encoding, std::uint32_t most) {
    if (most == 0) {
        return RunDecoder();
    }
    if (encoding != Encoding::Rle) {
        return damaged(
            encoding == Encoding::BitPacked
                ? "its levels are written as BIT_PACKED, which is not read"
                : "its levels are written in an unknown encoding"
        );
    }
    if (values.size() < kLevelsLengthBytes ||
        u32_at(values, 0) > values.size() - kLevelsLengthBytes) {
        return damaged("the levels of a page are longer than the page");
    }
    const std::size_t bytes = u32_at(values, 0);
    const RunDecoder levels(values.substr(kLevelsLengthBytes, bytes), width_of(most));
    values.remove_prefix(kLevelsLengthBytes + bytes);
    return levels;
}

Result<std::uint32_t> next_level(RunDecoder& levels, std::uint32_t most) {
    if (most == 0) {
        return 0U;
    }
    const auto level = levels.next();
    if (!level || *level > most) {
        return damaged("the levels of a page are damaged");
    }
    return *level;
}

}  // namespace

ColumnReader::ColumnReader(const FileBytes& file, LeafColumn column)
    : file_(file), column_(std::move(column)) {}

void ColumnReader::open(const ColumnChunk& chunk) {
    chunk_ = chunk;
    position_ = chunk.begin;
    chunk_left_ = chunk.values;
    page_left_ = 0;
    has_entry_ = false;
    decoder_.reset();
    dictionary_.reset();
}

Result<bool> ColumnReader::advance() {
    auto came = next_entry();
    if (came.has_error()) {
        return in_column(came.error());
    }
    has_entry_ = *came;
    return came;
}

Result<> ColumnReader::skip(std::uint64_t entries) {
    const auto skipped = skip_entries(entries);
    return skipped.has_error() ? in_column(skipped.error()) : skipped;
}

Error ColumnReader::in_column(const Error& error) const {
    return error.code == ErrorCode::Malformed
               ? damaged("column \"" + column_.name + "\": " + error.detail)
               : error;
}

Result<bool> ColumnReader::next_entry() {
    if (page_left_ == 0) {
        std::uint64_t none = 0;
        SWARM_TRY(const bool came, next_page(none));
        if (!came) {
            return false;
        }
    }
    --page_left_;
    SWARM_TRY(entry_.repetition, next_level(repetitions_, column_.repetition_max));
    SWARM_TRY(entry_.definition, next_level(definitions_, column_.definition_max));
    entry_.text = {};
    if (has_text()) {
        if (decoder_ == nullptr) {
            const Dictionary* const texts = dictionary_ ? &*dictionary_ : nullptr;
            SWARM_TRY(decoder_, make_text_decoder(encoding_, values_, texts));
        }
        SWARM_TRY(entry_.text, decoder_->next());
    }
    return true;
}

Result<> ColumnReader::skip_entries(std::uint64_t entries) {
    while (entries > 0) {
        if (page_left_ == 0) {
            SWARM_TRY(const bool came, next_page(entries));
            if (!came) {
                return entries == 0 ? Result<>() : damaged("has fewer rows than its row group");
            }
        }
        for (; entries > 0 && page_left_ > 0; --entries) {
            SWARM_TRY(next_entry());
        }
    }
    return {};
}

Result<bool> ColumnReader::next_page(std::uint64_t& skipped) {
    decoder_.reset();
    while (chunk_left_ > 0) {
        SWARM_TRY(const PageHeader page, read_header());
        if (page.kind == PageKind::Dictionary) {
            SWARM_TRY(load_dictionary(page));
            continue;
        }
        if (page.kind == PageKind::Index) {
            position_ += page.packed_bytes;
            continue;
        }
        if (page.values > chunk_left_) {
            return damaged("its pages have more values than the row group says");
        }
        chunk_left_ -= page.values;
        if (page.values <= skipped) {
            skipped -= page.values;
            position_ += page.packed_bytes;
            continue;
        }
        SWARM_TRY(load_page(page));
        page_left_ = page.values;
        return true;
    }
    return false;
}

/// Goes behind the header. ENSURES: the page lies within the chunk.
Result<PageHeader> ColumnReader::read_header() {
    const std::uint64_t left = chunk_.begin + chunk_.bytes - position_;
    if (left == 0) {
        return damaged("its pages have fewer values than the row group says");
    }
    for (std::size_t room = kHeaderBytes;; room *= 4) {
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(room, left));
        header_.resize(bytes);
        SWARM_TRY(file_.read(position_, header_));
        SWARM_TRY(const auto page, read_page_header({header_.data(), bytes}));
        if (page) {
            if (page->packed_bytes > left - page->header_bytes) {
                return damaged("a page is longer than its row group");
            }
            position_ += page->header_bytes;
            return *page;
        }
        if (bytes == left || room >= kParquetPageHeaderBytesMax) {
            return damaged("the header of a page does not end");
        }
    }
}

/// Fills `to` with the page, unpacked, and goes behind it.
Result<> ColumnReader::unpack(const PageHeader& page, std::vector<char>& to) {
    const bool is_v2 = page.kind == PageKind::DataV2;
    const std::uint64_t levels =
        is_v2 ? std::uint64_t{page.definition_bytes} + page.repetition_bytes : 0;
    if (levels > page.packed_bytes || levels > page.bytes) {
        return damaged("the levels of a page are longer than the page");
    }
    const std::size_t values = page.bytes - static_cast<std::size_t>(levels);
    const PageCodec codec = page.is_packed ? chunk_.codec : PageCodec::Plain;
    PackedPage packed(file_, position_ + levels, page.packed_bytes - levels, packed_);
    // For a page of nulls some writers pack nothing, or a few bytes that stand for nothing.
    if (values > 0 && !may_unpack_to(codec, packed, values)) {
        return packed.disk_error() ? *packed.disk_error()
                                   : damaged("a page does not unpack to the size in its header");
    }
    make_room(to, page.bytes);
    const std::span<char> head = std::span(to).first(static_cast<std::size_t>(levels));
    SWARM_TRY(file_.read(position_, head));
    if (values > 0) {
        const auto values_bytes = static_cast<z_off_t>(packed.left());
        SWARM_TRY(unpack_page(codec, packed, std::span(to).subspan(head.size())));
        if (page.crc && ::crc32_combine(crc_of(head), packed.crc(), values_bytes) != *page.crc) {
            return damaged("a page has another checksum than its header says");
        }
    }
    position_ += page.packed_bytes;
    return {};
}

Result<> ColumnReader::load_dictionary(const PageHeader& page) {
    if (dictionary_) {
        return damaged("a row group has two dictionaries");
    }
    if (page.encoding != Encoding::Plain && page.encoding != Encoding::PlainDictionary) {
        return damaged("its dictionary is not written as PLAIN");
    }
    std::vector<char> bytes;
    SWARM_TRY(unpack(page, bytes));
    SWARM_TRY(dictionary_, Dictionary::read(std::move(bytes), page.values));
    return {};
}

Result<> ColumnReader::load_page(const PageHeader& page) {
    SWARM_TRY(unpack(page, page_));
    values_ = {page_.data(), page_.size()};
    encoding_ = page.encoding;
    return page.kind == PageKind::DataV2 ? begin_levels_v2(page) : begin_levels(page);
}

Result<> ColumnReader::begin_levels(const PageHeader& page) {
    SWARM_TRY(repetitions_, take_levels(values_, page.repetition_encoding, column_.repetition_max));
    SWARM_TRY(definitions_, take_levels(values_, page.definition_encoding, column_.definition_max));
    return {};
}

/// Requires that unpack() has held the lengths against the page.
Result<> ColumnReader::begin_levels_v2(const PageHeader& page) {
    repetitions_ =
        RunDecoder(values_.substr(0, page.repetition_bytes), width_of(column_.repetition_max));
    values_.remove_prefix(page.repetition_bytes);
    definitions_ =
        RunDecoder(values_.substr(0, page.definition_bytes), width_of(column_.definition_max));
    values_.remove_prefix(page.definition_bytes);
    return {};
}

}  // namespace swarm::data::parquet
