#include "swarm/cli/stack/remote_answer.hpp"

#include "stacking/row_coding.hpp"
#include "stacking/sessions/session_client.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/run_setup.hpp"
#include "swarm/cli/train.hpp"
#include "swarm/net/address.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

constexpr auto kGoodbye = std::chrono::seconds(2);
constexpr std::uint64_t kRequest = 1;

double seconds(Duration time) {
    return std::chrono::duration<double>(time).count();
}

double ms(Duration time) {
    return seconds(time) * 1000;
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

}  // namespace

RemoteAnswer::RemoteAnswer(
    net::EventLoop& loop, const GenerateOptions& options, Hooks hooks, Console& console
)
    : loop_(loop), options_(options), hooks_(std::move(hooks)), console_(console) {}

Result<> RemoteAnswer::start(const std::string& directory) {
    if (const Result<net::Address> address = net::parse_address(directory); !address) {
        return address.error();
    }
    Result<std::string> swarm_key = read_swarm_key(options_.swarm_key_file);
    if (!swarm_key) {
        return swarm_key.error();
    }
    Result<ServedQuestion> asked = read_served_question(options_, console_);
    if (!asked) {
        return asked.error();
    }
    Result<net::FileStore> store = net::FileStore::open(scratch_.path());
    if (!store) {
        return store.error();
    }
    const net::Identity self = net::Identity::make_ephemeral();
    net::HostOptions host_options;
    host_options.swarm_key = std::move(*swarm_key);
    host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
    stacking::sessions::SessionClient::Options client;
    client.self = self.peer();
    client.incarnation = host_options.incarnation;
    client.directory_address = directory;
    client.models = asked->models;
    client.patience = options_.wait;
    auto role = std::make_unique<stacking::sessions::SessionClient>(std::move(client));
    host_.emplace(loop_, std::move(role), std::move(*store), self, std::move(host_options));
    host_->start();
    ensemble_ = !asked->members.empty();
    for (const std::string& name : asked->names) {
        readers_.push_back({name});
    }
    ask(*asked);
    question_ = std::move(asked->question);
    tokenizer_ = std::move(asked->tokenizer);
    stream_.emplace(*tokenizer_, question_->before);
    return {};
}

void RemoteAnswer::ask(const ServedQuestion& asked) {
    node::SessionRequest request;
    request.request = kRequest;
    request.prompt = asked.question.prompt;
    request.tokens = asked.question.tokens_max;
    request.sampling = {options_.temperature, options_.seed, 1};
    request.path = options_.path;
    request.exit_threshold = options_.exit_threshold;
    request.exact = options_.replay == "exact";
    request.members = asked.members;
    request.chain = asked.chain;
    request.late_after = options_.late_after;
    request.codecs = options_.codecs;
    host_->ask({std::move(request)});
}

void RemoteAnswer::on_tell(const node::Report& report) {
    if (const auto* const line = std::get_if<node::LogLine>(&report)) {
        console_.log(line->level, line->text);
    } else if (exit_code_) {
        return;  // it was given up
    } else if (const auto* const token = std::get_if<node::TokenStreamed>(&report)) {
        take(*token);
    } else if (const auto* const routed = std::get_if<node::SessionRouted>(&report)) {
        Reader& reader = readers_.at(routed->member);
        reader.routes.push_back(routed->peers);
        reader.codecs = routed->codecs;
        routed_ = ids_.empty() ? clock_now() : routed_;
        if (hooks_.on_route) {
            hooks_.on_route(routed->member, routed->peers);
        }
    } else if (const auto* const dropped = std::get_if<node::MemberDropped>(&report)) {
        Reader& reader = readers_.at(dropped->member);
        reader.dropped = *dropped;
        console_.warn(reader.name + " is left out from here on: " + dropped->reason);
    } else if (const auto* const moved = std::get_if<node::SessionMoved>(&report)) {
        moves_.push_back(*moved);
        moved_ = true;
    } else if (const auto* const failed = std::get_if<node::GenerationFailed>(&report)) {
        console_.error(failed->reason);
        end(kRunFailed);
    }
}

void RemoteAnswer::take(const node::TokenStreamed& token) {
    last_token_ = clock_now();
    if (ids_.empty()) {
        first_token_ = last_token_;
    } else if (!std::exchange(moved_, false)) {
        timed_.push_back(token);
    }
    if (std::ranges::find(question_->end_tokens, token.token) != question_->end_tokens.end()) {
        host_->ask({node::CancelRequest{kRequest}});
        return end(kDone);
    }
    ids_.push_back(token.token);
    answered_.resize(std::max<std::size_t>(answered_.size(), token.hop + std::size_t{1}));
    ++answered_[token.hop];
    stream_->add(token.token);
    if (hooks_.on_token) {
        hooks_.on_token(ids_.size());
    }
    if (token.last) {
        end(kDone);
    }
}

void RemoteAnswer::end(int exit_code) {
    exit_code_ = exit_code;
}

void RemoteAnswer::cancel(int exit_code) {
    if (!exit_code_ && host_) {
        host_->ask({node::CancelRequest{kRequest}});
    }
    end(exit_code);
}

