#include "stacking/sessions/newcomer/newcomer.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/node/wrong_place.hpp"

#include <algorithm>
#include <utility>

namespace stacking::sessions {
namespace {

constexpr int kUsage = 2;  // exit codes of the program
constexpr int kNobody = 4;

constexpr swarm::Duration kAskAgainAfter = std::chrono::seconds(2);

}  // namespace

Newcomer::Newcomer(Options options)
    : options_(std::move(options)), directory_(options_.directory, options_.directory_address) {}

void Newcomer::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    if (server_) {
        return server_->on(event, now, out);
    }
    const node::Turn turn{now, out};
    ended_ = ended_ || std::holds_alternative<node::Stop>(event);
    if (!ended_ && !std::exchange(begun_, true)) {
        give_up_at_ = now + options_.patience;
    }
    if (!ended_) {
        std::visit([&](const auto& occurred) { handle(occurred, turn); }, event);
    }
    if (!ended_ && !server_) {
        advance(turn);
    }
    if (!ended_ && !server_ && give_up_at_ <= now) {
        end(kNobody, what_is_missing(), turn);
    }
}

TimePoint Newcomer::next_deadline() const {
    if (server_) {
        return server_->next_deadline();
    }
    if (ended_) {
        return swarm::kNever;
    }
    TimePoint due = std::min(directory_.next_deadline(), give_up_at_);
    if (step_ == Step::Choose && !options_.files) {
        due = std::min(due, tell_until_);
    }
    for (const auto& [peer, server] : servers_) {
        if (!server.told && is_linked(peer)) {
            due = std::min(due, server.ask_at);
        }
    }
    if (manifest_) {
        due = std::min(due, manifest_->next_deadline());
    }
    if (fetcher_ && !fetcher_->is_complete()) {
        due = std::min({due, fetcher_->next_deadline(), progress_at_});
    }
    return due;
}

node::Allowance Newcomer::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    if (server_) {
        return server_->allowance(peer);
    }
    if (peer == directory_.peer()) {
        return {Acquaintance::Partner, protocol::kLocatedBytesMax, 0};
    }
    if (servers_.contains(peer)) {
        return {Acquaintance::Partner, protocol::kControlBytesMax, protocol::kChunkBytes};
    }
    return node::Allowance::without_tensors(Acquaintance::Stranger);
}

bool Newcomer::is_linked(PeerId peer) const {
    return links_.is_up(peer, node::Lane::Control) && links_.is_up(peer, node::Lane::Bulk);
}

void Newcomer::handle(const node::LinkUp& up, node::Turn turn) {
    directory_.on(up, turn.now);
    links_.on(up);
    up_[{up.peer, up.lane}] = up;
    const auto found = servers_.find(up.peer);
    if (found != servers_.end() && is_linked(up.peer)) {
        found->second.gone = false;
        found->second.ask_at = swarm::kAtOnce;
        add_donor(up.peer, found->second);
    }
}

void Newcomer::handle(const node::LinkDown& down, node::Turn turn) {
    directory_.on(down, turn.now);
    links_.on(down);
    up_.erase({down.peer, down.lane});
    if (manifest_) {
        manifest_->donor_down(down.peer);
    }
    if (fetcher_) {
        fetcher_->donor_down(down.peer);
    }
}

void Newcomer::handle(const node::DialFailed& failed, node::Turn turn) {
    if (directory_.on(failed, turn.now) && failed.error.reaction == swarm::Reaction::Fatal) {
        return end(kUsage, "the directory refuses this peer: " + failed.error.detail, turn);
    }
    links_.on(failed);
    const auto found = servers_.find(failed.peer);
    if (found != servers_.end() && !links_.is_up(failed.peer, failed.lane)) {
        found->second.gone = true;
    }
}

