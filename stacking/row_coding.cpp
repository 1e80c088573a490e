#include "stacking/row_coding.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>

namespace stacking {

using compression::Codec;
using compression::CodecId;
using compression::TensorRole;

const Codec* find_row_codec(CodecId id) {
    return id <= swarm::protocol::kLastRowCodec ? compression::find_codec(id) : nullptr;
}

const Codec* find_row_codec(std::string_view name) {
    const Codec* const codec = compression::find_codec(name);
    return codec == nullptr ? nullptr : find_row_codec(codec->id());
}

std::string row_codec_names() {
    std::string names;
    for (int id = 0; id <= static_cast<int>(swarm::protocol::kLastRowCodec); ++id) {
        const std::string_view name = compression::find_codec(static_cast<CodecId>(id))->name();
        names.append(names.empty() ? "" : ", ").append(name);
    }
    return names;
}

std::optional<std::vector<RowCodec>> parse_row_codecs(std::string_view names) {
    std::vector<RowCodec> codecs;
    while (true) {
        const std::size_t comma = names.find(',');
        const std::string_view name = names.substr(0, comma);
        const Codec* const codec = find_row_codec(name);
        if (codec == nullptr && name != "auto") {
            return std::nullopt;
        }
        codecs.push_back(codec == nullptr ? RowCodec() : RowCodec(codec->id()));
        if (comma == std::string_view::npos) {
            return codecs;
        }
        names.remove_prefix(comma + 1);
    }
}

std::string to_text(std::span<const CodecId> codecs) {
    std::string text;
    for (const CodecId id : codecs) {
        text.append(text.empty() ? "" : ",").append(find_row_codec(id)->name());
    }
    return text;
}

RowCodec codec_of_link(std::span<const RowCodec> codecs, std::size_t link) {
    return codecs.empty() ? CodecId::None : codecs[std::min(link, codecs.size() - 1)];
}

std::size_t row_bytes(const Codec& codec, std::size_t width) {
    return codec.encoded_bytes(width);
}

swarm::Result<std::vector<std::byte>> encode_rows(
    const Codec& codec, std::size_t width, std::span<const float> rows
) {
    const std::size_t each = row_bytes(codec, width);
    std::vector<std::byte> bytes(rows.size() / width * each);
    for (std::size_t row = 0; row < rows.size() / width; ++row) {
        const auto to = std::span(bytes).subspan(row * each, each);
        const auto from = rows.subspan(row * width, width);
        SWARM_TRY(codec.encode(from, TensorRole::Activation, 0, to));
    }
    return bytes;
}

swarm::Result<> decode_rows(
    const Codec& codec, std::size_t width, std::span<const std::byte> bytes, std::span<float> rows
) {
    const std::size_t each = row_bytes(codec, width);
    SWARM_ASSERT(bytes.size() == rows.size() / width * each);
    for (std::size_t row = 0; row < rows.size() / width; ++row) {
        SWARM_TRY(codec.decode(bytes.subspan(row * each, each), rows.subspan(row * width, width)));
    }
    return {};
}

swarm::Result<> send_through(const Codec& codec, std::size_t width, std::span<float> rows) {
    SWARM_TRY(const auto coded, encode_rows(codec, width, rows));
    return decode_rows(codec, width, coded, rows);
}

}  // namespace stacking
