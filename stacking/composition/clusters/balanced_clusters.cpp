#include "stacking/composition/clusters/balanced_clusters.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stacking::composition {

using swarm::Rng;

namespace {

constexpr int kRounds = 20;
constexpr std::uint64_t kDraw = 0x636c7573;  // stream of the random numbers

using Center = std::vector<double>;  // one weight per word

double likeness(const TermVector& document, const Center& center) {
    double sum = 0;
    for (const Term& term : document) {
        sum += double{term.weight} * center[term.word];
    }
    return sum;
}

Center center_of(const TermVector& document, std::size_t words) {
    Center center(words);
    for (const Term& term : document) {
        center[term.word] = double{term.weight};
    }
    return center;
}

/// Draws each first center with a chance that grows with its distance from those before
/// (k-means++, Arthur and Vassilvitskii 2007).
std::vector<Center> first_centers(
    std::span<const TermVector> documents, std::size_t words, std::uint32_t clusters, Rng& draw
) {
    std::vector<Center> centers{center_of(documents[draw.below(documents.size())], words)};
    std::vector<double> distance(documents.size(), 2);
    while (centers.size() < clusters) {
        double sum = 0;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            const double now = std::max(0.0, 2 - 2 * likeness(documents[i], centers.back()));
            distance[i] = std::min(distance[i], now);
            sum += distance[i];
        }
        double left = draw.unit() * sum;
        std::size_t chosen = 0;
        while (chosen + 1 < documents.size() && left >= distance[chosen]) {
            left -= distance[chosen++];
        }
        centers.push_back(center_of(documents[chosen], words));
    }
    return centers;
}

/// Gives each document a cluster with room, those that lose most by their second choice first.
std::vector<std::uint32_t> assign(
    std::span<const TermVector> documents, const std::vector<Center>& centers
) {
    const std::size_t count = centers.size();
    std::vector<float> likes(documents.size() * count);
    std::vector<float> regret(documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
        float best = -1;
        float second = -1;
        for (std::size_t k = 0; k < count; ++k) {
            const auto like = static_cast<float>(likeness(documents[i], centers[k]));
            likes[i * count + k] = like;
            second = std::max(second, std::min(best, like));
            best = std::max(best, like);
        }
        regret[i] = best - second;
    }
    std::vector<std::size_t> order(documents.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return regret[a] > regret[b];
    });
    std::vector<std::size_t> room(count, (documents.size() + count - 1) / count);
    std::vector<std::uint32_t> cluster_of(documents.size());
    for (const std::size_t i : order) {
        std::size_t chosen = count;
        for (std::size_t k = 0; k < count; ++k) {
            const bool nearer = chosen == count || likes[i * count + k] > likes[i * count + chosen];
            chosen = room[k] > 0 && nearer ? k : chosen;
        }
        --room[chosen];
        cluster_of[i] = static_cast<std::uint32_t>(chosen);
    }
    return cluster_of;
}

std::vector<Center> means(
    std::span<const TermVector> documents,
    const std::vector<std::uint32_t>& cluster_of,
    std::size_t words,
    std::uint32_t clusters
) {
    std::vector<Center> centers(clusters, Center(words));
    for (std::size_t i = 0; i < documents.size(); ++i) {
        for (const Term& term : documents[i]) {
            centers[cluster_of[i]][term.word] += double{term.weight};
        }
    }
    for (Center& center : centers) {
        const double length =
            std::sqrt(std::inner_product(center.begin(), center.end(), center.begin(), 0.0));
        for (double& weight : center) {
            weight = length > 0 ? weight / length : 0;
        }
    }
    return centers;
}

/// The heaviest words of a center.
TermVector shortened(const Center& center) {
    TermVector terms;
    for (std::size_t word = 0; word < center.size(); ++word) {
        if (center[word] > 0) {
            terms.push_back({static_cast<std::uint32_t>(word), static_cast<float>(center[word])});
        }
    }
    std::ranges::stable_sort(terms, std::ranges::greater{}, &Term::weight);
    terms.resize(std::min(terms.size(), kCenterTerms));
    std::ranges::sort(terms, {}, &Term::word);
    scale_to_one(terms);
    return terms;
}

}  // namespace

Clusters balanced_clusters(
    std::span<const TermVector> documents,
    std::size_t words,
    std::uint32_t clusters,
    std::uint64_t seed
) {
    SWARM_ASSERT(clusters > 0 && clusters <= documents.size());
    Rng draw(seed, kDraw);
    std::vector<Center> centers = first_centers(documents, words, clusters, draw);
    Clusters found;
    for (int round = 0; round < kRounds; ++round) {
        std::vector<std::uint32_t> next = assign(documents, centers);
        centers = means(documents, next, words, clusters);
        const bool settled = next == found.cluster_of;
        found.cluster_of = std::move(next);
        if (settled) {
            break;
        }
    }
    for (const Center& center : centers) {
        found.centers.push_back(shortened(center));
    }
    return found;
}

}  // namespace stacking::composition