void Newcomer::handle(const node::Received& received, node::Turn turn) {
    const auto give = [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (requires { take(received.peer, body, turn); }) {
            take(received.peer, body, turn);
        } else if constexpr (std::is_same_v<Body, protocol::FileChunk>) {
            take(received.peer, body, received.payload, turn);
        } else if constexpr (std::is_same_v<Body, protocol::FileRefused>) {
            if (manifest_) {
                manifest_->take(received.peer, body, turn.now);
            }
            if (fetcher_) {
                fetcher_->take(received.peer, body, turn.now);
            }
        } else if constexpr (std::is_same_v<Body, protocol::SessionOpen>) {
            const auto nothing_yet = protocol::SessionReason::Mismatch;
            send(received.peer, protocol::SessionTrouble{body.id, nothing_yet}, turn);
        }
    };
    std::visit(give, received.message.body);
    if (protocol::is_meant_for_a_hub(received.message.body)) {
        send(received.peer, protocol::Misdirected{protocol::HubKind::SessionServer}, turn);
    }
}

void Newcomer::handle(const node::Computed& computed, node::Turn turn) {
    jobs_.done(computed.job, turn);
}

/// Asks up to kAskedMax servers, in an order of this process's own: whoever has many peers in the
/// list cannot choose who is asked.
void Newcomer::take(PeerId from, const protocol::Located& located, node::Turn turn) {
    if (from != directory_.peer() || located.model != options_.model) {
        return;
    }
    located_ = true;
    std::vector<const protocol::HostInfo*> hosts;
    for (const protocol::HostInfo& host : located.hosts) {
        const auto known = servers_.find(host.peer);
        if (known != servers_.end()) {
            known->second.info = host;
        } else if (host.peer != options_.self) {
            hosts.push_back(&host);
        }
    }
    std::erase_if(servers_, [&](const auto& entry) {
        return entry.second.gone &&
               std::ranges::find(located.hosts, entry.first, &protocol::HostInfo::peer) ==
                   located.hosts.end();
    });
    std::ranges::sort(hosts, {}, [&](const protocol::HostInfo* host) {
        return swarm::mix_bits(host->peer.words[0] ^ swarm::mix_bits(options_.seed));
    });
    for (const protocol::HostInfo* const host : hosts) {
        if (servers_.size() < kAskedMax) {
            servers_[host->peer].info = *host;
        }
    }
    for (const auto& [peer, server] : servers_) {
        links_.want(peer, node::Lane::Control, server.info.address, turn);
        links_.want(peer, node::Lane::Bulk, server.info.address, turn);
    }
}

void Newcomer::take(PeerId from, const protocol::HostPlace& place, node::Turn turn) {
    const bool is_answer = from == directory_.peer() && step_ == Step::Place &&
                           place.model == options_.model && place.hosted.end <= opened_.layers;
    if (is_answer) {
        place_ = place.hosted;
        step_ = Step::Load;
        load(turn);
    }
}

void Newcomer::take(PeerId from, const protocol::Registered& registered, node::Turn /*turn*/) {
    if (from == directory_.peer()) {
        refusal_ = registered.refusal;
    }
}

void Newcomer::take(PeerId from, const protocol::Misdirected& misdirected, node::Turn turn) {
    const auto wanted = protocol::HubKind::Directory;
    if (from == directory_.peer() && misdirected.here != wanted) {
        const auto wrong = node::wrong_place(options_.directory_address, misdirected.here, wanted);
        end(wrong.exit_code, wrong.text, turn);
    }
}

void Newcomer::take(PeerId from, const protocol::FilesTold& told, node::Turn turn) {
    const auto found = servers_.find(from);
    if (found == servers_.end() || found->second.told || told.model != options_.model) {
        return;  // a server tells once: what it told decides whom it counts for
    }
    found->second.told = told;
    if (told.manifest_bytes > 0) {
        tell_until_ = std::min(tell_until_, turn.now + kTellWithin);
    }
    add_donor(from, found->second);
}

