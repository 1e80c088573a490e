// The functions of checkpoint.hpp that touch the disk.
#include "stages/files/checkpoint.hpp"
#include "stages/files/checkpoint_manifest.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace stages {

namespace fs = std::filesystem;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr std::uint64_t kManifestBytesMax = 16ULL << 20;

Error storage_failed(const fs::path& path, int code) {
    return swarm::write_error(path, code, "choose another folder");
}

Error unreadable(ErrorCode code, const fs::path& path, const std::string& what) {
    return {code, Reaction::Reject, path.string() + " " + what};
}

class FileDescriptor {
 public:
    FileDescriptor(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags, 0644)) {}

    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;

    ~FileDescriptor() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }

    [[nodiscard]] bool ok() const { return fd_ >= 0; }

    [[nodiscard]] bool write(std::span<const std::byte> bytes) const {
        while (!bytes.empty()) {
            const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written <= 0) {
                return false;
            }
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
        return true;
    }

    [[nodiscard]] bool sync() const { return ::fsync(fd_) == 0; }

 private:
    int fd_;
};

bool sync_folder(const fs::path& folder) {
    const FileDescriptor opened(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return opened.ok() && opened.sync();
}

Result<> write_file(const fs::path& path, std::span<const std::byte> bytes) {
    fs::path temporary = path;
    temporary += ".tmp";
    {
        const FileDescriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
        if (!file.ok() || !file.write(bytes) || !file.sync()) {
            return storage_failed(temporary, errno);
        }
    }
    std::error_code code;
    fs::rename(temporary, path, code);
    if (code || !sync_folder(path.parent_path())) {
        return storage_failed(path, code ? code.value() : errno);
    }
    return {};
}

/// Reads a whole file, which must have exactly `bytes` bytes.
Result<std::vector<std::byte>> read_file(const fs::path& path, std::uint64_t bytes) {
    std::error_code code;
    const std::uintmax_t size = fs::file_size(path, code);
    if (code) {
        return unreadable(ErrorCode::NotFound, path, "is missing");
    }
    if (size != bytes) {
        return unreadable(
            ErrorCode::Malformed,
            path,
            "has " + std::to_string(size) + " bytes, not " + std::to_string(bytes)
        );
    }
    std::vector<std::byte> content(bytes);
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(bytes));
    if (!file) {
        return unreadable(ErrorCode::Malformed, path, "cannot be read");
    }
    return content;
}

Result<CheckpointManifest> read_manifest(const fs::path& folder) {
    const fs::path path = folder / kManifestFile;
    std::error_code code;
    const std::uintmax_t size = fs::file_size(path, code);
    if (code) {
        return unreadable(ErrorCode::NotFound, path, "is missing: it was never finished");
    }
    if (size > kManifestBytesMax) {
        return unreadable(ErrorCode::TooLarge, path, "is larger than 16 MiB");
    }
    SWARM_TRY(const auto content, read_file(path, size));
    auto manifest = parse_manifest({reinterpret_cast<const char*>(content.data()), content.size()});
    if (manifest.has_error()) {
        return Error{
            manifest.error().code,
            manifest.error().reaction,
            folder.string() + ": " + manifest.error().detail};
    }
    return manifest;
}

/// Reads a whole file and checks its SHA-256 against the manifest.
Result<std::vector<std::byte>> read_whole(
    const fs::path& folder, const CheckpointManifest::File& file
) {
    const fs::path path = folder / file.name;
    auto content = read_file(path, file.bytes);
    if (content.has_value() && swarm::to_hex(swarm::sha256(*content)) != file.sha256) {
        return unreadable(ErrorCode::Malformed, path, "is damaged: its SHA-256 is another");
    }
    return content;
}

Result<Safetensors> read_tensors(const fs::path& folder, const CheckpointManifest::File& file) {
    const fs::path path = folder / file.name;
    SWARM_TRY(const auto content, read_whole(folder, file));
    auto tensors = Safetensors::parse(content);
    if (tensors.has_error()) {
        return unreadable(tensors.error().code, path, "is bad: " + tensors.error().detail);
    }
    return tensors;
}

/// The version in the name of a checkpoint's folder; empty for other folders.
std::optional<swarm::ParameterVersion> version_of(const std::string& name) {
    constexpr std::string_view kPrefix = "checkpoint-";
    if (name.compare(0, kPrefix.size(), kPrefix) != 0) {
        return {};
    }
    swarm::ParameterVersion version;
    const char* const end = name.data() + name.size();
    const auto gen = std::from_chars(name.data() + kPrefix.size(), end, version.gen);
    if (gen.ec != std::errc() || gen.ptr == end || *gen.ptr != '-') {
        return {};
    }
    const auto step = std::from_chars(gen.ptr + 1, end, version.step);
    if (step.ec != std::errc() || step.ptr != end) {
        return {};
    }
    return version;
}

/// Lists the folders with the name of a checkpoint, newest first.
std::vector<std::pair<swarm::ParameterVersion, fs::path>> list_checkpoints(const fs::path& parent) {
    std::vector<std::pair<swarm::ParameterVersion, fs::path>> found;
    std::error_code code;
    for (fs::directory_iterator at(parent, code), end; !code && at != end; at.increment(code)) {
        if (const auto version = version_of(at->path().filename().string())) {
            found.emplace_back(*version, at->path());
        }
    }
    std::sort(found.rbegin(), found.rend());
    return found;
}

