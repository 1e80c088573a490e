#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/data/data.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr std::uint64_t kSamplesMax = 10'000;
constexpr std::uint32_t kSampleContextMax = 1U << 20;

constexpr const char* kDataExamples = R"(
examples:
  swarm data build data.toml -o books       # tokenise once; again: goes on where it ended
  swarm data show books                     # documents, tokens and bad lines of each source
  swarm data sample books -n 3              # the first samples of a run, as text)";

constexpr const char* kBuildExamples = R"(
examples:
  swarm data build data.toml -o books
  swarm data build data.toml -o books --json books.json
data.toml:
  tokenizer = "smollm2"                     # bytes, spm:N, bpe:N, spm:FILE, or a model
  [[source]]
  name = "prose"
  paths = ["prose/*.parquet", "notes"]      # files, globs, folders: .txt .md .jsonl[.gz|.zst]
                                            # .parquet, as data sets of the Hugging Face hub are
  field = "text"                            # of each JSON line, or the column
  rows = "chat"                             # each line is {"messages": [..]}; default: "text"
  weight = 0.7                              # share of the samples; none: all are read alike
  bad_lines = "skip"                        # count and skip them; default: fatal
Ctrl-C, a full disk or a crash keep whole shards: the same command goes on behind them.)";

constexpr const char* kDataShowExamples = R"(
examples:
  swarm data show books
  swarm data show books --check             # reads and hashes every shard
  swarm data show books --fits smollm2      # whether the model has all ids)";

constexpr const char* kSampleExamples = R"(
examples:
  swarm data sample books -n 3
  swarm data sample books --from 1000 --context 64 --seed 7 --json samples.json
[[ and ]] stand around what a model reads and does not learn: all of a chat but its answers.)";

CLI::Option* add_folder(CLI::App& app, std::string& folder) {
    return app.add_option("folder", folder, "a folder that `swarm data build` has made")
        ->type_name("DIR")
        ->required();
}

void add_data_build(CLI::App& data, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(data, "build", "Tokenise the sources of a data file into shards", kBuildExamples);
    const auto options = std::make_shared<DataBuildOptions>();
    app.add_option("data", options->data_file, "the data file")->type_name("DATA.toml")->required();
    app.add_option("-o,--out", options->folder, "a new folder, or one where this build began")
        ->type_name("DIR")
        ->required();
    add_json(app, "write the figures", options->json_file);
    when_named<DataBuildOptions>(app, on_chosen, options, build_data_folder);
}

void add_data_show(CLI::App& data, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(data, "show", "Show what a built folder holds", kDataShowExamples);
    const auto options = std::make_shared<DataShowOptions>();
    add_folder(app, options->folder);
    app.add_flag("--check", options->check, "read all shards and compare their SHA-256");
    app.add_option("--fits", options->model, "refuse data with ids that this model lacks")
        ->type_name("MODEL");
    add_json(app, "write the figures", options->json_file);
    when_named<DataShowOptions>(app, on_chosen, options, show_data);
}

void add_data_sample(CLI::App& data, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(data, "sample", "Print samples of a run as text", kSampleExamples);
    const auto options = std::make_shared<DataSampleOptions>();
    add_folder(app, options->folder);
    app.add_option("-n,--samples", options->samples, "number of samples")
        ->check(CLI::Range(std::uint64_t{1}, kSamplesMax))
        ->capture_default_str();
    app.add_option("--from", options->from, "number of the first sample")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 48))
        ->capture_default_str();
    app.add_option("--context", options->context, "tokens of a sample, less one")
        ->check(CLI::Range(1U, kSampleContextMax))
        ->capture_default_str();
    app.add_option("--seed", options->seed, "seed of the order, as in a run file")
        ->capture_default_str();
    add_json(app, "write the samples", options->json_file);
    when_named<DataSampleOptions>(app, on_chosen, options, sample_data);
}

}  // namespace

void add_data(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        program, "data", "Make training data of text files, and look into it", kDataExamples
    );
    app.require_subcommand(1);
    add_data_build(app, on_chosen);
    add_data_show(app, on_chosen);
    add_data_sample(app, on_chosen);
}

}  // namespace swarm::cli
