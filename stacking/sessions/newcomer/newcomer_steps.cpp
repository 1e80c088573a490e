// The steps of a newcomer, one after the other: the manifest, the model, its place, the layers.
#include "stacking/sessions/newcomer/newcomer.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stacking::sessions {
namespace {

constexpr int kFailed = 1;  // exit codes of the program
constexpr int kNoAgreement = 4;

std::string short_text(const swarm::Digest& digest) {
    return to_hex(digest).substr(0, 8);
}

}  // namespace

void Newcomer::choose(node::Turn turn) {
    if (options_.files) {
        const bool is_told = std::ranges::any_of(servers_, [&](const auto& entry) {
            const auto& told = entry.second.told;
            return told && told->manifest_bytes > 0 && told->manifest == *options_.files;
        });
        if (is_told) {
            use(*options_.files, turn);
        }
    } else if (const auto files = agreed(turn)) {
        use(*files, turn);
    }
}

/// The manifest that most servers tell, once nobody who may still answer can change it.
std::optional<swarm::Digest> Newcomer::agreed(node::Turn turn) {
    std::map<swarm::Digest, std::size_t> votes;
    std::size_t open = 0;
    for (const auto& [peer, server] : servers_) {
        if (server.told && server.told->manifest_bytes > 0) {
            ++votes[server.told->manifest];
        } else if (!server.told && !server.gone) {
            ++open;
        }
    }
    if (votes.empty()) {
        tell_until_ = swarm::kNever;  // whoever had told is gone
    } else if (tell_until_ <= turn.now) {
        open = 0;
    }
    std::size_t most = 0;
    std::size_t second = 0;
    std::optional<swarm::Digest> best;
    for (const auto& [files, count] : votes) {
        if (count > most) {
            second = std::exchange(most, count);
            best = files;
        } else {
            second = std::max(second, count);
        }
    }
    if (best && most > second + open) {
        if (second > 0) {
            turn.out.log(
                node::LogLine::Level::Warning,
                "the peers that serve " + options_.name + " have different files; " +
                    std::to_string(most) + " have " + short_text(*best) +
                    ", which are taken; --files names others"
            );
        }
        return best;
    }
    if (best && open == 0) {
        end(kNoAgreement,
            "the peers that serve " + options_.name +
                " have different files, and none more peers than the others; name the right ones "
                "with --files, as swarm model show prints them where they are",
            turn);
    }
    return std::nullopt;
}

void Newcomer::use(swarm::Digest files, node::Turn turn) {
    files_ = files;
    step_ = Step::Manifest;
    give_up_at_ = turn.now + options_.patience;
    manifest_.emplace(files);
    turn.out.log(
        node::LogLine::Level::Info,
        "takes the files " + short_text(files) + " of " + options_.name + " from its peers"
    );
    for (const auto& [peer, server] : servers_) {
        add_donor(peer, server);
    }
}

void Newcomer::begin_copy(node::Turn turn) {
    using Outcome = std::optional<swarm::Result<std::vector<swarm::Digest>>>;
    busy_ = true;
    jobs_.submit_for<Outcome>(
        turn,
        0,
        [copy = options_.copy, manifest = manifest_->bytes()](Outcome& outcome) {
            outcome = copy->begin(manifest);
        },
        [this](Outcome& outcome, node::Turn later) {
            busy_ = false;
            if (outcome->has_error()) {
                return end(kFailed, outcome->error().detail, later);
            }
            fetcher_.emplace(*files_, std::move(**outcome));
            for (const auto& [peer, server] : servers_) {
                add_donor(peer, server);
            }
            step_ = Step::Open;
            open(later);
        }
    );
}

