// Fuzzes a Parquet file from anybody: footer, pages and rows, as texts and as chats, from the first
// row and from a later one.
#include "swarm/base/check.hpp"
#include "swarm/data/limits.hpp"
#include "swarm/data/parquet/row_reader.hpp"

#include <memory>
#include <string>

using namespace swarm::data;

namespace {

/// A few bytes can stand for millions of nulls.
constexpr std::uint64_t kRowsMax = 2'000;

void read_rows(const std::string& bytes, RowKind kind, std::uint64_t from) {
    auto reader = parquet::RowReader::open(
        std::make_unique<parquet::MemoryBytes>(bytes),
        kind == RowKind::Chat ? "messages" : "text",
        kind,
        from
    );
    for (std::uint64_t i = 0; reader && i < kRowsMax; ++i) {
        const auto row = (*reader)->next();
        SWARM_ASSERT((*reader)->consumed() <= bytes.size());
        if (!row || !*row) {
            return;
        }
        SWARM_ASSERT((*row)->text.size() <= kLineBytesMax && (*row)->chat.size() <= kMessagesMax);
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    for (const RowKind kind : {RowKind::Text, RowKind::Chat}) {
        read_rows(bytes, kind, 0);
        read_rows(bytes, kind, 9);
    }
    return 0;
}
