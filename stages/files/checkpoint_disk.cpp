// The functions of checkpoint.hpp that touch the disk.
#include "stages/files/best_checkpoint.hpp"
#include "stages/files/checkpoint.hpp"
#include "stages/files/checkpoint_manifest.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace stages {

namespace fs = std::filesystem;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr std::uint64_t kManifestBytesMax = 16ULL << 20;

Error unreadable(ErrorCode code, const fs::path& path, const std::string& what) {
    return {code, Reaction::Reject, path.string() + " " + what};
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
    const std::optional<BestCheckpoint> best = read_best_checkpoint(parent);
    for (auto& [version, folder] : list_checkpoints(parent)) {
        if (config.checkpoint_keep == 0 || version > *written) {
            continue;  // a later one is being written, or somebody has to look at it
        }
        const bool is_recent =
            kept < config.checkpoint_keep && (version == *written || has_all_files(folder));
        kept += is_recent ? 1 : 0;
        const bool is_best = best && folder.filename() == best->name;
        if (!is_recent && !is_best && !stays_for_ever(version, folder, config)) {
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
    for (const swarm::run::CheckpointFile& file : made.files) {
        const auto content = file.content();
        const auto written =
            swarm::write_durably(parent / file.name, content.bytes(), "choose another folder");
        if (!written) {
            remove_unfinished_checkpoints(parent);
            return written.error();
        }
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
        if (is_tokenizer_file(file.name)) {
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
