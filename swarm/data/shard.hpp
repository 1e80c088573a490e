// A shard: consecutive tokens of one source in a file, with the documents that they belong to. All
// numbers are little-endian. Header, 256 bytes:
//     0 "SWRMDATA"       8 version u32 = 1       12 bytes per id u32: 2 or 4
//    16 source u32      20 shard u32            24 tokens u64            32 documents u64
//    40 first token u64 48 first document u64   56 text bytes u64        64 bad lines u64
//    72 next file u64   80 next offset u64      88 next line u64         96 flags u32
//   100 kinds of further arrays u32 = 0        104 SHA-256 of what follows the header
//   136 tokens without loss u64                144 zeros            224 SHA-256 of bytes 0 to 223
// Then the ids, zeros up to a multiple of 8, and per document its first token and flags, each u32.
// Ids of 4 bytes may have kNoLossFlag.
// Threading: const and any thread. Errors: Malformed, Mismatch (another version), StorageFailed.
// Cost: opening reads the header; verify() reads all, at about 1 GB/s.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"
#include "swarm/data/document_reader.hpp"
#include "swarm/data/mapped_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace swarm::data {

inline constexpr std::size_t kShardHeaderBytes = 256;

struct ShardHeader {
    std::uint32_t id_bytes = 2;
    std::uint32_t source = 0;
    std::uint32_t shard = 0;  // among those of the source
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;       // with one that the shard before has begun
    std::uint64_t first_token = 0;     // tokens of the source in the shards before
    std::uint64_t first_document = 0;  // documents that began in the shards before
    std::uint64_t text_bytes = 0;
    std::uint64_t bad_lines = 0;
    InputPlace next{};       // where the next shard begins
    bool is_last = false;    // no other of its source follows
    bool continues = false;  // its first document began in a shard before
    Digest content{};
    std::uint64_t no_loss_tokens = 0;  // those with kNoLossFlag
    bool has_inner_ends = false;       // a document has the end token before its end, too

    /// Documents that begin in this shard.
    [[nodiscard]] std::uint64_t documents_begun() const { return documents - (continues ? 1 : 0); }

    [[nodiscard]] std::uint64_t file_bytes() const;

    friend bool operator==(const ShardHeader&, const ShardHeader&) = default;
};

using ShardHeaderBytes = std::array<std::byte, kShardHeaderBytes>;

ShardHeaderBytes to_bytes(const ShardHeader& header);

/// Checks all that the header alone tells, sizes first.
Result<ShardHeader> parse_shard_header(std::span<const std::byte> bytes);

/// The SHA-256 at the header's end, which commits to the whole shard.
Digest digest_of(const ShardHeaderBytes& header);

/// "prose-000003.shard"
std::string shard_name(const std::string& source, std::uint32_t shard);

/// A shard that is being built in memory. Requires room: see kShardTokensMax.
class ShardDraft {
 public:
    ShardDraft(std::uint32_t source, std::uint32_t id_bytes);

    /// `continues`: the document began in the shard before.
    void begin_document(bool continues);
    void add(std::span<const std::uint32_t> ids);

    void note_inner_end() { header_.has_inner_ends = true; }

    void add_text_bytes(std::uint64_t bytes) { header_.text_bytes += bytes; }

    void add_bad_line() { ++header_.bad_lines; }

    [[nodiscard]] const ShardHeader& header() const { return header_; }

    /// Writes the file durably and begins the next shard, at `next`. Returns the written header.
    Result<ShardHeader> write(
        const std::filesystem::path& folder,
        const std::string& source,
        InputPlace next,
        bool is_last
    );

    /// Begins the shard that follows one on disk.
    void follow(const ShardHeader& before);

 private:
    ShardHeader header_;
    std::vector<std::byte> ids_;
    std::vector<std::uint32_t> documents_;
};

class Shard {
 public:
    /// Checks header and size.
    static Result<Shard> open(const std::filesystem::path& path);

    /// Reads all: digest, order of the documents, and that ids are below `vocabulary`.
    [[nodiscard]] Result<> verify(std::uint32_t vocabulary) const;

    [[nodiscard]] const ShardHeader& header() const { return header_; }

    [[nodiscard]] Digest digest() const;

    /// Copies tokens. Requires at + ids.size() of at most header().tokens.
    void read(std::uint64_t at, std::span<std::uint32_t> ids) const;

    struct Document {
        std::uint64_t first = 0;   // token of the shard
        std::uint64_t tokens = 0;  // in this shard, with the end token where it ends here
        bool continues = false;    // began in the shard before
        bool goes_on = false;      // goes on in the next shard
    };

    /// Requires an index below header().documents. A damaged table gives a document of no tokens.
    [[nodiscard]] Document document(std::uint64_t index) const;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    Shard(std::filesystem::path path, MappedFile file, const ShardHeader& header)
        : path_(std::move(path)), file_(std::move(file)), header_(header) {}

    [[nodiscard]] Error damaged(const std::string& why) const;
    [[nodiscard]] std::span<const std::byte> table() const;

    std::filesystem::path path_;
    MappedFile file_;
    ShardHeader header_;
};

}  // namespace swarm::data
