#include "swarm/cli/stack/remote_answer.hpp"

#include "stacking/models/model_digest.hpp"
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
    const Result<OpenModel> opened = open_model(options_.model);
    if (!opened) {
        return opened.error();
    }
    const Result<Digest> model = stacking::models::identity_of(opened->source);
    if (!model) {
        return model.error();
    }
    if (const Result<> read = read_prompt(*opened); !read) {
        return read.error();
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
    client.model = *model;
    client.vocabulary = opened->source.architecture().model.vocabulary;
    client.patience = options_.wait;
    auto role = std::make_unique<stacking::sessions::SessionClient>(std::move(client));
    host_.emplace(loop_, std::move(role), std::move(*store), self, std::move(host_options));
    host_->start();
    node::SessionRequest request;
    request.request = kRequest;
    request.prompt = question_->prompt;
    request.tokens = question_->tokens_max;
    request.sampling = {options_.temperature, options_.seed, 1};
    request.path = options_.path;
    request.exit_threshold = options_.exit_threshold;
    request.exact = options_.replay == "exact";
    host_->ask({std::move(request)});
    return {};
}

Result<> RemoteAnswer::read_prompt(const OpenModel& model) {
    auto tokenizer = open_tokenizer(model);
    if (!tokenizer) {
        return tokenizer.error();
    }
    tokenizer_ = std::move(*tokenizer);
    const auto& architecture = model.source.architecture();
    Result<Question> question = read_question(
        options_, *tokenizer_, architecture.model.context, architecture.end_tokens, console_
    );
    if (!question) {
        return question.error();
    }
    question_ = std::move(*question);
    stream_.emplace(*tokenizer_, question_->before);
    return {};
}

void RemoteAnswer::on_tell(const node::Report& report) {
    if (const auto* const line = std::get_if<node::LogLine>(&report)) {
        console_.log(line->level, line->text);
    } else if (exit_code_) {
        return;  // it was given up
    } else if (const auto* const token = std::get_if<node::TokenStreamed>(&report)) {
        take(*token);
    } else if (const auto* const routed = std::get_if<node::SessionRouted>(&report)) {
        routes_.push_back(routed->peers);
        routed_ = ids_.empty() ? clock_now() : routed_;
        if (hooks_.on_route) {
            hooks_.on_route(routed->peers);
        }
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
    std::vector<std::vector<double>> of_hop(routes_.empty() ? 0 : routes_.back().size());
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
        timing_line("decode", ids_.size() - 1, seconds(last_token_ - first_token_)) + "hops    ";
    for (const double hop : hop_ms()) {
        text += printed(" %.1f ms", hop);
    }
    text += printed(", between them %.1f ms per token (medians)\n", between_hops_ms());
    text += "path     " + names_of(routes_.back()) + "\n";
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

json::object RemoteAnswer::to_json() const {
    json::array moves;
    for (const node::SessionMoved& move : moves_) {
        moves.push_back(json::object{
            {"token", move.position - question_->prompt.size()},
            {"reason", move.reason},
            {"detected_ms", ms(move.detected)},
            {"resumed_ms", ms(move.resumed)}});
    }
    json::array routes;
    for (const std::vector<PeerId>& route : routes_) {
        json::array peers;
        for (const PeerId& peer : route) {
            peers.push_back(json::value(short_name(peer)));
        }
        routes.push_back(std::move(peers));
    }
    const std::vector<double> hops = hop_ms();
    const std::size_t decoded = ids_.empty() ? 0 : ids_.size() - 1;
    return {
        {"model", options_.model},
        {"replay", options_.replay},
        {"prompt_tokens", question_->prompt.size()},
        {"ids", json::array(ids_.begin(), ids_.end())},
        {"text", text_},
        {"prefill_tokens_per_s",
         rate_as_json(question_->prompt.size(), seconds(first_token_ - routed_))},
        {"decode_tokens_per_s", rate_as_json(decoded, seconds(last_token_ - first_token_))},
        {"hop_ms", json::array(hops.begin(), hops.end())},
        {"between_hops_ms", between_hops_ms()},
        {"routes", std::move(routes)},
        {"moves", std::move(moves)}};
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
