#include "swarm/data/shard.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

namespace swarm::data {
namespace {

static_assert(std::endian::native == std::endian::little, "ids are mapped as they are on disk");

constexpr std::string_view kShardMagic = "SWRMDATA";
constexpr std::uint32_t kShardVersion = 1;
constexpr std::size_t kHeaderDigestAt = 224;
constexpr std::size_t kDocumentBytes = 8;

constexpr std::uint32_t kIsLast = 1;     // flags of a shard
constexpr std::uint32_t kContinues = 2;  // and of a document
constexpr std::uint32_t kNextIsWithin = 4;
constexpr std::uint32_t kGoesOn = 8;  // flag of a document
constexpr std::uint32_t kHasInnerEnds = 16;

/// Bytes of the ids with the zeros behind them.
std::uint64_t padded_id_bytes(const ShardHeader& header) {
    return (header.tokens * header.id_bytes + 7) / 8 * 8;
}

class HeaderWriter {
 public:
    template <class Number>
    void put(std::size_t at, Number number) {
        std::memcpy(bytes.data() + at, &number, sizeof number);
    }

    ShardHeaderBytes bytes{};
};

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
    Number number{};
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

Digest digest_at(std::span<const std::byte> bytes, std::size_t at) {
    Digest digest;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 32, digest.bytes.begin());
    return digest;
}

std::uint64_t count_no_loss(std::span<const std::uint32_t> tokens) {
    return static_cast<std::uint64_t>(
        std::count_if(tokens.begin(), tokens.end(), [](std::uint32_t token) {
            return !counts_for_loss(token);
        })
    );
}

Error bad_header(ErrorCode code, const std::string& why) {
    return {code, Reaction::Reject, why};
}

}  // namespace

std::uint64_t ShardHeader::file_bytes() const {
    return kShardHeaderBytes + padded_id_bytes(*this) + documents * kDocumentBytes;
}

ShardHeaderBytes to_bytes(const ShardHeader& header) {
    HeaderWriter to;
    std::memcpy(to.bytes.data(), kShardMagic.data(), kShardMagic.size());
    to.put(8, kShardVersion);
    to.put(12, header.id_bytes);
    to.put(16, header.source);
    to.put(20, header.shard);
    to.put(24, header.tokens);
    to.put(32, header.documents);
    to.put(40, header.first_token);
    to.put(48, header.first_document);
    to.put(56, header.text_bytes);
    to.put(64, header.bad_lines);
    to.put(72, header.next.file);
    to.put(80, header.next.offset);
    to.put(88, header.next.lines);
    to.put(
        96,
        (header.is_last ? kIsLast : 0) | (header.continues ? kContinues : 0) |
            (header.next.within ? kNextIsWithin : 0) |
            (header.has_inner_ends ? kHasInnerEnds : 0)
    );
    to.put(104, header.content.bytes);
    to.put(136, header.no_loss_tokens);
    to.put(kHeaderDigestAt, sha256(std::span(to.bytes).first(kHeaderDigestAt)).bytes);
    return to.bytes;
}

