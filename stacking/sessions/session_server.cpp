#include "stacking/sessions/session_server.hpp"

#include "swarm/node/wrong_place.hpp"

#include <algorithm>

namespace stacking::sessions {
namespace {

constexpr int kLoadFailed = 1;  // exit codes of the program
constexpr int kUsage = 2;
constexpr int kNoDirectory = 4;

/// Messages whose payload goes to the hop table.
template <class Body>
constexpr bool kRowsForHops =
    std::is_same_v<Body, protocol::SessionRows> || std::is_same_v<Body, protocol::ExpertOutputs>;

std::string text_of(protocol::LayerRange layers, std::uint32_t all) {
    return "layers " + std::to_string(layers.first) + " to " + std::to_string(layers.end - 1) +
           " of " + std::to_string(all);
}

}  // namespace

SessionServer::SessionServer(Options options)
    : options_(std::move(options)), directory_(options_.directory, options_.directory_address) {
    if (options_.files) {
        donor_.emplace(options_.model, *options_.files);
    }
}

void SessionServer::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    ended_ = ended_ || std::holds_alternative<node::Stop>(event);
    if (!ended_ && !begun_) {
        begin(turn);
    }
    if (!ended_) {
        std::visit([&](const auto& occurred) { handle(occurred, turn); }, event);
    }
    if (ended_) {
        return;
    }
    if (contact_until_ <= now) {
        std::string why = directory_.failure();
        if (directory_.is_up()) {
            why = "the process there takes the connection and does not answer; is it frozen?";
        }
        return end(
            kNoDirectory,
            "no directory at " + options_.directory_address + (why.empty() ? "" : ": " + why),
            turn
        );
    }
    if (hops_) {
        hops_->wake(turn);
        if (hops_->waits_for_lender()) {
            directory_.hurry();
        }
    }
    if (donor_) {
        donor_->advance(hops() > 0, turn);
    }
    if (directory_.wake(turn)) {
        beat(turn);
    }
}

TimePoint SessionServer::next_deadline() const {
    if (ended_) {
        return swarm::kNever;
    }
    TimePoint own = std::min(directory_.next_deadline(), contact_until_);
    if (donor_) {
        own = std::min(own, donor_->next_deadline());
    }
    return hops_ ? std::min(own, hops_->next_deadline()) : own;
}

node::Allowance SessionServer::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    if (peer == directory_.peer()) {
        const bool asks = hops_ && hops_->lacks_experts();
        return {
            Acquaintance::Partner,
            asks ? protocol::kLocatedBytesMax : protocol::kControlBytesMax,
            0};
    }
    node::Allowance allowed =
        hops_ ? hops_->allowance(peer) : node::Allowance::without_tensors(Acquaintance::Stranger);
    if (donor_ && donor_->serves(peer)) {
        allowed.acquaintance = std::max(allowed.acquaintance, Acquaintance::Guest);
    }
    if (lends_) {
        allowed.tensor_bytes = std::max(allowed.tensor_bytes, lends_->tensor_bytes());
        if (lends_->serves(peer)) {
            allowed.acquaintance = std::max(allowed.acquaintance, Acquaintance::Guest);
        }
    }
    return allowed;
}

void SessionServer::begin(node::Turn turn) {
    begun_ = true;
    contact_until_ = turn.now + options_.first_contact_within;
    if (options_.fixed) {
        load(*options_.fixed, turn);
    }
}

void SessionServer::load(protocol::LayerRange layers, node::Turn turn) {
    using Outcome = std::optional<swarm::Result<LoadedLayers>>;
    place_ = layers;
    turn.out.log(
        node::LogLine::Level::Info, "loading " + text_of(layers, options_.layers) + " of the model"
    );
    loading_.submit_for<Outcome>(
        turn,
        0,
        [load = options_.load, layers](Outcome& outcome) { outcome = load(layers); },
        [this](Outcome& outcome, node::Turn later) {
            if (!*outcome) {
                return end(kLoadFailed, outcome->error().detail, later);
            }
            take(**outcome, later);
        }
    );
}

