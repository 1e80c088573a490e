// The file of a run's tokenizer on its way from the coordinator, chunk after chunk.
// Invariant: a file is whole only if its SHA-256 is the one that the run file names, so a client
// never reads another tokenizer than the run's.
// Threading: single strand. Errors: failure(). Bound: kTokenizerBytesMax. Source: own; the messages
// are Fetch and Chunk in PROTOCOL.md.
#pragma once

#include "swarm/protocol/run_messages.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace stacking {

class TokenizerFetch {
 public:
    /// `sha256`: run.tokenizer_sha256, in hexadecimal digits.
    explicit TokenizerFetch(std::string sha256) : sha256_(std::move(sha256)) {}

    [[nodiscard]] const std::string& sha256() const { return sha256_; }

    /// The next question to the coordinator. REQUIRES: the file is neither whole nor refused.
    [[nodiscard]] swarm::protocol::Fetch question() const;

    /// Takes an answer of the coordinator; true: a new question is due, or none any more.
    bool take(const swarm::protocol::Chunk& chunk, std::span<const std::byte> bytes);
    bool take(const swarm::protocol::ChunkRefused& refused);

    [[nodiscard]] bool is_whole() const { return whole_; }

    /// Why the coordinator cannot give the file; empty while it can.
    [[nodiscard]] const std::string& failure() const { return failure_; }

    /// The bytes of tokenizer.model. REQUIRES: is_whole().
    [[nodiscard]] const std::string& file() const { return file_; }

 private:
    [[nodiscard]] std::uint32_t next_chunk() const;

    [[nodiscard]] bool is_asking() const { return !whole_ && failure_.empty(); }

    std::string sha256_;
    std::string file_;
    bool whole_ = false;
    std::string failure_;
};

}  // namespace stacking
