#include "swarm/cli/setup/run_setup.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/setup/base_model.hpp"
#include "swarm/run/run_file/config_settings.hpp"
#include "swarm/run/training/tokenizer_names.hpp"

#include <utility>

namespace swarm::cli {
namespace {

constexpr std::uint64_t kRunFileBytesMax = 1U << 20;

template <class Field>
void override_with(const std::optional<Field>& flag, Field& field) {
    if (flag) {
        field = *flag;
    }
}

/// `key`: its name in a run file, for the error.
template <class Choice>
Result<> override_choice(const std::optional<std::string>& flag, const char* key, Choice& choice) {
    if (flag) {
        SWARM_TRY(choice, run::parse_choice<Choice>(key, *flag));
    }
    return {};
}

void override_tokenizer(const RunFlags& flags, run::RunConfig& config) {
    if (flags.tokenizer && *flags.tokenizer != config.tokenizer) {
        if (run::trained_tokens(config.tokenizer) && !flags.model) {
            config.model.vocabulary =
                run::ModelConfig{}.vocabulary;  // it was that of the former tokenizer
        }
        config.tokenizer = *flags.tokenizer;
        config.tokenizer_sha256.clear();
    }
    if (flags.tokenizer || flags.model) {
        run::follow_tokenizer(config);
    }
}

Result<> override_model(const RunFlags& flags, run::RunConfig& config) {
    if (flags.init && flags.model) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--model and --init name two models; --init alone says what is trained"};
    }
    if (flags.init) {
        config.init = *flags.init;
        config.init_sha256.clear();  // it was that of the former model
    }
    if (flags.model) {
        SWARM_TRY(config.model, run::named_model(*flags.model));
    }
    if (flags.stages && *flags.stages != config.stages) {
        config.layers_per_stage.clear();  // the list was meant for another number of stages
    }
    override_with(flags.stages, config.stages);
    return {};
}

}  // namespace

Result<run::RunConfig> resolve_run(const std::filesystem::path& run_file, const RunFlags& flags) {
    run::RunConfig config;
    if (!run_file.empty()) {
        SWARM_TRY(const std::string text, read_file(run_file, kRunFileBytesMax));
        SWARM_TRY(config, run::parse_run(text, run_file.string()));
    }
    SWARM_TRY(override_model(flags, config));
    override_with(flags.steps, config.steps);
    override_with(flags.seed, config.seed);
    override_with(flags.microbatches, config.microbatches);
    override_with(flags.in_flight, config.in_flight);
    SWARM_TRY(override_choice(flags.policy, "run.policy", config.policy));
    SWARM_TRY(override_choice(flags.codec, "run.codec", config.codec));
    SWARM_TRY(override_choice(flags.split, "run.split", config.split));
    SWARM_TRY(override_choice(flags.mode, "run.mode", config.mode));
    override_with(flags.sync_every, config.sync_every);
    override_with(flags.replicas, config.replicas);
    if (flags.corpus && *flags.corpus != config.corpus) {
        config.corpus = *flags.corpus;
        config.corpus_sha256.clear();  // it was that of the former corpus
    }
    override_with(flags.checkpoint_every, config.checkpoint_every);
    override_with(flags.min_peers, config.min_peers);
    override_tokenizer(flags, config);
    SWARM_TRY(run::set_keys(config, flags.settings));
    if (!config.init.empty() && config.init_sha256.empty()) {
        const bool named = flags.init || run::sets_key(flags.settings, "run.init");
        const auto folder = named ? std::filesystem::path() : run_file.parent_path();
        SWARM_TRY(open_base_model(config, folder));
    }
    SWARM_TRY(run::check_run(config));
    return config;
}

std::filesystem::path corpus_folder(const std::filesystem::path& run_file, const RunFlags& flags) {
    const bool named = flags.corpus || run::sets_key(flags.settings, "run.corpus");
    return named ? std::filesystem::path() : run_file.parent_path();
}

std::filesystem::path held_out_folder(
    const std::filesystem::path& run_file, const RunFlags& flags
) {
    return run::sets_key(flags.settings, "eval.texts") ? std::filesystem::path()
                                                       : run_file.parent_path();
}

}  // namespace swarm::cli
