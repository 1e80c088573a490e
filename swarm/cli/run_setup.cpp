#include "swarm/cli/run_setup.hpp"

#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRunFileBytesMax = 1U << 20;
constexpr std::uint64_t kSwarmKeyBytesMax = 4096;

Error rejected(ErrorCode code, std::string detail) {
    return {code, Reaction::Reject, std::move(detail)};
}

template <class Field>
void override_with(const std::optional<Field>& flag, Field& field) {
    if (flag) {
        field = *flag;
    }
}

void override_tokenizer(const RunFlags& flags, run::RunConfig& config) {
    if (flags.tokenizer && *flags.tokenizer != config.tokenizer) {
        if (run::sentencepiece_tokens(config.tokenizer) && !flags.model) {
            config.model.vocabulary = run::ModelConfig{}.vocabulary;  // it followed the other one
        }
        config.tokenizer = *flags.tokenizer;
        config.tokenizer_sha256.clear();
    }
    if (flags.tokenizer || flags.model) {
        run::follow_tokenizer(config);
    }
}

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

fs::path cache_folder() {
    if (const std::string deps = environment("SWARM_DEPS"); !deps.empty()) {
        return deps;
    }
    const std::string cache = environment("XDG_CACHE_HOME");
    const fs::path base =
        cache.empty() ? fs::path(environment("HOME")) / ".cache" : fs::path(cache);
    return base / "swarm";
}

Result<std::string> read_file(const fs::path& path, std::uint64_t bytes_max) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (error) {
        return rejected(
            ErrorCode::NotFound, "cannot read " + path.string() + ": " + error.message()
        );
    }
    if (size > bytes_max) {
        return rejected(
            ErrorCode::TooLarge,
            path.string() + " is larger than " + std::to_string(bytes_max) + " bytes"
        );
    }
    std::string text(size, '\0');
    std::ifstream in(path, std::ios::binary);
    if (!in.read(text.data(), static_cast<std::streamsize>(size))) {
        return rejected(ErrorCode::NotFound, "cannot read " + path.string());
    }
    return text;
}

Result<run::RunConfig> resolve_run(const fs::path& run_file, const RunFlags& flags) {
    run::RunConfig config;
    if (!run_file.empty()) {
        const Result<std::string> text = read_file(run_file, kRunFileBytesMax);
        if (!text) {
            return text.error();
        }
        Result<run::RunConfig> parsed = run::parse_run(*text, run_file.string());
        if (!parsed) {
            return parsed.error();
        }
        config = std::move(*parsed);
    }
    if (flags.model) {
        const Result<run::ModelConfig> model = run::named_model(*flags.model);
        if (!model) {
            return model.error();
        }
        config.model = *model;
    }
    if (flags.stages && *flags.stages != config.stages) {
        config.layers_per_stage.clear();  // it was meant for another number of stages
    }
    override_with(flags.stages, config.stages);
    override_with(flags.steps, config.steps);
    override_with(flags.seed, config.seed);
    override_with(flags.microbatches, config.microbatches);
    override_with(flags.in_flight, config.in_flight);
    override_with(flags.policy, config.policy);
    override_with(flags.codec, config.codec);
    override_with(flags.split, config.split);
    if (flags.mode) {
        config.mode = *flags.mode == "sparse" ? run::SyncMode::Sparse : run::SyncMode::Exact;
    }
    override_with(flags.sync_every, config.sync_every);
    override_with(flags.replicas, config.replicas);
    override_with(flags.corpus, config.corpus);
    override_with(flags.checkpoint_every, config.checkpoint_every);
    override_with(flags.min_peers, config.min_peers);
    override_tokenizer(flags, config);
    if (const Result<> checked = run::check_run(config); !checked) {
        return checked.error();
    }
    return config;
}

Result<std::string> read_swarm_key(const std::string& file) {
    if (file.empty()) {
        return std::string();
    }
    Result<std::string> key = read_file(file, kSwarmKeyBytesMax);
    if (!key) {
        return key.error();
    }
    key->erase(key->find_last_not_of(" \t\r\n") + 1);
    if (key->empty()) {
        return rejected(ErrorCode::Usage, "the swarm key file " + file + " is empty");
    }
    return key;
}

}  // namespace swarm::cli
