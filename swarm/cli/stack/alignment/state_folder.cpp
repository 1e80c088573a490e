#include "swarm/cli/stack/alignment/state_folder.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"

#include <span>
#include <string>
#include <system_error>

namespace swarm::cli {
namespace {

constexpr const char* kSettingsName = "settings.txt";

}  // namespace

namespace fs = std::filesystem;
using stacking::composition::kManifestBytesMax;
using stacking::composition::kManifestName;
using stacking::composition::kShardBytesMax;
using stacking::composition::parse_shard;
using stacking::composition::parse_state_manifest;
using stacking::composition::shard_name;
using stacking::composition::StateKind;
using stacking::composition::StateManifest;
using stacking::composition::StateShard;

Result<StateShard> read_shard(const fs::path& folder, std::uint32_t number) {
    const fs::path file = folder / shard_name(number);
    SWARM_TRY(const std::string bytes, read_file(file, kShardBytesMax));
    return parse_shard(std::as_bytes(std::span(bytes)), file.string());
}

Result<StateManifest> read_state_manifest(const fs::path& folder, StateKind kind) {
    const fs::path file = folder / kManifestName;
    std::error_code ignored;
    const char* const verb =
        kind == StateKind::States ? "swarm stack states" : "swarm stack targets";
    if (!fs::exists(file, ignored)) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Reject,
            folder.string() + " has no " + kManifestName + "; `" + verb +
                "` writes such a folder, and goes on with one that it has begun"};
    }
    SWARM_TRY(const std::string text, read_file(file, kManifestBytesMax));
    SWARM_TRY(StateManifest manifest, parse_state_manifest(text, file.string()));
    if (manifest.kind != kind) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            folder.string() + " is of the other kind; `" + verb + "` writes what is wanted here"};
    }
    return manifest;
}

Result<bool> has_shard(const fs::path& folder, std::uint32_t number, const StateShard& wanted) {
    std::error_code ignored;
    if (!fs::exists(folder / shard_name(number), ignored)) {
        return false;
    }
    SWARM_TRY(const StateShard found, read_shard(folder, number));
    if (found.tokens != wanted.tokens || found.context != wanted.context) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            (folder / shard_name(number)).string() +
                " was written about other tokens; name another folder"};
    }
    return true;
}

Result<> write_shard(const fs::path& folder, std::uint32_t number, const StateShard& shard) {
    return write_durably(folder / shard_name(number), to_file(shard), "name another folder");
}

Result<> write_state_manifest(const fs::path& folder, const StateManifest& manifest) {
    const std::string text = to_json(manifest);
    return write_durably(
        folder / kManifestName, std::as_bytes(std::span(text)), "name another folder"
    );
}

Result<> begin_states(const fs::path& folder, const std::string& settings) {
    const auto refused = [&](const std::string& what) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            folder.string() + " " + what + "; name another folder"};
    };
    const fs::path file = folder / kSettingsName;
    std::error_code ignored;
    if (fs::exists(file, ignored)) {
        SWARM_TRY(const std::string begun, read_file(file, kManifestBytesMax));
        if (fs::exists(folder / kManifestName, ignored)) {
            return refused("is whole already");
        }
        return begun == settings ? Result<>() : refused("was begun with other settings");
    }
    SWARM_TRY(check_free(folder));
    return write_durably(file, std::as_bytes(std::span(settings)), "name another folder");
}

}  // namespace swarm::cli
