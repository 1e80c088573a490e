// `swarm stack clusters`: documents in groups about one subject each, for members that are trained
// on one group and asked by the subject of a text (c-BTM, Gururangan et al. 2023, arXiv
// 2303.14177).
// Threading: the main thread. Errors: an exit code, and one line on stderr. The folder that it
// writes appears whole or not at all.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct StackClustersOptions {
    std::vector<std::string> paths;  // text files, JSONL files, and folders of them
    std::string folder;
    std::uint32_t clusters = 8;
    std::string field = "text";  // key of the text in each JSON line
    std::uint64_t seed = 1;
};

/// Adds the verb below `swarm stack`.
void add_clusters(CLI::App& stack, const OnChosen& on_chosen);

/// Does the work of the verb. Returns a line for each group.
Result<std::string> write_clusters(const StackClustersOptions& options);

int cluster_documents(const StackClustersOptions& options);

}  // namespace swarm::cli
