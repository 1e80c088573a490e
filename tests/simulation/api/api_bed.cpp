#include "tests/simulation/api/api_bed.hpp"

#include "swarm/base/rng.hpp"
#include "tests/unit/stacking_api/small_model.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>

namespace sim {
namespace {

namespace api = stacking::api;
namespace json = boost::json;

SessionBedOptions of_bytes(SessionBedOptions options) {
    options.clients = 0;
    options.model.vocabulary = api::test::small_model().vocabulary;
    return options;
}

/// Adds the token ids and the error of a body or an event.
void read(const json::value& answer, swarm::TimePoint now, ApiBed::Answered& answered) {
    if (const auto* const error = answer.get_object().if_contains("error")) {
        answered.trouble = std::string(error->at("message").as_string());
        return;
    }
    for (const json::value& choice : answer.at("choices").as_array()) {
        if (const auto* const ids = choice.get_object().if_contains("token_ids")) {
            const auto index = choice.at("index").to_number<std::uint64_t>();
            for (const json::value& id : ids->as_array()) {
                answered.first_at.try_emplace(index, now);
                answered.tokens[index].push_back(id.to_number<std::uint32_t>());
            }
        }
    }
}

void read_events(std::string_view events, swarm::TimePoint now, ApiBed::Answered& answered) {
    while (!events.empty()) {
        const std::size_t end = events.find("\n\n");
        const std::string_view event = events.substr(0, end);
        events.remove_prefix(end + 2);
        if (event.starts_with("data: {")) {
            read(json::parse(event.substr(6)), now, answered);
        }
    }
}

}  // namespace

ApiBed::ApiBed(SessionBedOptions options) : bed_(of_bytes(options)) {
    add_api(api::test::small_model().vocabulary);
    world().on_report([this](PeerId, const node::Report& report) { hear(report); });
}

void ApiBed::add_api(std::uint32_t vocabulary) {
    world().add_peer(kApi, [vocabulary](swarm::Incarnation incarnation) {
        api::ApiServer::Options server{
            .client = {}, .model = api::test::small_model(2048), .name_of = [](const PeerId& peer) {
                return std::to_string(peer.words[0]);
            }};
        server.client.self = kApi;
        server.client.incarnation = incarnation;
        server.client.directory = SessionBed::kDirectory;
        server.client.models = {{SessionBed::model(), vocabulary}};
        return std::make_unique<api::ApiServer>(std::move(server));
    });
}

std::uint64_t ApiBed::ask(const UserRequest& request) {
    const json::object body{
        {"prompt", request.prompt},
        {"max_tokens", request.tokens},
        {"seed", request.seed},
        {"temperature", request.temperature},
        {"presence_penalty", request.presence_penalty},
        {"stream", request.streams},
        {"n", request.answers},
        {"ignore_eos", true},
        {"return_token_ids", true}};
    asked_[++exchanges_] = request;
    answered_[exchanges_] = {};
    world().ask(
        kApi,
        {node::WebRequest{
            exchanges_, "POST", "/v1/completions", "", json::serialize(body), request.user}}
    );
    return exchanges_;
}

void ApiBed::hang_up(std::uint64_t exchange) {
    asked_.erase(exchange);
    world().ask(kApi, {node::WebGone{exchange}});
}

void ApiBed::watch() {
    watching_ = ++exchanges_;
    world().ask(kApi, {node::WebRequest{watching_, "GET", "/events", "", "", "page"}});
}

bool ApiBed::run(swarm::Duration limit) {
    const auto all_ended = [this] {
        return std::ranges::all_of(asked_, [this](const auto& item) {
            return answered_.at(item.first).ended;
        });
    };
    return world().run_until(all_ended, limit);
}

void ApiBed::hear(const node::Report& report) {
    const auto* const reply = std::get_if<node::WebReply>(&report);
    const auto* const piece = std::get_if<node::WebPiece>(&report);
    if (reply != nullptr && reply->exchange == watching_) {
        seen_ = reply->body;
    } else if (piece != nullptr && piece->exchange == watching_) {
        seen_ = piece->bytes;
    } else if (reply != nullptr) {
        Answered& answered = answered_.at(reply->exchange);
        answered.status = reply->status;
        answered.ended = !reply->more;
        answered.ended_at = world().now();
        if (reply->more) {
            read_events(reply->body, world().now(), answered);
        } else {
            read(json::parse(reply->body), world().now(), answered);
        }
    } else if (piece != nullptr) {
        Answered& answered = answered_.at(piece->exchange);
        read_events(piece->bytes, world().now(), answered);
        answered.ended = piece->last;
        answered.ended_at = world().now();
    }
}

std::vector<std::uint32_t> ApiBed::expected(const UserRequest& request, std::uint32_t answer)
    const {
    node::SessionRequest alone;
    for (const char byte : request.prompt) {
        alone.prompt.push_back(static_cast<unsigned char>(byte));
    }
    alone.tokens = request.tokens;
    alone.sampling.temperature = request.temperature;
    alone.sampling.seed = answer == 0 ? request.seed : swarm::mix_bits(request.seed + answer);
    alone.sampling.presence_penalty = request.presence_penalty;
    alone.sampling.generated_from = static_cast<std::uint32_t>(alone.prompt.size());
    return bed_.expected(alone);
}

std::string ApiBed::verdict() const {
    for (const auto& [exchange, request] : asked_) {
        const Answered& answered = answered_.at(exchange);
        const std::string name = "request " + std::to_string(exchange);
        if (!answered.ended) {
            return name + " has no answer";
        }
        if (answered.status != 200 || !answered.trouble.empty()) {
            return name + " failed: " + answered.trouble;
        }
        for (std::uint32_t answer = 0; answer < request.answers; ++answer) {
            const auto found = answered.tokens.find(answer);
            if (found == answered.tokens.end() || found->second != expected(request, answer)) {
                return name + " has other tokens than one process makes";
            }
        }
    }
    return "";
}

std::uint64_t ApiBed::reserved() const {
    std::uint64_t sum = 0;
    for (std::uint64_t server = 1; server <= bed_.servers(); ++server) {
        sum += bed_.reserved(peer(server));
    }
    return sum;
}

}  // namespace sim