/// True when the checkpoint was finished and each file has its size. Reads no tensor.
bool has_all_files(const fs::path& folder) {
    const auto manifest = read_manifest(folder);
    return manifest.has_value() &&
           std::ranges::all_of(manifest->files, [&](const CheckpointManifest::File& file) {
               std::error_code code;
               return fs::file_size(folder / file.name, code) == file.bytes;
           });
}

bool stays_for_ever(
    swarm::ParameterVersion version, const fs::path& folder, const swarm::run::RunConfig& config
) {
    std::error_code ignored;
    return config.checkpoint_keep_every > 0 && version.step % config.checkpoint_keep_every == 0 &&
           fs::exists(folder / kManifestFile, ignored);
}

}  // namespace

std::vector<fs::path> checkpoint_folders(const fs::path& parent) {
    std::vector<fs::path> folders;
    for (auto& [version, folder] : list_checkpoints(parent)) {
        folders.push_back(std::move(folder));
    }
    return folders;
}

void remove_unfinished_checkpoints(const fs::path& parent) {
    std::error_code ignored;  // where nothing can be removed, the next start passes it over
    for (const fs::path& folder : checkpoint_folders(parent)) {
        if (!fs::exists(folder / kManifestFile, ignored)) {
            fs::remove_all(folder, ignored);
        }
    }
}

std::vector<fs::path> checkpoints_to_prune(
    const fs::path& parent, const std::string& newest, const swarm::run::RunConfig& config
) {
    const auto written = version_of(newest);
    SWARM_ASSERT(written.has_value());
    std::vector<fs::path> old;
    std::uint32_t kept = 0;
    for (auto& [version, folder] : list_checkpoints(parent)) {
        if (config.checkpoint_keep == 0 || version > *written) {
            continue;  // a later one is being written, or somebody has to look at it
        }
        const bool is_recent =
            kept < config.checkpoint_keep && (version == *written || has_all_files(folder));
        kept += is_recent ? 1 : 0;
        if (!is_recent && !stays_for_ever(version, folder, config)) {
            old.push_back(std::move(folder));
        }
    }
    return old;
}

Result<> prune_checkpoints(
    const fs::path& parent, const std::string& newest, const swarm::run::RunConfig& config
) {
    for (const fs::path& folder : checkpoints_to_prune(parent, newest, config)) {
        std::error_code code;
        fs::remove(folder / kManifestFile, code);  // a crash leaves none that looks whole
        if (!code) {
            fs::remove_all(folder, code);
        }
        if (code) {
            return Error{
                ErrorCode::StorageFailed,
                Reaction::Retry,
                "cannot remove the old checkpoint " + folder.string() + ": " + code.message()};
        }
    }
    return {};
}

Result<fs::path> write_checkpoint(
    const fs::path& parent,
    const swarm::run::RunConfig& config,
    std::span<const StageState* const> stages,
    std::string_view tokenizer,
    std::span<const ReplicaView> replicas
) {
    const auto made = checkpoint_files(config, stages, tokenizer, replicas);
    const fs::path folder = parent / made.name;
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) {
        return storage_failed(folder, code.value());
    }
    for (const swarm::run::CheckpointFile& file : made.files) {
        if (const auto written = write_file(parent / file.name, file.content().bytes()); !written) {
            remove_unfinished_checkpoints(parent);
            return written.error();
        }
    }
    if (!sync_folder(parent)) {
        return storage_failed(parent, errno);
    }
    return folder;
}

Result<Checkpoint> read_checkpoint(const fs::path& folder) {
    SWARM_TRY(auto manifest, read_manifest(folder));
    auto config = swarm::run::parse_run(manifest.run_file, folder.string());
    if (config.has_error()) {
        return unreadable(ErrorCode::Malformed, folder, "has a bad run: " + config.error().detail);
    }
    Checkpoint checkpoint;
    checkpoint.version = manifest.version;
    checkpoint.config = std::move(*config);
    checkpoint.run_file = std::move(manifest.run_file);
    checkpoint.run_file_hash = swarm::sha256(std::as_bytes(std::span(checkpoint.run_file)));
    for (const CheckpointManifest::File& file : manifest.files) {
        if (file.name == kTokenizerFile) {
            SWARM_TRY(read_whole(folder, file));
            continue;
        }
        SWARM_TRY(auto tensors, read_tensors(folder, file));
        checkpoint.files.emplace(file.name, std::move(tensors));
    }
    return checkpoint;
}

Result<FoundCheckpoint> find_latest(const fs::path& parent) {
    std::vector<std::string> notices;
    for (const auto& [version, folder] : list_checkpoints(parent)) {
        auto checkpoint = read_checkpoint(folder);
        if (checkpoint.has_value() && checkpoint->version == version) {
            return FoundCheckpoint{std::move(*checkpoint), folder, std::move(notices)};
        }
        notices.push_back(
            checkpoint.has_error() ? checkpoint.error().detail
                                   : folder.string() + " holds another version than its name says"
        );
    }
    std::string detail = "no whole checkpoint in " + parent.string();
    for (const std::string& notice : notices) {
        detail += "; " + notice;
    }
    return Error{ErrorCode::NotFound, Reaction::Reject, std::move(detail)};
}

}  // namespace stages
