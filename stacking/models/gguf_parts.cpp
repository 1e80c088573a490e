#include "stacking/models/gguf_parts.hpp"

#include "stacking/models/limits.hpp"
#include "swarm/base/try.hpp"

#include <cstdio>
#include <optional>
#include <regex>
#include <set>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// Where a file says that it belongs: part `number` of `count`, from 1.
struct Place {
    std::uint64_t number = 1;
    std::uint64_t count = 1;

    friend bool operator==(const Place&, const Place&) = default;
};

struct PartName {
    std::string stem;  // before "-00001-of-00005.gguf"
    Place place;
};

Error bad_part(ErrorCode code, const std::string& what) {
    return {code, Reaction::Reject, "GGUF: " + what};
}

std::string describe(const Place& place) {
    return "part " + std::to_string(place.number) + " of " + std::to_string(place.count);
}

std::optional<PartName> parse_name(const fs::path& path) {
    static const std::regex kPattern(R"((.*)-(\d{5})-of-(\d{5})\.gguf)");
    const std::string name = path.filename().string();
    std::smatch found;
    if (!std::regex_match(name, found, kPattern)) {
        return std::nullopt;
    }
    return PartName{found[1], {std::stoul(found[2]), std::stoul(found[3])}};
}

fs::path path_of(const fs::path& folder, const std::string& stem, const Place& place) {
    char digits[64];
    std::snprintf(
        digits,
        sizeof digits,
        "-%05llu-of-%05llu.gguf",
        static_cast<unsigned long long>(place.number),
        static_cast<unsigned long long>(place.count)
    );
    return folder / (stem + digits);
}

std::optional<std::uint64_t> whole(const GgufHeader& header, const char* key) {
    if (const auto* const value = header.find<std::uint64_t>(key)) {
        return *value;
    }
    if (const auto* const value = header.find<std::int64_t>(key); value != nullptr && *value >= 0) {
        return static_cast<std::uint64_t>(*value);
    }
    return std::nullopt;
}

/// Returns none for a file that is no part of several. Numbers out of range are not checked.
std::optional<Place> place_of(const GgufHeader& header) {
    const std::uint64_t count = whole(header, "split.count").value_or(1);
    if (count == 1) {
        return std::nullopt;
    }
    return Place{whole(header, "split.no").value_or(0) + 1, count};
}

/// Adds the tensors of a part to those of the parts before it.
Result<> add_part(GgufParts& parts, std::unique_ptr<ByteSource> file, GgufHeader header) {
    if (header.tensors.size() > kTensorsMax - parts.header.tensors.size()) {
        return bad_part(ErrorCode::TooLarge, "too many tensors in all parts");
    }
    for (GgufTensor& tensor : header.tensors) {
        tensor.file = parts.files.size();
    }
    if (parts.files.empty()) {
        parts.header = std::move(header);
    } else {
        parts.header.tensors.insert(
            parts.header.tensors.end(),
            std::make_move_iterator(header.tensors.begin()),
            std::make_move_iterator(header.tensors.end())
        );
    }
    parts.files.push_back(std::move(file));
    return {};
}

Result<> read_part(GgufParts& parts, const fs::path& path, const Place& place) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
        return bad_part(
            ErrorCode::NotFound, describe(place) + " is missing: there is no " + path.string()
        );
    }
    SWARM_TRY(auto file, open_file(path));
    auto header = read_gguf_header(*file);
    if (!header) {
        return bad_part(header.error().code, describe(place) + ": " + header.error().detail);
    }
    const std::optional<Place> said = place_of(*header);
    if (said != place) {
        return bad_part(
            ErrorCode::Malformed,
            path.filename().string() + " says that it is " +
                (said ? describe(*said) : std::string("a model of one file"))
        );
    }
    return add_part(parts, std::move(file), std::move(*header));
}

}  // namespace

Result<GgufParts> read_gguf_parts(const fs::path& path, std::unique_ptr<ByteSource> file) {
    SWARM_TRY(auto header, read_gguf_header(*file));
    const std::optional<Place> place = place_of(header);
    GgufParts parts;
    if (!place) {
        SWARM_TRY(add_part(parts, std::move(file), std::move(header)));
        return parts;
    }
    if (place->count > kModelFilesMax) {
        return bad_part(
            ErrorCode::TooLarge,
            describe(*place) + "; at most " + std::to_string(kModelFilesMax) + " are read"
        );
    }
    const std::optional<PartName> name = parse_name(path);
    if (!name || name->place != *place) {
        return bad_part(
            ErrorCode::Malformed,
            "this is " + describe(*place) +
                " of a split model; the other parts can be found when "
                "its name ends as " +
                path_of({}, "NAME", *place).string()
        );
    }
    for (std::uint64_t number = 1; number <= place->count; ++number) {
        const Place each{number, place->count};
        SWARM_TRY(read_part(parts, path_of(path.parent_path(), name->stem, each), each));
    }
    std::set<std::string_view> names;
    for (const GgufTensor& tensor : parts.header.tensors) {
        if (!names.insert(tensor.name).second) {
            return bad_part(ErrorCode::Malformed, printable(tensor.name) + " is in two parts");
        }
    }
    const auto promised = whole(parts.header, "split.tensors.count");
    if (promised && *promised != parts.header.tensors.size()) {
        return bad_part(
            ErrorCode::Malformed,
            "the parts have " + std::to_string(parts.header.tensors.size()) + " tensors, not " +
                std::to_string(*promised)
        );
    }
    return parts;
}

fs::path first_gguf_part(const fs::path& path) {
    const std::optional<PartName> name = parse_name(path);
    return name ? path_of(path.parent_path(), name->stem, {1, name->place.count}) : path;
}

std::vector<fs::path> gguf_part_paths(const fs::path& path) {
    const std::optional<PartName> name = parse_name(path);
    if (!name || name->place.count > kModelFilesMax) {
        return {path};
    }
    std::vector<fs::path> paths;
    for (std::uint64_t number = 1; number <= name->place.count; ++number) {
        paths.push_back(path_of(path.parent_path(), name->stem, {number, name->place.count}));
    }
    return paths;
}

}  // namespace stacking::models
