#include "swarm/data/build_folder.hpp"

#include "swarm/base/try.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <system_error>

namespace swarm::data {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kBuildName = "build.json";
constexpr const char* kElsewhere = "name another folder";

Error folder_error(ErrorCode code, const fs::path& folder, const std::string& what) {
    return {code, Reaction::Reject, folder.string() + " " + what};
}

/// Hashes texts and numbers so that no two lists give the same bytes.
class PartHash {
 public:
    PartHash& add(const std::string& text) {
        add(text.size());
        hash_.add_text(text);
        return *this;
    }

    PartHash& add(std::uint64_t number) {
        hash_.add(std::as_bytes(std::span(&number, 1)));
        return *this;
    }

    Digest finish() { return hash_.finish(); }

 private:
    Sha256 hash_;
};

std::string build_text(const BuildParts& parts) {
    json::object object{{"format", "swarm data build 1"}};
    for (const auto& [name, digest] : parts) {
        object[name] = to_hex(digest);
    }
    return json::serialize(object) + "\n";
}

/// Returns the name of the first part that the text of another build has otherwise.
std::string changed_part(const std::string& there, const BuildParts& parts) {
    for (const auto& [name, digest] : parts) {
        if (there.find("\"" + name + "\":\"" + to_hex(digest) + "\"") == std::string::npos) {
            return name;
        }
    }
    return "format";
}

bool is_empty_folder(const fs::path& folder) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
        // A process that was killed may have left it.
        if (entry.path().filename() != std::string(kBuildName) + ".draft") {
            return false;
        }
    }
    return !code;
}

}  // namespace

BuildParts parts_of_build(
    const DataFile& data, const Encoder& encoder, const std::vector<InputFiles>& inputs
) {
    PartHash tokenizer;
    for (const std::byte byte : encoder.digest.bytes) {
        tokenizer.add(std::to_integer<std::uint64_t>(byte));
    }
    tokenizer.add(encoder.vocabulary).add(encoder.end_token);
    PartHash sources;
    sources.add(data.shard_tokens);
    for (const Source& source : data.sources) {
        sources.add(source.name).add(source.field);
        if (source.rows == RowKind::Chat) {
            sources.add("chat").add(encoder.chat_template);
        }
    }
    PartHash files;
    for (const InputFiles& input : inputs) {
        files.add(input.files.size());
        for (const InputFile& file : input.files) {
            files.add(file.path.string()).add(file.bytes);
            files.add(static_cast<std::uint64_t>(file.changed_ns));
        }
    }
    return {
        {"tokenizer", tokenizer.finish()},
        {"sources", sources.finish()},
        {"input files", files.finish()}};
}

Result<BuildFolder> BuildFolder::open(const fs::path& path, const BuildParts& parts) {
    SWARM_TRY(make_folder(path, kElsewhere));
    FileDescriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock.is_open()) {
        return folder_error(
            ErrorCode::StorageFailed,
            path,
            "cannot be opened: " + std::generic_category().message(errno)
        );
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return folder_error(
            ErrorCode::Usage, path, "is in use by another build; wait for it or name another folder"
        );
    }
    const std::string text = build_text(parts);
    std::ifstream in(path / kBuildName, std::ios::binary);
    if (in) {
        std::ostringstream there;
        there << in.rdbuf();
        if (there.str() != text) {
            return folder_error(
                ErrorCode::Mismatch,
                path,
                "holds a build whose " + changed_part(there.str(), parts) +
                    " differ; remove it or name another folder"
            );
        }
    } else if (is_empty_folder(path)) {
        SWARM_TRY(write_durably(path / kBuildName, std::as_bytes(std::span(text)), kElsewhere));
    } else {
        return folder_error(
            ErrorCode::Usage, path, "is not empty and no build began there; name another folder"
        );
    }
    return BuildFolder(path, std::move(lock));
}

Result<std::vector<ShardHeader>> BuildFolder::shards_of(
    const std::string& name, std::uint32_t source, std::uint32_t id_bytes
) const {
    std::vector<ShardHeader> headers;
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    while (headers.size() < kShardsMax && (headers.empty() || !headers.back().is_last)) {
        const auto number = static_cast<std::uint32_t>(headers.size());
        const fs::path file = path_ / shard_name(name, number);
        std::error_code ignored;
        if (!fs::exists(file, ignored)) {
            break;
        }
        auto shard = Shard::open(file);
        if (shard.has_error()) {
            const Error& error = shard.error();
            return Error{
                error.code,
                error.reaction,
                error.detail + "; remove " + path_.string() + " and build it again"};
        }
        const ShardHeader& header = shard->header();
        if (header.source != source || header.shard != number || header.id_bytes != id_bytes ||
            header.first_token != tokens || header.first_document != documents) {
            return folder_error(
                ErrorCode::Malformed,
                file,
                "does not follow the shard before; remove " + path_.string() + " and build it again"
            );
        }
        tokens += header.tokens;
        documents += header.documents_begun();
        headers.push_back(header);
    }
    return headers;
}

}  // namespace swarm::data