void Newcomer::take(
    PeerId from, const protocol::FileChunk& chunk, const node::Payload& payload, node::Turn turn
) {
    if (manifest_ && chunk.of_manifest) {
        manifest_->take(from, chunk, payload.bytes(), turn.now);
    } else if (fetcher_ && fetcher_->take(from, chunk, payload.bytes(), turn.now)) {
        ++taken_;
        give_up_at_ = turn.now + options_.patience;
        save(chunk.chunk, payload, turn);
    }
}

/// A server that is linked and has told the chosen manifest gives what it has.
void Newcomer::add_donor(PeerId peer, const Server& server) {
    const bool is_one = files_ && is_linked(peer) && server.told &&
                        server.told->manifest_bytes > 0 && server.told->manifest == *files_;
    if (is_one && fetcher_ && !manifest_->is_liar(peer)) {
        fetcher_->donor_up(peer);
    } else if (is_one && manifest_) {
        manifest_->donor_up(peer, server.told->manifest_bytes);
    }
}

void Newcomer::advance(node::Turn turn) {
    if (directory_.wake(turn)) {
        beat(turn);
    }
    ask_servers(turn);
    if (step_ == Step::Choose) {
        choose(turn);
    }
    if (step_ == Step::Done && directory_.is_up()) {
        return begin_serving(turn);
    }
    if (step_ == Step::Manifest) {
        manifest_->advance(turn);
        if (manifest_->is_complete() && !busy_) {
            begin_copy(turn);
        }
    }
    if (fetcher_) {
        using Pace = sharing::FileFetcher::Pace;
        fetcher_->advance(unsaved_ < kUnsavedMax ? Pace::Ask : Pace::Hold, turn);
        show_progress(turn);
    }
}

void Newcomer::beat(node::Turn turn) {
    send(directory_.peer(), protocol::Locate{options_.model, 0}, turn);
    if (!opened_.split.empty() && !opened_.fixed) {
        const protocol::HostOffer offer{options_.model, opened_.layers, opened_.split};
        send(directory_.peer(), offer, turn);
    }
}

void Newcomer::ask_servers(node::Turn turn) {
    for (auto& [peer, server] : servers_) {
        if (!server.told && is_linked(peer) && server.ask_at <= turn.now) {
            server.ask_at = turn.now + kAskAgainAfter;
            send(peer, protocol::FilesAsk{options_.model}, turn);
        }
    }
}

void Newcomer::end(int exit_code, std::string text, node::Turn turn) {
    ended_ = true;
    turn.out.add(node::Tell{node::RunFailed{exit_code, std::move(text)}});
}

std::string Newcomer::what_is_missing() const {
    const std::string there = " at " + options_.directory_address;
    if (!located_) {
        const std::string why = directory_.failure();
        return "no directory" + there + (why.empty() ? "" : ": " + why);
    }
    if (servers_.empty() && !files_) {
        return "nobody serves " + options_.name + there +
               ", so there is nobody to take its files from; start a peer that has them";
    }
    if (!files_) {
        return "none of the peers that serve " + options_.name + there + " gives " +
               (options_.files ? "the files that are wanted" : "its files");
    }
    if (step_ == Step::Place) {
        return "the directory" + there + " gives no place among the peers that serve " +
               options_.name + (refusal_.empty() ? "" : ": " + refusal_);
    }
    if (!fetcher_ || fetcher_->donors() == 0) {
        return "the peers that gave the files of " + options_.name + " are gone; what came is kept";
    }
    return "no peer gives the " + std::to_string(fetcher_->missing()) + " MiB of " + options_.name +
           " that are missing; what came is kept";
}

void Newcomer::show_progress(node::Turn turn) {
    if (!fetcher_->is_complete() && progress_at_ <= turn.now) {
        progress_at_ = turn.now + kProgressEvery;
        turn.out.log(
            node::LogLine::Level::Info,
            options_.name + ": " + std::to_string(taken_) + " MiB taken from " +
                std::to_string(fetcher_->givers()) + " peers, " +
                std::to_string(fetcher_->missing()) + " to go"
        );
    }
}

}  // namespace stacking::sessions