Result<ShardHeader> parse_shard_header(std::span<const std::byte> bytes) {
    if (bytes.size() < kShardHeaderBytes ||
        std::memcmp(bytes.data(), kShardMagic.data(), kShardMagic.size()) != 0) {
        return bad_header(ErrorCode::Malformed, "is no shard");
    }
    const auto version = number_at<std::uint32_t>(bytes, 8);
    const auto more_arrays = number_at<std::uint32_t>(bytes, 100);
    if (version != kShardVersion || more_arrays != 0) {
        return bad_header(
            ErrorCode::Mismatch,
            "has version " + std::to_string(version) + "; this program reads version 1"
        );
    }
    if (digest_at(bytes, kHeaderDigestAt) != sha256(bytes.first(kHeaderDigestAt))) {
        return bad_header(ErrorCode::Malformed, "has a damaged header");
    }
    const auto flags = number_at<std::uint32_t>(bytes, 96);
    ShardHeader header;
    header.id_bytes = number_at<std::uint32_t>(bytes, 12);
    header.source = number_at<std::uint32_t>(bytes, 16);
    header.shard = number_at<std::uint32_t>(bytes, 20);
    header.tokens = number_at<std::uint64_t>(bytes, 24);
    header.documents = number_at<std::uint64_t>(bytes, 32);
    header.first_token = number_at<std::uint64_t>(bytes, 40);
    header.first_document = number_at<std::uint64_t>(bytes, 48);
    header.text_bytes = number_at<std::uint64_t>(bytes, 56);
    header.bad_lines = number_at<std::uint64_t>(bytes, 64);
    header.next.file = number_at<std::uint64_t>(bytes, 72);
    header.next.offset = number_at<std::uint64_t>(bytes, 80);
    header.next.lines = number_at<std::uint64_t>(bytes, 88);
    header.next.within = (flags & kNextIsWithin) != 0;
    header.is_last = (flags & kIsLast) != 0;
    header.continues = (flags & kContinues) != 0;
    header.content = digest_at(bytes, 104);
    header.no_loss_tokens = number_at<std::uint64_t>(bytes, 136);
    header.has_inner_ends = (flags & kHasInnerEnds) != 0;
    const bool sound = (header.id_bytes == 2 || header.id_bytes == 4) &&
                       header.source < kSourcesMax && header.shard < kShardsMax &&
                       header.tokens <= kShardTokensMax && header.documents <= kShardDocumentsMax &&
                       header.documents >= (header.continues ? 1U : 0U) &&
                       header.first_token <= kShardTokensMax * kShardsMax &&
                       header.no_loss_tokens <= (header.id_bytes == 4 ? header.tokens : 0);
    if (!sound) {
        return bad_header(ErrorCode::Malformed, "has a header with impossible sizes");
    }
    return header;
}

Digest digest_of(const ShardHeaderBytes& header) {
    return digest_at(header, kHeaderDigestAt);
}

std::string shard_name(const std::string& source, std::uint32_t shard) {
    char number[16];
    std::snprintf(number, sizeof number, "%06u", shard);
    return source + "-" + number + ".shard";
}

ShardDraft::ShardDraft(std::uint32_t source, std::uint32_t id_bytes) {
    header_.source = source;
    header_.id_bytes = id_bytes;
    ids_.reserve((kShardTokens + kPieceBytesMax) * id_bytes);  // else it would grow by copies
}

void ShardDraft::begin_document(bool continues) {
    SWARM_ASSERT(!continues || header_.documents == 0);
    documents_.push_back(static_cast<std::uint32_t>(header_.tokens));
    documents_.push_back(continues ? kContinues : 0);
    header_.continues = header_.continues || continues;
    ++header_.documents;
}

void ShardDraft::add(std::span<const std::uint32_t> ids) {
    SWARM_ASSERT(header_.tokens + ids.size() <= kShardTokensMax);
    const std::size_t before = ids_.size();
    ids_.resize(before + ids.size() * header_.id_bytes);
    std::byte* to = ids_.data() + before;
    if (header_.id_bytes == sizeof(std::uint32_t)) {
        std::memcpy(to, ids.data(), ids.size_bytes());
        header_.no_loss_tokens += count_no_loss(ids);
    } else {
        for (const std::uint32_t id : ids) {
            const auto narrow = static_cast<std::uint16_t>(id);
            std::memcpy(to, &narrow, sizeof narrow);
            to += sizeof narrow;
        }
    }
    header_.tokens += ids.size();
}

Result<ShardHeader> ShardDraft::write(
    const std::filesystem::path& folder, const std::string& source, InputPlace next, bool is_last
) {
    header_.next = next;
    header_.is_last = is_last;
    if (next.within && !documents_.empty()) {
        documents_.back() |= kGoesOn;
    }
    ids_.resize(padded_id_bytes(header_));
    const auto table = std::as_bytes(std::span(documents_));
    Sha256 content;
    content.add(ids_);
    content.add(table);
    header_.content = content.finish();
    const ShardHeaderBytes header = to_bytes(header_);
    const std::array<std::span<const std::byte>, 3> parts{header, ids_, table};
    SWARM_TRY(
        write_durably(folder / shard_name(source, header_.shard), parts, "name another folder")
    );
    const ShardHeader written = header_;
    follow(written);
    return written;
}