void Newcomer::open(node::Turn turn) {
    struct Outcome {
        std::optional<swarm::Result<ModelCopy::Lacking>> lacking{};
        OpenedModel opened{};
    };

    busy_ = true;
    jobs_.submit_for<Outcome>(
        turn,
        0,
        [copy = options_.copy](Outcome& outcome) { outcome.lacking = copy->open(outcome.opened); },
        [this](Outcome& outcome, node::Turn later) {
            busy_ = false;
            if (outcome.lacking->has_error()) {
                return end(kFailed, outcome.lacking->error().detail, later);
            }
            if (!(*outcome.lacking)->empty()) {
                fetcher_->want(**outcome.lacking);
                progress_at_ = std::min(progress_at_, later.now + kProgressEvery);
                return;
            }
            opened_ = std::move(outcome.opened);
            step_ = Step::Place;
            if (opened_.fixed) {
                place_ = opened_.fixed;
                step_ = Step::Load;
                return load(later);
            }
            if (directory_.is_up()) {
                beat(later);
            }
        }
    );
}

void Newcomer::load(node::Turn turn) {
    struct Outcome {
        std::optional<swarm::Result<ModelCopy::Lacking>> lacking{};
        swarm::Digest weights{};
    };

    busy_ = true;
    give_up_at_ = swarm::kNever;  // loading takes as long as it takes
    jobs_.submit_for<Outcome>(
        turn,
        0,
        [copy = options_.copy, layers = *place_](Outcome& outcome) {
            outcome.lacking = copy->load(layers, outcome.weights);
        },
        [this](Outcome& outcome, node::Turn later) {
            busy_ = false;
            give_up_at_ = later.now + options_.patience;
            if (outcome.lacking->has_error()) {
                return end(kFailed, outcome.lacking->error().detail, later);
            }
            if (!(*outcome.lacking)->empty()) {
                fetcher_->want(**outcome.lacking);
                progress_at_ = later.now;
                return;
            }
            std::string why = refusal_of(outcome.weights);
            if (!why.empty()) {
                return end(kFailed, std::move(why), later);
            }
            step_ = Step::Done;  // the server's role begins when the directory is linked
            give_up_at_ = swarm::kNever;
        }
    );
}

void Newcomer::save(std::uint32_t chunk, node::Payload payload, node::Turn turn) {
    using Outcome = std::optional<swarm::Result<>>;
    ++unsaved_;
    jobs_.submit_for<Outcome>(
        turn,
        0,
        [copy = options_.copy, chunk, payload = std::move(payload)](Outcome& outcome) {
            outcome = copy->put(chunk, payload.bytes());
        },
        [this](Outcome& outcome, node::Turn later) {
            --unsaved_;
            if (outcome->has_error()) {
                return end(kFailed, outcome->error().detail, later);
            }
            try_again(later);
        }
    );
}

/// Goes on with the step once all that it lacked is on disk.
void Newcomer::try_again(node::Turn turn) {
    if (busy_ || unsaved_ > 0 || !fetcher_->is_complete()) {
        return;
    }
    if (step_ == Step::Open) {
        open(turn);
    } else if (step_ == Step::Load) {
        load(turn);
    }
}

/// Says why the weights are not those of the peers that have the same files; empty when they are,
/// and when none of these peers serves exactly these layers.
std::string Newcomer::refusal_of(const swarm::Digest& weights) const {
    std::map<swarm::Digest, std::size_t> votes;
    for (const auto& [peer, server] : servers_) {
        if (server.info.hosted == *place_ && server.told && server.told->manifest == *files_) {
            ++votes[server.info.weights];
        }
    }
    const auto most =
        std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
    if (most == votes.end() || votes[weights] >= most->second) {
        return "";
    }
    return "layers " + std::to_string(place_->first) + " to " + std::to_string(place_->end - 1) +
           " of " + options_.name + " have the weights " + short_text(weights) + " here, and " +
           short_text(most->first) +
           " at the peers with the same files; serve them with the --weights and --exits of those";
}

/// The server's role hears of the links that are up, first of the directory's.
void Newcomer::begin_serving(node::Turn turn) {
    server_ = options_.serve(*place_, directory_.peer());
    const auto ours = std::pair(directory_.peer(), node::Lane::Control);
    server_->on(up_.at(ours), turn.now, turn.out);
    for (const auto& [link, up] : up_) {
        if (link != ours) {
            server_->on(up, turn.now, turn.out);
        }
    }
}

}  // namespace stacking::sessions
