#include "swarm/data/text_sample.hpp"

#include "swarm/base/try.hpp"
#include "swarm/data/document_reader.hpp"
#include "swarm/data/input_files.hpp"
#include "swarm/data/utf8.hpp"

#include <algorithm>
#include <variant>

namespace swarm::data {
namespace {

constexpr std::size_t kShareMin = 4;  // a character

Result<> add_source(
    const Source& source, const std::filesystem::path& folder, std::size_t share, std::string& text
) {
    SWARM_TRY(const InputFiles inputs, find_input_files(source, folder));
    DocumentReader reader(inputs.files, source.field, {}, source.rows);
    std::size_t left = share;
    while (left >= kShareMin) {
        SWARM_TRY(const auto item, reader.next());
        if (!item) {
            break;
        }
        if (const auto* const piece = std::get_if<Piece>(&*item)) {
            const std::size_t taken =
                piece->text.size() <= left ? piece->text.size() : piece_end(piece->text, left);
            text += piece->text.substr(0, taken);
            left -= taken;
            if (piece->ends) {
                text += '\n';
                left -= std::min<std::size_t>(left, 1);
            }
            left = taken < piece->text.size() ? 0 : left;
        }
    }
    return {};
}

}  // namespace

Result<std::string> text_sample(
    const DataFile& data, const std::filesystem::path& folder, std::size_t bytes_max
) {
    std::string text;
    const std::size_t share = bytes_max / std::max<std::size_t>(1, data.sources.size());
    for (const Source& source : data.sources) {
        SWARM_TRY(add_source(source, folder, share, text));
    }
    return text;
}

}  // namespace swarm::data
