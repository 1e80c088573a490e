#include "stacking/api/swarm_state.hpp"

#include "stacking/sessions/directory.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace stacking::api {
namespace {

namespace json = boost::json;
using sessions::ClientContext;
using swarm::PeerId;

std::int64_t second_of(swarm::TimePoint now) {
    return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
}

std::vector<PeerId> peers_of(const std::vector<ClientContext>& models) {
    std::vector<PeerId> peers;
    for (const ClientContext& model : models) {
        for (const auto& host : model.located.hosts) {
            peers.push_back(host.peer);
        }
    }
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
}

}  // namespace

void SwarmState::count_token(swarm::TimePoint now) {
    const auto slots = static_cast<std::int64_t>(tokens_.size());
    const std::int64_t second = second_of(now);
    for (std::int64_t skipped = std::max(second_ + 1, second - slots + 1); skipped <= second;
         ++skipped) {
        tokens_[static_cast<std::size_t>(skipped % slots)] = 0;
    }
    second_ = second;
    ++tokens_[static_cast<std::size_t>(second % slots)];
    ++all_tokens_;
}

/// The mean over whole seconds that have passed.
double SwarmState::tokens_per_s(swarm::TimePoint now) const {
    const auto slots = static_cast<std::int64_t>(tokens_.size());
    const std::int64_t present = second_of(now);
    std::uint64_t sum = 0;
    const std::int64_t first = std::max<std::int64_t>(0, present - kRateSeconds);
    for (std::int64_t second = first; second < present; ++second) {
        const bool is_kept = second <= second_ && second > second_ - slots;
        sum += is_kept ? tokens_[static_cast<std::size_t>(second % slots)] : 0;
    }
    return static_cast<double>(sum) / static_cast<double>(kRateSeconds);
}

void SwarmState::add(swarm::TimePoint now, std::string what, std::string peer, std::string reason) {
    events_.push_back({now, std::move(what), std::move(peer), std::move(reason)});
    if (events_.size() > kEventsMax) {
        events_.pop_front();
    }
}

void SwarmState::note(const swarm::node::SessionMoved& moved, swarm::TimePoint now) {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(moved.detected + moved.resumed);
    add(now,
        "failover",
        "",
        moved.reason + "; the text went on after " + std::to_string(ms.count()) + " ms");
}

void SwarmState::note(const swarm::node::Event& event, swarm::TimePoint now) {
    using swarm::node::Lane;
    if (const auto* const up = std::get_if<swarm::node::LinkUp>(&event)) {
        if (up->lane == Lane::Control) {
            lost_.erase(up->peer);
        }
    } else if (const auto* const down = std::get_if<swarm::node::LinkDown>(&event)) {
        if (down->lane == Lane::Control && std::ranges::binary_search(peers_, down->peer)) {
            lost_[down->peer] = now;
        }
    }
}

std::string SwarmState::why_gone(const PeerId& peer, swarm::TimePoint now) const {
    const auto lost = lost_.find(peer);
    const bool is_new =
        lost != lost_.end() && now - lost->second <= sessions::Directory::kSilentMax;
    return is_new ? "its connection ended" : "the directory lists it no more";
}

void SwarmState::watch(const std::vector<ClientContext>& models, swarm::TimePoint now) {
    std::vector<PeerId> peers = peers_of(models);
    if (peers == peers_) {
        return;
    }
    std::vector<PeerId> came;
    std::vector<PeerId> gone;
    std::ranges::set_difference(peers, peers_, std::back_inserter(came));
    std::ranges::set_difference(peers_, peers, std::back_inserter(gone));
    for (const PeerId& peer : has_watched_ ? came : std::vector<PeerId>()) {
        add(now, "peer came", name_of_(peer), "");
    }
    for (const PeerId& peer : gone) {
        add(now, "peer gone", name_of_(peer), why_gone(peer, now));
        lost_.erase(peer);
    }
    has_watched_ = true;
    peers_ = std::move(peers);
}

bool SwarmState::is_served(const ClientContext& model) {
    return model.located.layers > 0 && !model.stages().empty();
}

bool SwarmState::are_served(const std::vector<ClientContext>& models) {
    return std::ranges::all_of(models, is_served);
}

std::string SwarmState::to_json(
    const std::vector<ClientContext>& models, const Load& load, swarm::TimePoint now
) const {
    json::array told_models;
    for (const ClientContext& model : models) {
        json::array stages;
        const auto& hosts = model.located.hosts;  // in order of their layers
        for (auto first = hosts.begin(); first != hosts.end();) {
            const auto end = std::find_if(first, hosts.end(), [&](const auto& host) {
                return host.hosted != first->hosted;
            });
            const double sum = std::accumulate(first, end, 0.0, [](double all, const auto& host) {
                return all + host.rates.decode_per_s;
            });
            json::array peers;
            for (auto host = first; host != end; ++host) {
                const double equal = 1 / static_cast<double>(end - first);
                peers.push_back(json::object{
                    {"id", name_of_(host->peer)},
                    {"prefill_rows_per_s", host->rates.prefill_per_s},
                    {"decode_rows_per_s", host->rates.decode_per_s},
                    {"share", sum > 0 ? host->rates.decode_per_s / sum : equal}});
            }
            stages.push_back(json::object{
                {"layers", json::array{first->hosted.first, first->hosted.end - 1}},
                {"peers", std::move(peers)}});
            first = end;
        }
        told_models.push_back(json::object{
            {"name", model.name},
            {"layers", model.located.layers},
            {"served", is_served(model)},
            {"stages", std::move(stages)}});
    }
    json::array events;
    for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
        events.push_back(json::object{
            {"seconds_ago", swarm::in_seconds(now - event->at)},
            {"what", event->what},
            {"peer", event->peer.empty() ? json::value(nullptr) : json::value(event->peer)},
            {"reason", event->reason}});
    }
    return json::serialize(json::object{
        {"model", load.model},
        {"join_line", load.join_line},
        {"join_here_only", load.join_here_only},
        {"served", are_served(models)},
        {"answers_running", load.running},
        {"answers_waiting", load.waiting},
        {"tokens", all_tokens_},
        {"tokens_per_s", tokens_per_s(now)},
        {"models", std::move(told_models)},
        {"events", std::move(events)}});
}

}  // namespace stacking::api
