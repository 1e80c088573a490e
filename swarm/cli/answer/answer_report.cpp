#include "swarm/cli/answer/answer_report.hpp"

#include "stacking/row_coding.hpp"
#include "swarm/base/units.hpp"
#include "swarm/cli/answer/answer_text.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

double ms(Duration time) {
    return in_seconds(time) * 1000;
}

double median(std::vector<double> values) {
    if (values.empty()) {
        return 0;
    }
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <class... Values>
std::string printed(const char* format, Values... values) {
    char line[160];
    std::snprintf(line, sizeof line, format, values...);
    return line;
}

std::string names_of(const std::vector<PeerId>& peers) {
    std::string names;
    for (const PeerId& peer : peers) {
        names += (names.empty() ? "" : " > ") + short_name(peer);
    }
    return names;
}

json::array as_json(const std::vector<PeerId>& route) {
    json::array peers;
    for (const PeerId& peer : route) {
        peers.push_back(json::value(short_name(peer)));
    }
    return peers;
}

json::array as_json(const std::vector<std::vector<PeerId>>& routes) {
    json::array all;
    for (const std::vector<PeerId>& route : routes) {
        all.push_back(as_json(route));
    }
    return all;
}

/// Returns the median time of each hop; empty for an ensemble.
std::vector<double> hop_ms(const AnswerRecord& record) {
    const auto& readers = record.readers;
    const bool one = readers.size() == 1 && !readers.front().routes.empty();
    std::vector<std::vector<double>> of_hop(one ? readers.front().routes.back().size() : 0);
    for (const node::TokenStreamed& token : record.timed) {
        for (std::size_t hop = 0; hop < std::min(of_hop.size(), token.hop_us.size()); ++hop) {
            of_hop[hop].push_back(token.hop_us[hop] / 1000.0);
        }
    }
    std::vector<double> medians;
    for (std::vector<double>& times : of_hop) {
        medians.push_back(median(std::move(times)));
    }
    return medians;
}

/// Returns the median time of a frame, from the client to the client, in which no hop computes. A
/// frame brings one token, and right guesses.
double between_hops_ms(const AnswerRecord& record) {
    std::vector<double> rest;
    for (const node::TokenStreamed& token : record.timed) {
        const double hops_us = std::accumulate(token.hop_us.begin(), token.hop_us.end(), 0.0);
        rest.push_back(ms(token.took) - hops_us / 1000);
    }
    return median(std::move(rest));
}

json::array failovers_of(const AnswerRecord& record) {
    json::array failovers;
    for (const node::SessionMoved& move : record.moves) {
        failovers.push_back(json::object{
            {"token", move.position - record.prompt_tokens},
            {"member", record.readers.at(move.member).name},
            {"reason", move.reason},
            {"detect_ms", ms(move.detected)},
            {"resume_ms", ms(move.resumed)},
            {"mode", record.replay}});
    }
    return failovers;
}

json::array members_of(const AnswerRecord& record) {
    json::array members;
    for (const AnswerRecord::Reader& reader : record.readers) {
        json::object member{{"model", reader.name}, {"routes", as_json(reader.routes)}};
        if (reader.dropped) {
            member["left_out_at"] = reader.dropped->position - record.prompt_tokens;
            member["reason"] = reader.dropped->reason;
        }
        members.push_back(std::move(member));
    }
    return members;
}

}  // namespace

std::string to_json(
    const GenerateOptions& options, std::size_t prompt, const Answer& answer, std::string text
) {
    const json::object report{
        {"model", options.stack.empty() ? options.model : options.stack},
        {"adapter", options.adapter.empty() ? json::value(nullptr) : json::value(options.adapter)},
        {"weights", options.weights},
        {"prompt_tokens", prompt},
        {"ids", json::array(answer.ids.begin(), answer.ids.end())},
        {"text", std::move(text)},
        {"prefill_tokens_per_s", rate_as_json(prompt, answer.prefill_s)},
        {"decode_tokens_per_s", rate_as_json(answer.decoded, answer.decode_s)}};
    return json::serialize(report) + "\n";
}

std::string summary_of(const AnswerRecord& record) {
    if (record.ids.empty()) {
        return "";
    }
    const bool one = record.readers.size() == 1;
    std::string text =
        timing_line(
            "prompt", record.prompt_tokens, in_seconds(record.first_token - record.routed)
        ) +
        timing_line(
            "decode", record.ids.size() - 1, in_seconds(record.last_token - record.first_token)
        );
    if (one) {
        text += "hops    ";
        for (const double hop : hop_ms(record)) {
            text += printed(" %.1f ms", hop);
        }
        text +=
            printed(", between them %.1f ms per round trip (medians)\n", between_hops_ms(record));
    }
    for (const AnswerRecord::Reader& reader : record.readers) {
        text += "path     " + (reader.routes.empty() ? "none" : names_of(reader.routes.back()));
        text += (one ? "" : " for " + reader.name) + "\n";
        if (record.codes_rows && !reader.codecs.empty()) {
            text += "rows     " + stacking::to_text(reader.codecs) + " from hop to hop\n";
        }
    }
    for (const node::SessionMoved& move : record.moves) {
        text += printed(
            "moved    at token %zu: %s; noticed after %.0f ms, the next token %.0f ms later\n",
            move.position - record.prompt_tokens,
            move.reason.c_str(),
            ms(move.detected),
            ms(move.resumed)
        );
    }
    return text;
}

json::object to_json(const AnswerRecord& record) {
    const std::vector<double> hops = hop_ms(record);
    const std::size_t decoded = record.ids.empty() ? 0 : record.ids.size() - 1;
    json::object report{
        {"model", record.name},
        {"replay", record.replay},
        {"prompt_tokens", record.prompt_tokens},
        {"ids", json::array(record.ids.begin(), record.ids.end())},
        {"text", record.text},
        {"prefill_tokens_per_s",
         rate_as_json(record.prompt_tokens, in_seconds(record.first_token - record.routed))},
        {"decode_tokens_per_s",
         rate_as_json(decoded, in_seconds(record.last_token - record.first_token))},
        {"failovers", failovers_of(record)}};
    if (record.is_ensemble) {
        report["members"] = members_of(record);
        return report;
    }
    const AnswerRecord::Reader& reader = record.readers.front();
    report["answered_by_hop"] =
        json::array(record.answered_by_hop.begin(), record.answered_by_hop.end());
    report["path"] = reader.routes.empty() ? json::array() : as_json(reader.routes.back());
    report["routes"] = as_json(reader.routes);
    report["codecs"] = stacking::to_text(reader.codecs);
    report["hop_ms"] = json::array(hops.begin(), hops.end());
    report["between_hops_ms"] = between_hops_ms(record);
    return report;
}

}  // namespace swarm::cli
