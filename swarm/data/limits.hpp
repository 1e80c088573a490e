// Every bound of the training data, with its reason.
// Threading: constants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swarm::data {

/// A data file (TOML) that a person wrote.
inline constexpr std::size_t kDataFileBytesMax = 1U << 20;
inline constexpr std::size_t kSourcesMax = 64;
inline constexpr std::size_t kPathsMax = 4096;  // entries of `paths` of one source
inline constexpr std::size_t kNameBytesMax = 40;
inline constexpr double kWeightMax = 1e9;

/// Files of one source: a list of a million has about 100 MB.
inline constexpr std::size_t kFilesMax = 1'000'000;

/// One line of JSONL. Reading it needs about three times as much.
inline constexpr std::size_t kLineBytesMax = 16U << 20;

/// A Parquet file. Its footer is in memory while the file is opened, and the place of each row
/// group while it is read: 30 MB at most.
inline constexpr std::uint64_t kParquetFooterBytesMax = 64U << 20;
inline constexpr std::size_t kParquetColumnsMax = 1U << 16;  // nodes of the schema
inline constexpr std::size_t kParquetRowGroupsMax = 1U << 18;
inline constexpr unsigned kThriftDepthMax = 16;  // values within values that are skipped

/// A page or a dictionary of Parquet, packed and unpacked. One of each is in memory for a column,
/// unpacked. Writers aim at 1 MiB, but many count rows and not bytes, so 1,024 long texts may be
/// one page.
inline constexpr std::uint64_t kParquetPageBytesMax = 64U << 20;
inline constexpr std::size_t kParquetPageHeaderBytesMax = 1U << 20;
inline constexpr std::uint32_t kParquetPageValuesMax = 1U << 26;       // a run of nulls is short
inline constexpr std::uint32_t kParquetDictionaryTextsMax = 1U << 22;  // 4 bytes each

/// Messages of one chat. The template is run once for each answer, over all that is before it.
inline constexpr std::size_t kMessagesMax = 256;

/// The text that the tokenizer gets at once. A longer one is cut, where it can be after a line.
inline constexpr std::size_t kPieceBytesMax = 1U << 20;

/// Bytes that are read from a file at once.
inline constexpr std::size_t kReadBytes = 256U << 10;

/// A shard ends before the document that begins after so many tokens or documents. It is built in
/// memory: 64 MiB of ids and 8 MiB of the table, and the last document of it.
inline constexpr std::uint64_t kShardTokens = 16U << 20;
inline constexpr std::uint64_t kShardTokensLeast = 1024;
inline constexpr std::uint64_t kShardDocumentsMax = 1U << 20;
/// A document within a line has at most a token per byte, one before each text and an end token.
inline constexpr std::uint64_t kShardTokensMax = kShardTokens + kLineBytesMax + 1024;

/// Shards of one source: 5 x 10^11 tokens, in less than half of the mappings that Linux allows a
/// process by default.
inline constexpr std::uint32_t kShardsMax = 32'000;

/// A manifest names each shard in about 120 bytes.
inline constexpr std::uint64_t kManifestBytesMax = 512U << 20;

/// Ids are 32 bits wide; a vocabulary up to this size needs 16.
inline constexpr std::uint32_t kSmallVocabulary = 1U << 16;
inline constexpr std::uint32_t kVocabularyMax = 1U << 24;

/// Slots in one period of a mixture: a weight is rounded to a multiple of 1/65,536 of their sum
/// where no shorter period has it exactly.
inline constexpr std::uint32_t kMixtureSlotsMax = 1U << 16;

}  // namespace swarm::data