void SessionServer::take(LoadedLayers& loaded, node::Turn turn) {
    weights_ = loaded.weights;
    if (loaded.compute) {
        HopTable::Options hops{
            .self = options_.self,
            .host = {options_.model, options_.layers, *place_, loaded.weights},
            .compute = std::move(loaded.compute),
            .bridge = std::move(loaded.bridge)};
        hops.trunk = std::move(loaded.trunk);
        hops.lacking = std::move(loaded.lacking);
        hops.expert_weights = loaded.expert_weights;
        hops.kept_bytes_max = options_.kept_bytes_max;
        hops.ttl = options_.ttl;
        hops.keeps_for = options_.keeps_for;
        hops_.emplace(std::move(hops), links_);
    }
    if (loaded.lender) {
        lent_ = std::move(loaded.lent);
        lends_.emplace(ExpertTable::Options{std::move(loaded.lender), loaded.expert_weights});
    }
    if (!answered_) {
        contact_until_ = turn.now + options_.first_contact_within;
    }
    if (directory_.is_up()) {
        beat(turn);
    }
}

std::string SessionServer::what() const {
    std::string experts;
    for (const std::uint32_t expert : lent_.list()) {
        experts += (experts.empty() ? "" : ", ") + std::to_string(expert);
    }
    const std::string layers = text_of(*place_, options_.layers);
    if (!hops_) {
        return "experts " + experts + " of " + layers;
    }
    const std::string lends = experts.empty() ? "" : ", and experts " + experts + " to others";
    return hops_->lacks_experts() ? layers + " without the experts of others" + lends
                                  : layers + lends;
}

/// Registers, or repeats the offer while the layers load: the directory keeps a place only for
/// peers that it hears.
void SessionServer::beat(node::Turn turn) {
    if (is_loaded()) {
        const protocol::Register registration{
            options_.model,
            options_.layers,
            *place_,
            weights_,
            options_.address,
            hops_ ? hops_->rates() : lends_->rates(),
            lent_.words(),
            !hops_};
        send(directory_.peer(), registration, turn);
        if (hops_ && hops_->lacks_experts()) {
            send(directory_.peer(), protocol::Locate{options_.model, options_.layers}, turn);
        }
    } else if (!options_.fixed) {
        const protocol::HostOffer offer{options_.model, options_.layers, options_.split};
        send(directory_.peer(), offer, turn);
    }
}

void SessionServer::handle(const node::LinkUp& up, node::Turn turn) {
    if (directory_.on(up, turn.now) && options_.fixed && !is_loaded()) {
        contact_until_ = swarm::kNever;  // nothing is asked before the layers are loaded
    }
    links_.on(up);
    if (hops_ && up.lane == node::Lane::Bulk) {
        hops_->linked(up.peer, turn);
    } else if (hops_) {
        hops_->client_linked(up.peer, turn);
    }
}

void SessionServer::handle(const node::LinkDown& down, node::Turn turn) {
    directory_.on(down, turn.now);
    links_.on(down);
    if (lends_ && down.lane == node::Lane::Bulk) {
        lends_->lost(down.peer);
    }
    if (hops_ && down.lane == node::Lane::Bulk) {
        hops_->lost(down.peer, turn);
    } else if (hops_) {
        hops_->client_lost(down.peer, turn);
    }
    if (donor_) {
        donor_->lost(down.peer);
    }
}

void SessionServer::handle(const node::DialFailed& failed, node::Turn turn) {
    if (directory_.on(failed, turn.now) && failed.error.reaction == swarm::Reaction::Fatal) {
        return end(kUsage, "the directory refuses this peer: " + failed.error.detail, turn);
    }
    links_.on(failed);
    if (hops_ && failed.lane == node::Lane::Bulk && !links_.is_up(failed.peer, failed.lane)) {
        hops_->unreached(failed.peer, turn);
    }
}

