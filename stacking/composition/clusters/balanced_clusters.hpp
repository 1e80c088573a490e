// Documents in groups of one size, each about its own subject: balanced k-means on their vectors.
// A round gives each document the nearest center that has room; documents that lose most by another
// center choose first. A center is the mean of its documents, of length 1.
// Invariant: sizes differ by at most one place of n / k, rounded up. The same documents and seed
// give the same clusters. Threading: a pure function.
// Cost: kRounds times the words of all documents times k. Memory: 4 k bytes per document.
// Source: c-BTM (arXiv 2303.14177, section 2.1). Deviation: the assignment is by regret, not by an
// auction, so its sum is near the best one and not the best.
#pragma once

#include "stacking/composition/clusters/tf_idf.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stacking::composition {

struct Clusters {
    std::vector<TermVector> centers;        // kCenterTerms words of each
    std::vector<std::uint32_t> cluster_of;  // by document
};

inline constexpr std::size_t kCenterTerms = 1024;

/// `words`: number of words of the vectors. REQUIRES: 0 < clusters <= documents.
Clusters balanced_clusters(
    std::span<const TermVector> documents,
    std::size_t words,
    std::uint32_t clusters,
    std::uint64_t seed
);

}  // namespace stacking::composition
