#include "stacking/composition/clusters/cluster_file.hpp"

#include "stacking/composition/ensemble.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace stacking::composition {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

namespace json = boost::json;

constexpr double kTemperature = 0.1;
constexpr int kFormat = 1;

std::optional<double> number_of(const json::value& value) {
    if (!value.is_number()) {
        return std::nullopt;
    }
    const double number = value.to_number<double>();
    return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

std::optional<std::vector<std::string>> words_of(const json::value& value) {
    const json::array* const list = value.if_array();
    if (list == nullptr || list->size() > TfIdf::kWordsMax) {
        return std::nullopt;
    }
    std::vector<std::string> words;
    for (const json::value& one : *list) {
        const json::string* const word = one.if_string();
        if (word == nullptr || (!words.empty() && std::string_view(*word) <= words.back())) {
            return std::nullopt;
        }
        words.emplace_back(*word);
    }
    return words;
}

std::optional<std::vector<float>> numbers_of(const json::value& value, std::size_t count) {
    const json::array* const list = value.if_array();
    if (list == nullptr || list->size() != count) {
        return std::nullopt;
    }
    std::vector<float> numbers;
    for (const json::value& one : *list) {
        const auto number = number_of(one);
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(static_cast<float>(*number));
    }
    return numbers;
}

std::optional<TermVector> center_of(const json::value& value, std::size_t words) {
    const json::array* const list = value.if_array();
    if (list == nullptr || list->size() > words) {
        return std::nullopt;
    }
    TermVector center;
    for (const json::value& one : *list) {
        const json::array* const pair = one.if_array();
        const auto word =
            pair != nullptr && pair->size() == 2 ? number_of((*pair)[0]) : std::nullopt;
        const auto weight = word ? number_of((*pair)[1]) : std::nullopt;
        const bool good = weight && *word < static_cast<double>(words) &&
                          std::floor(*word) == *word &&
                          (center.empty() || *word > static_cast<double>(center.back().word));
        if (!good) {
            return std::nullopt;
        }
        center.push_back({static_cast<std::uint32_t>(*word), static_cast<float>(*weight)});
    }
    scale_to_one(center);
    return center;
}

std::optional<ClusterFile> clusters_of(const json::object& document) {
    const auto at = [&](const char* key) -> const json::value& {
        static const json::value kNone;
        const json::value* const found = document.if_contains(key);
        return found == nullptr ? kNone : *found;
    };
    auto words = words_of(at("words"));
    const json::array* const centers = at("centers").if_array();
    if (at("format") != kFormat || !words || centers == nullptr || centers->empty() ||
        centers->size() > kMembersMax) {
        return std::nullopt;
    }
    auto rarity = numbers_of(at("rarity"), words->size());
    if (!rarity) {
        return std::nullopt;
    }
    ClusterFile clusters;
    for (const json::value& one : *centers) {
        auto center = center_of(one, words->size());
        if (!center) {
            return std::nullopt;
        }
        clusters.centers.push_back(std::move(*center));
    }
    clusters.words = TfIdf(std::move(*words), std::move(*rarity));
    return clusters;
}

}  // namespace

Result<ClusterFile> parse_clusters(std::string_view json, const std::string& name) {
    if (json.size() > kClusterBytesMax) {
        return Error{ErrorCode::TooLarge, Reaction::Reject, name + " has more than 16 MiB"};
    }
    boost::system::error_code failed;
    const json::value document = json::parse(json, failed);
    const json::object* const object = failed ? nullptr : document.if_object();
    auto clusters = object == nullptr ? std::nullopt : clusters_of(*object);
    if (!clusters) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            name + " has no clusters; swarm stack clusters writes such a file"};
    }
    return std::move(*clusters);
}

std::string to_json(const ClusterFile& clusters) {
    json::array words;
    for (const std::string& word : clusters.words.words()) {
        words.emplace_back(word);
    }
    json::array rarity;
    for (const float one : clusters.words.rarity()) {
        rarity.emplace_back(double{one});
    }
    json::array centers;
    for (const TermVector& center : clusters.centers) {
        json::array terms;
        for (const Term& term : center) {
            terms.push_back(json::array{term.word, double{term.weight}});
        }
        centers.push_back(std::move(terms));
    }
    json::object document{{"format", kFormat}};
    document["words"] = std::move(words);
    document["rarity"] = std::move(rarity);
    document["centers"] = std::move(centers);
    return json::serialize(document) + "\n";
}

std::vector<double> cluster_shares(
    const ClusterFile& clusters, std::string_view text, std::size_t most
) {
    const std::size_t count = clusters.centers.size();
    const TermVector vector = clusters.words.vector_of(text);
    if (vector.empty()) {
        return std::vector<double>(count, 1 / static_cast<double>(count));
    }
    std::vector<double> shares;
    for (const TermVector& center : clusters.centers) {
        const double nearness = 2 * dot(vector, center);  // distance^2 is 2 - 2 x the product
        shares.push_back(std::exp((nearness - 2) / kTemperature));
    }
    if (most > 0 && most < count) {
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            return shares[a] > shares[b];
        });
        for (std::size_t i = most; i < count; ++i) {
            shares[order[i]] = 0;
        }
    }
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) {
        share /= sum;
    }
    return shares;
}

}  // namespace stacking::composition
