#include "swarm/cli/data/data_report.hpp"

#include "swarm/base/token_flags.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

/// "134,515,008"
std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string one_decimal(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::string padded(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

double sum_of_weights(const data::Manifest& manifest) {
    double sum = 0;
    for (const data::ManifestSource& source : manifest.sources) {
        sum += source.weight.value_or(0);
    }
    return sum;
}

}  // namespace

std::string data_text(const data::Manifest& manifest, const Digest& digest) {
    std::string text = "tokenizer " + manifest.tokenizer + ", " + grouped(manifest.vocabulary) +
                       " tokens; token " + std::to_string(manifest.end_token) +
                       " ends a document\nsha256 " + to_hex(digest) + "\n";
    const auto row = [&](const std::string& name, const std::vector<std::string>& cells) {
        text += name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ');
        for (const std::string& cell : cells) {
            text += padded(cell, 15);
        }
        text += '\n';
    };
    row("source", {"documents", "tokens", "bytes/token", "bad lines", "weight"});
    const double sum = sum_of_weights(manifest);
    for (const data::ManifestSource& source : manifest.sources) {
        const double per_token = static_cast<double>(source.text_bytes) /
                                 static_cast<double>(std::max<std::uint64_t>(source.tokens, 1));
        row(source.name,
            {grouped(source.documents),
             grouped(source.tokens),
             one_decimal(per_token),
             grouped(source.bad_lines),
             sum > 0 ? one_decimal(100 * source.weight.value_or(0) / sum) + " %" : "none"});
    }
    for (const data::ManifestSource& source : manifest.sources) {
        if (source.no_loss_tokens > 0) {
            text += "source " + source.name + " has chats: " +
                    grouped(source.tokens - source.no_loss_tokens) + " of " +
                    grouped(source.tokens) + " tokens, those of answers, count for the loss\n";
        }
    }
    return text;
}

std::string data_json(const data::Manifest& manifest, const Digest& digest) {
    json::array sources;
    for (const data::ManifestSource& source : manifest.sources) {
        sources.push_back(json::object{
            {"name", source.name},
            {"weight", source.weight ? json::value(*source.weight) : json::value(nullptr)},
            {"documents", source.documents},
            {"tokens", source.tokens},
            {"text_bytes", source.text_bytes},
            {"bad_lines", source.bad_lines},
            {"no_loss_tokens", source.no_loss_tokens},
            {"shards", source.shards.size()}});
    }
    const json::object object{
        {"sha256", to_hex(digest)},
        {"tokenizer", manifest.tokenizer},
        {"tokenizer_sha256", to_hex(manifest.tokenizer_digest)},
        {"vocabulary", manifest.vocabulary},
        {"end_token", manifest.end_token},
        {"sources", std::move(sources)}};
    return json::serialize(object) + "\n";
}

std::string samples_text(std::span<const ShownSample> samples) {
    std::string text;
    for (const ShownSample& sample : samples) {
        text += "sample " + std::to_string(sample.number) + ": " + sample.source + ", epoch " +
                std::to_string(sample.place.epoch) + ", tokens " +
                std::to_string(sample.place.first_token) + " to " +
                std::to_string(sample.place.first_token + sample.ids.size() - 1) + "\n" +
                sample.text + "\n";
    }
    return text;
}

std::string samples_json(std::span<const ShownSample> samples) {
    json::array list;
    for (const ShownSample& sample : samples) {
        json::array ids;
        json::array no_loss;
        for (std::size_t i = 0; i < sample.ids.size(); ++i) {
            ids.emplace_back(token_id(sample.ids[i]));
            if (!counts_for_loss(sample.ids[i])) {
                no_loss.emplace_back(i);
            }
        }
        list.push_back(json::object{
            {"sample", sample.number},
            {"source", sample.source},
            {"epoch", sample.place.epoch},
            {"index", sample.place.index},
            {"first_token", sample.place.first_token},
            {"ids", std::move(ids)},
            {"no_loss", std::move(no_loss)},
            {"text", sample.text}});
    }
    return json::serialize(json::object{{"samples", std::move(list)}}) + "\n";
}

std::string build_line(
    const data::BuildProgress& progress, std::uint64_t bytes_before, double seconds
) {
    constexpr double kMega = 1e6;
    const double read =
        static_cast<double>(progress.bytes - std::min(bytes_before, progress.bytes));
    const double bytes_per_s = seconds > 0 ? read / seconds : 0;
    std::string line = progress.source + ": " + grouped(progress.bytes / 1'000'000) + " of " +
                       grouped(progress.bytes_total / 1'000'000) + " MB, " +
                       one_decimal(bytes_per_s / kMega) + " MB/s, " +
                       one_decimal(static_cast<double>(progress.tokens) / kMega) + " M tokens";
    if (bytes_per_s > 0 && progress.bytes_total >= progress.bytes) {
        const auto left = static_cast<std::uint64_t>(
            static_cast<double>(progress.bytes_total - progress.bytes) / bytes_per_s
        );
        char eta[48];
        std::snprintf(
            eta,
            sizeof eta,
            ", ETA %llu:%02llu",
            static_cast<unsigned long long>(left / 60),
            static_cast<unsigned long long>(left % 60)
        );
        line += eta;
    }
    return line;
}

}  // namespace swarm::cli