void SessionServer::handle(const node::Received& received, node::Turn turn) {
    const auto give = [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (requires { take(body, turn); }) {
            if (received.peer == directory_.peer()) {
                answered_ = true;
                contact_until_ = swarm::kNever;
                take(body, turn);
            }
        } else if constexpr (requires(sharing::FileDonor & donor) {
                                 donor.take(received.peer, body, turn);
                             }) {
            if (donor_) {
                donor_->take(received.peer, body, turn);
            } else if constexpr (std::is_same_v<Body, protocol::FilesAsk>) {
                send(received.peer, protocol::FilesTold{body.model, {}, 0}, turn);
            }
        } else if constexpr (kRowsForHops<Body>) {
            if (hops_) {
                hops_->take(received.peer, body, received.payload, turn);
            }
        } else if constexpr (std::is_same_v<Body, protocol::ExpertRows>) {
            if (lends_) {
                lends_->take(received.peer, body, received.payload, turn);
            } else {
                send(received.peer, protocol::ExpertRefused{body.request, false}, turn);
            }
        } else if constexpr (std::is_same_v<Body, protocol::Located>) {
            if (hops_ && received.peer == directory_.peer()) {
                hops_->take(body, turn);
            }
        } else if constexpr (requires(HopTable & hops) { hops.take(received.peer, body, turn); }) {
            if (hops_) {
                hops_->take(received.peer, body, turn);
            } else if constexpr (std::is_same_v<Body, protocol::SessionOpen>) {
                const auto nothing_yet = protocol::SessionReason::Mismatch;
                send(received.peer, protocol::SessionTrouble{body.id, nothing_yet}, turn);
            }
        }
    };
    std::visit(give, received.message.body);
    if (protocol::is_meant_for_a_hub(received.message.body)) {
        send(received.peer, protocol::Misdirected{protocol::HubKind::SessionServer}, turn);
    }
}

void SessionServer::take(const protocol::HostPlace& place, node::Turn turn) {
    const bool offered = std::ranges::find(options_.split, place.hosted) != options_.split.end();
    if (place_ || place.model != options_.model || place.hosted.end > options_.layers) {
        return;
    }
    if (!offered) {
        turn.out.log(
            node::LogLine::Level::Info, "the model is split in another way here; that one is taken"
        );
    }
    load(place.hosted, turn);
}

void SessionServer::take(const protocol::Registered& registered, node::Turn turn) {
    if (registered.refusal != refusal_) {
        refusal_ = registered.refusal;
        if (!refusal_.empty()) {
            turn.out.log(node::LogLine::Level::Error, "directory: " + refusal_);
        }
    }
    if (registered.refusal.empty() && is_loaded() && !listed_) {
        listed_ = true;
        turn.out.log(
            node::LogLine::Level::Info,
            "serves " + what() + ", weights " + to_hex(weights_).substr(0, 8)
        );
    }
}

void SessionServer::take(const protocol::Misdirected& misdirected, node::Turn turn) {
    const auto wanted = protocol::HubKind::Directory;
    if (misdirected.here != wanted) {
        const auto wrong = node::wrong_place(options_.directory_address, misdirected.here, wanted);
        end(wrong.exit_code, wrong.text, turn);
    }
}

void SessionServer::handle(const node::Computed& computed, node::Turn turn) {
    if (sharing::FileDonor::is_its_job(computed.job)) {
        donor_->computed(computed.job, turn);
    } else if (ExpertTable::is_its_job(computed.job)) {
        lends_->computed(computed.job, turn);
    } else if (hops_) {
        hops_->computed(computed.job, turn);
    } else {
        loading_.done(computed.job, turn);
    }
}

void SessionServer::end(int exit_code, std::string text, node::Turn turn) {
    ended_ = true;
    turn.out.add(node::Tell{node::RunFailed{exit_code, std::move(text)}});
}

}  // namespace stacking::sessions
