// All bounds on the memory that a model file may make this program hold, each with its reason. A
// value above its bound is an error before anything is allocated for it. Threading: constants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stacking::models {

/// Bytes of metadata and tensor table of a GGUF: a vocabulary of a million tokens and its merges
/// fit.
inline constexpr std::uint64_t kGgufHeaderBytesMax = 64ULL << 20;

/// GGUF metadata keys; files in use have 20 to 60.
inline constexpr std::uint64_t kGgufKeysMax = 4096;

/// The longest key that the GGUF specification allows.
inline constexpr std::uint64_t kGgufKeyBytesMax = 65'535;

/// Bytes of one string of metadata. The longest in use are chat templates of about 20 KiB.
inline constexpr std::uint64_t kGgufStringBytesMax = 1ULL << 20;

/// Entries of an array that is kept: tokens, their types, merges.
inline constexpr std::uint64_t kGgufArrayMax = 1ULL << 20;

/// Depth of arrays within arrays. None is in use, but the grammar has them.
inline constexpr int kGgufArrayDepthMax = 4;

/// Dimensions of a tensor (GGUF's own bound), and alignment (far above the one in use).
inline constexpr std::uint32_t kGgufDimensionsMax = 4;
inline constexpr std::uint64_t kGgufAlignmentMax = 1ULL << 16;

/// Tensors of one model. A mixture of 128 experts in 94 layers has 37,000.
inline constexpr std::uint64_t kTensorsMax = 1ULL << 17;

/// Numbers of a decoder's shape. Products of two of them stay far below 2^64.
inline constexpr std::uint64_t kLayersMax = 1024;
inline constexpr std::uint64_t kWidthMax = 1ULL << 16;
inline constexpr std::uint64_t kFfnWidthMax = 1ULL << 18;
inline constexpr std::uint64_t kVocabularyMax = 1ULL << 20;
inline constexpr std::uint64_t kContextMax = 1ULL << 24;
inline constexpr std::uint64_t kHeadWidthMax = 1024;
inline constexpr std::uint64_t kExpertsMax = 1024;
/// All heads together may be wider than the model, in Gemma and Qwen3 up to twice.
inline constexpr std::uint64_t kHeadsToWidthMax = 8;

/// Real numbers of a configuration. Factors lie between 1 / kScaleMax and kScaleMax.
inline constexpr double kRopeBaseMax = 1e12;
inline constexpr double kScaleMax = 1e6;

/// Bytes of config.json and of model.safetensors.index.json: a name of 100 bytes per tensor fits
/// many times.
inline constexpr std::uint64_t kConfigBytesMax = 1ULL << 20;
inline constexpr std::uint64_t kIndexBytesMax = 16ULL << 20;

/// Safetensors files of one model.
inline constexpr std::size_t kModelFilesMax = 512;

/// Rank of an adapter, and names in its list of modules. Ranks in use go to 256; a list may name
/// each matrix.
inline constexpr std::uint32_t kAdapterRankMax = 1024;
inline constexpr std::size_t kAdapterTargetsMax = 1024;

/// Stored bytes that a reader holds at once while it decodes; for q and k it holds whole heads.
inline constexpr std::uint64_t kReadBytes = 1ULL << 20;

}  // namespace stacking::models
