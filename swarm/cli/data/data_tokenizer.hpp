// The tokenizer that a data file names:
//   bytes      token i is byte i; a document ends with token 0 unless the file names another
//   spm:FILE   a tokenizer.model of our own runs; a document ends with the token of byte 0
//   spm:N      the same, trained on a sample of the data
//   bpe:N      byte-level BPE, trained likewise; a document ends with <|endoftext|>
//   a model    its path or name; a document ends with the first end token of the model
// Threading: one thread. Errors (Reject): those of the readers; Usage: no such end token.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/data_file.hpp"
#include "swarm/data/encoder.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stacking::tokenizers {
class ModelTokenizer;
}

namespace swarm::cli {

struct DataTokenizer {
    data::Encoder encoder;
    std::function<Result<std::string>(std::span<const std::uint32_t>)> decode;
    std::shared_ptr<const stacking::tokenizers::ModelTokenizer> own{};  // null: tokens are bytes
    std::vector<std::uint32_t> ends{};  // tokens that end an answer of the model
};

/// Returns so many bytes of the data at most, to train a tokenizer on them.
using TakeSample = std::function<Result<std::string>(std::size_t bytes_max)>;

/// `folder`: where relative paths are looked for, before the current one.
Result<DataTokenizer> open_data_tokenizer(
    const std::string& name,
    const data::EndToken& end_token,
    const std::filesystem::path& folder,
    const TakeSample& sample
);

/// Reads the tokenizer that a built folder keeps.
Result<DataTokenizer> open_kept_tokenizer(
    const std::filesystem::path& folder, const std::string& name, std::uint32_t end_token
);

}  // namespace swarm::cli
