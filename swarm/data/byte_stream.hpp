// The bytes of an input file one after another, unpacked: plain, gzip (zlib) or zstd.
// Invariant: members of gzip and frames of zstd that follow each other are one stream.
// Threading: one thread. Errors: NotFound, StorageFailed (the disk); Malformed: the packed bytes
// are damaged or end early. What came before the error is good. All Reject.
// Cost: plain files are read as they are; zlib unpacks about 300 MB/s, zstd 800 MB/s.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/input_files.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace swarm::data {

class ByteStream {
 public:
    ByteStream() = default;
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;
    virtual ~ByteStream() = default;

    /// Returns how many bytes came, at least one; 0 at the end. Requires room for one.
    virtual Result<std::size_t> read(std::span<char> bytes) = 0;

    /// Bytes of the file that have been read, packed as they are.
    [[nodiscard]] virtual std::uint64_t consumed() const = 0;
};

/// Opens the file at this place of the unpacked bytes. A packed file is unpacked up to there.
Result<std::unique_ptr<ByteStream>> open_stream(const InputFile& file, std::uint64_t offset);

}  // namespace swarm::data
