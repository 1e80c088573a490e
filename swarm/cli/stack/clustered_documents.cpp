#include "swarm/cli/stack/clustered_documents.hpp"

#include "swarm/base/try.hpp"
#include "swarm/data/document_reader.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace swarm::cli {
namespace {

constexpr std::size_t kPartBytes = 2000;

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

void each_part(std::string_view text, const std::function<void(std::string_view)>& take) {
    std::size_t begin = 0;
    std::size_t end = 0;
    while (end < text.size()) {
        const std::size_t blank = text.find("\n\n", end);
        end = blank == std::string_view::npos ? text.size() : text.find_first_not_of('\n', blank);
        end = std::min(end, text.size());
        if (end - begin >= kPartBytes || end == text.size()) {
            const std::string_view part = text.substr(begin, end - begin);
            if (!is_blank(part)) {
                take(part);
            }
            begin = end;
        }
    }
}

Result<ClusteredDocuments> ClusteredDocuments::find(
    const std::vector<std::string>& paths, const std::string& field
) {
    data::Source source;
    source.paths = paths;
    ClusteredDocuments found;
    SWARM_TRY(found.inputs_, data::find_input_files(source, {}));
    found.field_ = field;
    return found;
}

Result<> ClusteredDocuments::each(const std::function<Result<>(std::string_view)>& take) const {
    data::DocumentReader reader(inputs_.files, field_);
    std::string line;  // the document of a JSON line, which may come in several pieces
    std::size_t count = 0;
    Result<> taken;
    const auto take_one = [&](std::string_view document) {
        if (taken && ++count > kDocumentsMax) {
            taken = Error{
                ErrorCode::TooLarge,
                Reaction::Reject,
                "these are more than " + std::to_string(kDocumentsMax) + " documents"};
        }
        if (taken) {
            taken = take(document);
        }
    };
    while (taken) {
        SWARM_TRY(const auto item, reader.next());
        if (!item) {
            break;
        }
        if (const auto* const bad = std::get_if<data::BadLine>(&*item)) {
            return Error{ErrorCode::Malformed, Reaction::Reject, bad->text()};
        }
        const auto& piece = std::get<data::Piece>(*item);
        const auto file = static_cast<std::size_t>(piece.before.file);
        if (inputs_.files[file].format == data::InputFormat::Text) {
            each_part(piece.text, take_one);
            continue;
        }
        line += piece.text;
        if (piece.ends) {
            if (!is_blank(line)) {
                take_one(line);
            }
            line.clear();
        }
    }
    return taken;
}

bool ClusteredDocuments::are_plain() const {
    return std::ranges::all_of(inputs_.files, [](const data::InputFile& file) {
        return file.format == data::InputFormat::Text;
    });
}

}  // namespace swarm::cli