void ShardDraft::follow(const ShardHeader& before) {
    ShardHeader next;
    next.id_bytes = before.id_bytes;
    next.source = before.source;
    next.shard = before.shard + 1;
    next.first_token = before.first_token + before.tokens;
    next.first_document = before.first_document + before.documents_begun();
    header_ = next;
    ids_.clear();  // keeps the memory
    documents_.clear();
}

Result<Shard> Shard::open(const std::filesystem::path& path) {
    SWARM_TRY(MappedFile file, MappedFile::open(path));
    const auto header = parse_shard_header(file.bytes());
    if (header.has_error()) {
        const Error& error = header.error();
        return Error{error.code, error.reaction, path.string() + " " + error.detail};
    }
    Shard shard(path, std::move(file), *header);
    if (shard.file_.bytes().size() != header->file_bytes()) {
        return shard.damaged(
            "has " + std::to_string(shard.file_.bytes().size()) + " bytes, its header says " +
            std::to_string(header->file_bytes())
        );
    }
    return shard;
}

Error Shard::damaged(const std::string& why) const {
    return {ErrorCode::Malformed, Reaction::Reject, path_.string() + " " + why};
}

std::span<const std::byte> Shard::table() const {
    return file_.bytes().last(header_.documents * kDocumentBytes);
}

Result<> Shard::verify(std::uint32_t vocabulary) const {
    if (sha256(file_.bytes().subspan(kShardHeaderBytes)) != header_.content) {
        return damaged("is damaged: its SHA-256 is another one");
    }
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < header_.documents; ++i) {
        const auto first = number_at<std::uint32_t>(table(), i * kDocumentBytes);
        if (first < before || first > header_.tokens) {
            return damaged("has documents out of order");
        }
        before = first;
    }
    constexpr std::uint64_t kAtOnce = 4096;
    std::array<std::uint32_t, kAtOnce> ids{};
    std::uint64_t no_loss = 0;
    for (std::uint64_t at = 0; at < header_.tokens; at += kAtOnce) {
        const auto some = std::span(ids).first(std::min(kAtOnce, header_.tokens - at));
        read(at, some);
        no_loss += count_no_loss(some);
        const bool known = std::all_of(some.begin(), some.end(), [&](std::uint32_t token) {
            return token_id(token) < vocabulary;
        });
        if (!known) {
            return damaged("has ids that the vocabulary lacks");
        }
    }
    if (no_loss != header_.no_loss_tokens) {
        return damaged("has another number of tokens without loss than its header says");
    }
    file_.forget_pages();
    return {};
}

Digest Shard::digest() const {
    return digest_at(file_.bytes(), kHeaderDigestAt);
}

void Shard::read(std::uint64_t at, std::span<std::uint32_t> ids) const {
    SWARM_ASSERT(at <= header_.tokens && ids.size() <= header_.tokens - at);
    const std::byte* from = file_.bytes().data() + kShardHeaderBytes + at * header_.id_bytes;
    if (header_.id_bytes == sizeof(std::uint32_t)) {
        std::memcpy(ids.data(), from, ids.size_bytes());
        return;
    }
    for (std::uint32_t& id : ids) {
        std::uint16_t narrow = 0;
        std::memcpy(&narrow, from, sizeof narrow);
        id = narrow;
        from += sizeof narrow;
    }
}

Shard::Document Shard::document(std::uint64_t index) const {
    SWARM_ASSERT(index < header_.documents);
    const std::size_t at = index * kDocumentBytes;
    const auto flags = number_at<std::uint32_t>(table(), at + 4);
    Document document;
    document.first = number_at<std::uint32_t>(table(), at);
    document.continues = (flags & kContinues) != 0;
    document.goes_on = (flags & kGoesOn) != 0;
    const std::uint64_t end = index + 1 < header_.documents
                                  ? number_at<std::uint32_t>(table(), at + kDocumentBytes)
                                  : header_.tokens;
    const bool sound = document.first <= end && end <= header_.tokens;
    document.tokens = sound ? end - document.first : 0;
    return document;
}

}  // namespace swarm::data
