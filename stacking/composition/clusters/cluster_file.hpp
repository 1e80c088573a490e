// clusters.json: the words and the centers of `swarm stack clusters`, by which a text finds the
// members of a stack that know its subject. Member i of the stack was trained on cluster i.
//   {"format": 1, "words": ["of", ..], "rarity": [0.1, ..], "centers": [[[word, weight], ..], ..]}
// Threading: values and pure functions.
// Errors: Malformed, TooLarge (Reject): one line that names the file. Bounds: kClusterBytesMax.
#pragma once

#include "stacking/composition/clusters/tf_idf.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::composition {

inline constexpr std::size_t kClusterBytesMax = 16U << 20;

struct ClusterFile {
    TfIdf words;
    std::vector<TermVector> centers;
};

/// `name`: the file's, for errors.
swarm::Result<ClusterFile> parse_clusters(std::string_view json, const std::string& name);
std::string to_json(const ClusterFile& clusters);

/// The share of each cluster in a text, with the sum 1: exp(-distance^2 / T) with T = 0.1. With
/// `most` above 0 so many have a share, and the others 0. A text without known words has equal
/// shares of all.
/// Source: c-BTM (arXiv 2303.14177, section 2.2).
std::vector<double> cluster_shares(
    const ClusterFile& clusters, std::string_view text, std::size_t most
);

}  // namespace stacking::composition