int RemoteAnswer::finish() {
    host_->stop();
    static_cast<void>(loop_.run_until([this] { return host_->finished(); }, kGoodbye));
    text_ = stream_->finish();
    return host_->failure() ? end_with(console_, *host_->failure()) : *exit_code_;
}

std::vector<double> RemoteAnswer::hop_ms() const {
    const bool one = readers_.size() == 1 && !readers_.front().routes.empty();
    std::vector<std::vector<double>> of_hop(one ? readers_.front().routes.back().size() : 0);
    for (const node::TokenStreamed& token : timed_) {
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

double RemoteAnswer::between_hops_ms() const {
    std::vector<double> rest;
    for (const node::TokenStreamed& token : timed_) {
        const double hops_us = std::accumulate(token.hop_us.begin(), token.hop_us.end(), 0.0);
        rest.push_back(ms(token.took) - hops_us / 1000);
    }
    return median(std::move(rest));
}

std::string RemoteAnswer::summary() const {
    if (ids_.empty()) {
        return "";
    }
    std::string text =
        timing_line("prompt", question_->prompt.size(), seconds(first_token_ - routed_)) +
        timing_line("decode", ids_.size() - 1, seconds(last_token_ - first_token_));
    if (readers_.size() == 1) {
        text += "hops    ";
        for (const double hop : hop_ms()) {
            text += printed(" %.1f ms", hop);
        }
        text += printed(", between them %.1f ms per token (medians)\n", between_hops_ms());
    }
    for (const Reader& reader : readers_) {
        text += "path     " + (reader.routes.empty() ? "none" : names_of(reader.routes.back()));
        text += (readers_.size() == 1 ? "" : " for " + reader.name) + "\n";
        if (!options_.codecs.empty() && !reader.codecs.empty()) {
            text += "rows     " + stacking::to_text(reader.codecs) + " from hop to hop\n";
        }
    }
    for (const node::SessionMoved& move : moves_) {
        text += printed(
            "moved    at token %zu: %s; noticed after %.0f ms, the next token %.0f ms later\n",
            move.position - question_->prompt.size(),
            move.reason.c_str(),
            ms(move.detected),
            ms(move.resumed)
        );
    }
    return text;
}

json::array RemoteAnswer::failovers_as_json() const {
    json::array failovers;
    for (const node::SessionMoved& move : moves_) {
        failovers.push_back(json::object{
            {"token", move.position - question_->prompt.size()},
            {"member", readers_.at(move.member).name},
            {"reason", move.reason},
            {"detect_ms", ms(move.detected)},
            {"resume_ms", ms(move.resumed)},
            {"mode", options_.replay}});
    }
    return failovers;
}

json::array RemoteAnswer::members_as_json() const {
    json::array members;
    for (const Reader& reader : readers_) {
        json::object member{{"model", reader.name}, {"routes", as_json(reader.routes)}};
        if (reader.dropped) {
            member["left_out_at"] = reader.dropped->position - question_->prompt.size();
            member["reason"] = reader.dropped->reason;
        }
        members.push_back(std::move(member));
    }
    return members;
}

json::object RemoteAnswer::to_json() const {
    const std::vector<double> hops = hop_ms();
    const std::size_t decoded = ids_.empty() ? 0 : ids_.size() - 1;
    json::object report{
        {"model", options_.stack.empty() ? options_.model : options_.stack},
        {"replay", options_.replay},
        {"prompt_tokens", question_->prompt.size()},
        {"ids", json::array(ids_.begin(), ids_.end())},
        {"text", text_},
        {"prefill_tokens_per_s",
         rate_as_json(question_->prompt.size(), seconds(first_token_ - routed_))},
        {"decode_tokens_per_s", rate_as_json(decoded, seconds(last_token_ - first_token_))},
        {"failovers", failovers_as_json()}};
    if (!ensemble_) {
        const std::vector<std::vector<PeerId>>& routes = readers_.front().routes;
        report["answered_by_hop"] = json::array(answered_.begin(), answered_.end());
        report["path"] = routes.empty() ? json::array() : as_json(routes.back());
        report["routes"] = as_json(routes);
        report["codecs"] = stacking::to_text(codecs());
        report["hop_ms"] = json::array(hops.begin(), hops.end());
        report["between_hops_ms"] = between_hops_ms();
    } else {
        report["members"] = members_as_json();
    }
    return report;
}

int generate_remote(const GenerateOptions& options, Console& console) {
    net::EventLoop loop;
    RemoteAnswer answer(loop, options, {}, console);
    if (const Result<> started = answer.start(options.join); !started) {
        return end_with(console, started.error());
    }
    loop.on_signal([&](int number) {
        if (answer.ended()) {
            std::_Exit(after_signal(number));
        }
        answer.cancel(after_signal(number));
    });
    loop.run_until([&] { return answer.ended(); });
    const int exit_code = answer.finish();
    std::cerr << answer.summary();
    const bool kept =
        options.json_file.empty() ||
        write_text(console, options.json_file, json::serialize(answer.to_json()) + "\n");
    return exit_code == kDone && !kept ? kRunFailed : exit_code;
}

}  // namespace swarm::cli
