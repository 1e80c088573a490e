#include "tests/simulation/sessions/session_bed.hpp"

#include "stacking/composition/ensemble.hpp"
#include "stacking/logit_changes.hpp"
#include "stacking/row_coding.hpp"
#include "stacking/sampler.hpp"
#include "stages/compute/top_tokens.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cmath>

namespace sim {

using namespace std::chrono_literals;
using sessions::OracleSessionCompute;

namespace {

WorldOptions world_options(const SessionBedOptions& options) {
    WorldOptions world;
    world.seed = options.seed;
    world.network = {1ms, 3ms};
    return world;
}

/// A server whose messages are changed before they leave.
class Liar final : public node::Role {
 public:
    Liar(std::unique_ptr<node::Role> honest, Lie lie)
        : honest_(std::move(honest)), lie_(std::move(lie)) {}

    void on(const node::Event& event, swarm::TimePoint now, node::Outbox& out) override {
        honest_->on(event, now, out);
        for (node::Action& action : out.actions) {
            if (auto* send = std::get_if<node::Send>(&action)) {
                lie_(send->message.body);
            }
        }
    }

    [[nodiscard]] swarm::TimePoint next_deadline() const override {
        return honest_->next_deadline();
    }

 private:
    std::unique_ptr<node::Role> honest_;
    Lie lie_;
};

swarm::Digest model_digest(std::uint32_t member) {
    swarm::Digest digest = SessionBed::digest(1);
    digest.bytes[1] = static_cast<std::byte>(member);
    return digest;
}

}  // namespace

node::SessionRequest chain_request(
    node::SessionRequest request, const std::vector<ChainLink>& links
) {
    for (const ChainLink& link : links) {
        request.chain.push_back({model_digest(link.member), link.layers, link.bridged});
    }
    return request;
}

swarm::Digest SessionBed::digest(unsigned char first) {
    swarm::Digest digest;
    digest.bytes[0] = static_cast<std::byte>(first);
    return digest;
}

swarm::Digest SessionBed::model() {
    return model_digest(0);
}

SessionBed::SessionBed(SessionBedOptions options)
    : options_(options), world_(world_options(options)) {
    world_.add_peer(kDirectory, [](swarm::Incarnation) {
        return std::make_unique<sessions::Directory>();
    });
    for (std::uint64_t number = 1; number <= servers(); ++number) {
        add_server(number);
    }
    for (std::uint64_t client = 0; client < options_.clients; ++client) {
        add_client({{kClient.words[0] + client}});
    }
    world_.on_report([this](PeerId, const node::Report& report) { hear(report); });
    world_.on_send([this](PeerId, const node::Send& send) { see(send); });
}

void SessionBed::add_client(PeerId self) {
    world_.add_peer(self, [this, self](swarm::Incarnation incarnation) {
        sessions::SessionClient::Options client;
        client.self = self;
        client.incarnation = incarnation;
        client.directory = kDirectory;
        for (std::uint32_t member = 0; member < options_.members; ++member) {
            client.models.push_back(
                {model_digest(member), options_.model.vocabulary, options_.model.tied}
            );
        }
        client.patience = options_.patience;
        return std::make_unique<sessions::SessionClient>(std::move(client));
    });
}

std::vector<protocol::LayerRange> SessionBed::split() const {
    const std::uint32_t each = options_.model.layers / options_.stages;
    std::vector<protocol::LayerRange> parts;
    for (std::uint32_t stage = 0; stage < options_.stages; ++stage) {
        parts.push_back({stage * each, (stage + 1) * each});
    }
    parts.back().end = options_.model.layers;
    return parts;
}

protocol::LayerRange SessionBed::layers_of(PeerId server) const {
    return split()[(server.words[0] - 1) % of_member() / options_.replicas];
}

void SessionBed::add_server(std::uint64_t number) {
    const PeerId self = peer(number);
    PeerOptions machine;
    machine.up_bytes_per_s = options_.line_bytes_per_s;
    machine.device.units_per_s = options_.unequal.empty()
                                     ? options_.units_per_s
                                     : options_.unequal[(number - 1) % options_.replicas];
    const auto make = [this, self](swarm::Incarnation) -> std::unique_ptr<node::Role> {
        sessions::SessionServer::Options server;
        server.self = self;
        server.model = model_digest(member_of(self));
        server.layers = options_.model.layers;
        if (options_.directory_places) {
            server.split = split();
        } else {
            server.fixed = layers_of(self);
        }
        server.load = [this, self](protocol::LayerRange layers) {
            const auto compute = std::make_shared<OracleSessionCompute>(
                model_of(member_of(self)), layers, options_.budget_positions
            );
            computes_[self].push_back(compute);
            placed_[self] = layers;
            sessions::LoadedLayers loaded{compute, digest(2)};
            if (options_.bridged && member_of(self) == 1 && layers.first == 0) {
                loaded.bridge =
                    std::make_shared<stacking::composition::BridgedInput>(sessions::oracle_bridge(7)
                    );
            }
            return loaded;
        };
        server.kept_bytes_max = options_.kept_bytes_max;
        server.ttl = options_.ttl;
        server.directory = kDirectory;
        auto role = std::make_unique<sessions::SessionServer>(std::move(server));
        if (options_.liar == SessionBedOptions::kAll || self == peer(options_.liar)) {
            return std::make_unique<Liar>(std::move(role), options_.lie);
        }
        return role;
    };
    world_.add_peer(self, make, machine);
}

void SessionBed::ask(const node::SessionRequest& request, std::uint64_t client) {
    asked_[request.request] = request;
    told_[request.request] = {};
    world_.ask({{kClient.words[0] + client}}, {request});
}

void SessionBed::replace_client(std::uint64_t client) {
    const PeerId self{{kClient.words[0] + client}};
    world_.crash(self);
    world_.restart(self);
}

bool SessionBed::run(swarm::Duration limit) {
    const auto done = [this] {
        return std::all_of(told_.begin(), told_.end(), [](const auto& item) {
            return item.second.done;
        });
    };
    return world_.run_until(done, limit);
}

void SessionBed::see(const node::Send& send) {
    const auto* const rows = std::get_if<protocol::SessionRows>(&send.message.body);
    if (rows != nullptr && !send.payload.empty()) {
        sent_in_[{rows->id.session, rows->id.hop}].insert(send.payload.envelope().codec);
    }
}

void SessionBed::hear(const node::Report& report) {
    if (const auto* token = std::get_if<node::TokenStreamed>(&report)) {
        Told& told = told_.at(token->request);
        const std::size_t at = asked_.at(token->request).prompt.size() + told.tokens.size();
        told.in_order = told.in_order && token->position == at && !told.done;
        told.first_at = told.tokens.empty() ? world_.now() : told.first_at;
        told.tokens.push_back(token->token);
        told.guesses += token->guessed;
        told.right_guesses += token->was_guessed ? 1 : 0;
        told.done = token->last;
    } else if (const auto* routed = std::get_if<node::SessionRouted>(&report)) {
        Told& told = told_.at(routed->request);
        told.codecs = routed->codecs;
        told.reused = ++told.routes == 1 ? routed->reused : told.reused;
        told.refilled += routed->refilled;
        told.found += routed->found;
    } else if (const auto* prompt = std::get_if<node::PromptRead>(&report)) {
        told_.at(prompt->request).read.push_back(prompt->read);
    } else if (const auto* moved = std::get_if<node::SessionMoved>(&report)) {
        told_.at(moved->request).moves.push_back(*moved);
    } else if (const auto* dropped = std::get_if<node::MemberDropped>(&report)) {
        told_.at(dropped->request).dropped.push_back(*dropped);
    } else if (const auto* failed = std::get_if<node::GenerationFailed>(&report)) {
        told_.at(failed->request).failure = failed->reason;
        told_.at(failed->request).done = true;
    }
}

sessions::OracleModel SessionBed::model_of(std::uint32_t member) const {
    sessions::OracleModel model = options_.model;
    model.weights += member;
    return model;
}

std::unique_ptr<stacking::composition::TextReader> SessionBed::reader(std::uint32_t member) const {
    stacking::composition::ModelReader::Stages whole;
    whole.push_back(std::make_unique<OracleSessionCompute>(
        model_of(member), protocol::LayerRange{0, options_.model.layers}, options_.model.context
    ));
    return *stacking::composition::ModelReader::make(std::move(whole));
}

std::vector<std::uint32_t> SessionBed::expected_of_stack(const node::SessionRequest& request
) const {
    stacking::composition::Ensemble::Members members;
    std::vector<double> priors;
    for (const node::StackMember& member : request.members) {
        members.push_back(reader(std::to_integer<std::uint32_t>(member.model.bytes[1])));
        priors.push_back(member.prior);
    }
    const auto stack =
        *stacking::composition::Ensemble::make(std::move(members), std::move(priors));
    std::vector<std::uint32_t> tokens = request.prompt;
    (void)stack->begin(static_cast<std::uint32_t>(tokens.size()) + request.tokens);
    std::span<const std::uint32_t> next = tokens;
    const stacking::SamplerOptions sampler = stacking::sampler_of(request.sampling);
    for (std::uint32_t i = 0; i < request.tokens; ++i) {
        const auto scores =
            *stack->read(next, stacking::composition::TextReader::Wanted::AfterLast);
        const auto best = stages::top_tokens(scores, protocol::kTopTokensMax);
        tokens.push_back(stacking::sample_token(best, sampler, tokens.size()));
        next = std::span(tokens).last(1);
    }
    return {tokens.begin() + static_cast<std::ptrdiff_t>(request.prompt.size()), tokens.end()};
}

std::vector<std::uint32_t> SessionBed::expected(const node::SessionRequest& request) const {
    if (!request.members.empty()) {
        return expected_of_stack(request);
    }
    const std::vector<Place> path = path_of(request);
    const stacking::composition::BridgedInput bridge = sessions::oracle_bridge(7);
    const stacking::SamplerOptions sampler = stacking::sampler_of(request.sampling);
    std::vector<std::uint32_t> tokens = request.prompt;
    for (std::uint32_t at = 0; at + 1 < request.prompt.size() + request.tokens; ++at) {
        const stacking::SessionRow row{{1}, at};
        std::vector<float> values;
        std::vector<float> exit;
        const std::span<const std::uint32_t> text(tokens.data(), at + 1);
        const auto token = text.last(1);
        const stacking::LogitChanges changes(request.sampling, text);
        for (std::size_t hop = 0; hop < path.size(); ++hop) {
            const bool last = hop + 1 == path.size();
            if (path[hop].bridged) {
                values = bridge.read(token, values);
            }
            values = *path[hop].compute->run_layers(
                {&row, 1},
                hop == 0 ? stacking::StageInput(token)
                         : stacking::StageInput(std::span<const float>(values))
            );
            auto head = path[hop].compute->logits(values);
            changes.apply(head);
            const auto best = stages::top_tokens(head, 1).front();
            if (exit.empty() &&
                (last || std::exp(best.log_probability) >= request.exit_threshold)) {
                exit = head;
            }
            if (!last) {
                const auto codec = stacking::codec_of_link(request.codecs, hop).value();
                (void
                )stacking::send_through(*stacking::find_row_codec(codec), values.size(), values);
            }
        }
        if (tokens.size() == at + 1) {
            const auto best = stages::top_tokens(exit, protocol::kTopTokensMax);
            tokens.push_back(stacking::sample_token(best, sampler, tokens.size()));
        }
    }
    return {tokens.begin() + static_cast<std::ptrdiff_t>(request.prompt.size()), tokens.end()};
}

std::vector<SessionBed::Place> SessionBed::path_of(const node::SessionRequest& request) const {
    std::vector<Place> path;
    const auto add = [&](std::uint32_t member, protocol::LayerRange layers, bool bridged = false) {
        auto compute = std::make_unique<OracleSessionCompute>(
            model_of(member), layers, options_.model.context
        );
        (void)compute->reserve({1}, options_.model.context);
        path.push_back({std::move(compute), bridged});
    };
    const std::vector<protocol::LayerRange> stages = split();
    for (const std::uint32_t stage : request.path) {
        add(0, stages[stage]);
    }
    std::vector<node::ChainMember> chain = request.chain;
    if (path.empty() && chain.empty()) {
        chain.push_back({model_digest(0)});
    }
    for (const node::ChainMember& member : chain) {
        for (const protocol::LayerRange& stage : stages) {
            const bool within = !member.layers || (member.layers->first <= stage.first &&
                                                   stage.end <= member.layers->end);
            if (within) {
                const auto number = std::to_integer<std::uint32_t>(member.model.bytes[1]);
                add(number, stage, member.bridged && stage.first == 0);
            }
        }
    }
    return path;
}

/// Returns the request with the codecs that the peers chose, if it left the choice to them.
node::SessionRequest SessionBed::as_told(std::uint64_t number) const {
    node::SessionRequest request = asked_.at(number);
    const auto& codecs = told_.at(number).codecs;
    if (std::ranges::find(request.codecs, protocol::RowCodec()) != request.codecs.end()) {
        request.codecs.assign(codecs.begin(), codecs.end());
    }
    return request;
}

std::string SessionBed::verdict() const {
    for (const auto& [number, told] : told_) {
        const std::string what = "request " + std::to_string(number) + ": ";
        if (!told.done) {
            return what + "did not end";
        }
        if (!told.failure.empty()) {
            return what + told.failure;
        }
        if (!told.in_order) {
            return what + "a token was told twice or out of order";
        }
        if (told.tokens != expected(as_told(number))) {
            return what + "other tokens than one process makes";
        }
    }
    for (const auto& [hop, codecs] : sent_in_) {
        if (codecs.size() > 1) {
            return "a session's rows came to hop " + std::to_string(hop.second) + " in two codecs";
        }
    }
    for (const auto& [server, lives] : computes_) {
        for (const auto& compute : lives) {
            if (compute->gaps() > 0) {
                return "a row did not continue its cache at peer " +
                       std::to_string(server.words[0]);
            }
        }
    }
    return "";
}

std::uint64_t SessionBed::reserved(PeerId server) const {
    return computes_.at(server).back()->reserved_positions();
}

std::size_t SessionBed::largest_call() const {
    std::size_t largest = 0;
    for (const auto& [server, lives] : computes_) {
        for (const auto& compute : lives) {
            largest = std::max(largest, compute->largest_call());
        }
    }
    return largest;
}

std::uint64_t SessionBed::rows() const {
    std::uint64_t rows = 0;
    for (const auto& [server, lives] : computes_) {
        for (const auto& compute : lives) {
            rows += compute->rows();
        }
    }
    return rows;
}

node::SessionRequest session_request(
    std::uint64_t number, std::uint32_t prompt, std::uint32_t tokens, Replay replay
) {
    node::SessionRequest request;
    request.request = number;
    for (std::uint64_t i = 0; i < prompt; ++i) {
        request.prompt.push_back(static_cast<std::uint32_t>(swarm::mix_bits(number * 1000 + i) % 97)
        );
    }
    request.tokens = tokens;
    request.exact = replay == Replay::Exact;
    return request;
}

node::SessionRequest stack_request(node::SessionRequest request, std::vector<double> priors) {
    for (std::uint32_t member = 0; member < priors.size(); ++member) {
        request.members.push_back({model_digest(member), priors[member]});
    }
    return request;
}

}  // namespace sim
