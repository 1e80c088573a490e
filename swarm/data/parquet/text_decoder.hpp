// The texts of a page, one after another, in each encoding that a writer chooses.
// Invariant: a text lies within the bytes of its page or dictionary, or is put together from such;
// it is valid until the next call.
// Threading: one thread. Errors: Malformed (Reject): a length or an index that leads out of the
// page, or an encoding that is not read. Memory: DELTA_BYTE_ARRAY keeps one text, all else none.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/parquet/page_header.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace swarm::data::parquet {

class TextDecoder {
 public:
    TextDecoder() = default;
    TextDecoder(const TextDecoder&) = delete;
    TextDecoder& operator=(const TextDecoder&) = delete;
    virtual ~TextDecoder() = default;

    virtual Result<std::string_view> next() = 0;
};

/// The texts that the pages of a chunk name by index.
class Dictionary {
 public:
    Dictionary() = default;

    static Result<Dictionary> read(std::vector<char> bytes, std::uint32_t count);

    [[nodiscard]] std::size_t size() const { return places_.size(); }

    /// Requires an index below size().
    [[nodiscard]] std::string_view at(std::size_t index) const;

 private:
    std::vector<char> bytes_;
    std::vector<std::uint32_t> places_;  // offset of each text's length
};

/// `bytes` and `dictionary` outlive the decoder; a null dictionary stands for none.
Result<std::unique_ptr<TextDecoder>> make_text_decoder(
    Encoding encoding, std::string_view bytes, const Dictionary* dictionary
);

}  // namespace swarm::data::parquet
