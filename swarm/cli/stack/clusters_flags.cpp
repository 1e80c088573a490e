#include "stacking/composition/ensemble.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/clusters.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kClustersExamples = R"(
examples:
  swarm stack clusters books -k 4 -o groups         # groups/cluster-1.txt ... and clusters.json
  swarm stack branch runs/base --sources groups/cluster-*.txt -o members
  swarm stack new four.toml --clusters groups/clusters.json --experts 2 \
    --member runs/cluster-1 --member runs/cluster-2 --member runs/cluster-3 --member runs/cluster-4
  swarm stack clusters news.jsonl -k 8 -o groups    # groups/cluster-1.jsonl ...
Texts are cut at blank lines into documents of about 2,000 bytes; a line of JSONL is a document.
Groups have about equally many documents. Member N of the stack has learnt group N, and a text asks
the members whose groups have its words.)";

}  // namespace

void add_clusters(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "clusters", "Split documents into groups by subject", kClustersExamples);
    const auto options = std::make_shared<StackClustersOptions>();
    app.add_option("paths", options->paths, ".txt, .md, .jsonl[.gz|.zst], .parquet, or folders")
        ->type_name("FILE")
        ->required();
    app.add_option("-k,--clusters", options->clusters, "number of groups")
        ->check(CLI::Range(std::size_t{2}, stacking::composition::kMembersMax))
        ->capture_default_str();
    app.add_option("-o,--out", options->folder, "an empty folder, or a new one")
        ->type_name("DIR")
        ->required();
    app.add_option("--field", options->field, "the text of each JSON line, or its column")
        ->capture_default_str();
    app.add_option("--seed", options->seed, "seed of the first centers")->capture_default_str();
    when_named<StackClustersOptions>(app, on_chosen, options, cluster_documents);
}

}  // namespace swarm::cli
