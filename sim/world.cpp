#include "sim/world.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

std::uint64_t ticks(TimePoint at) {
    return static_cast<std::uint64_t>(at.time_since_epoch().count());
}

bool is_carried_by_a_link(ItemKind kind) {
    return kind == ItemKind::FrameBegins || kind == ItemKind::FrameArrives ||
           kind == ItemKind::DialArrives || kind == ItemKind::DialAccepted ||
           kind == ItemKind::DialRefused;
}

// True for items that happen while their process stands still: its kernel's work, and the items
// that thaw() starts anew.
bool needs_no_process(ItemKind kind) {
    return kind == ItemKind::FrameBegins || kind == ItemKind::FrameArrives ||
           kind == ItemKind::PipeIsDue || kind == ItemKind::Wake || kind == ItemKind::JobIsDue;
}

bool begins_a_turn(ItemKind kind) {
    return kind == ItemKind::FrameIsHere || kind == ItemKind::JobIsDue ||
           kind == ItemKind::DiskIsDue || kind == ItemKind::Wake || kind == ItemKind::FrameArrives;
}

}  // namespace

World::World(const Options& options) : options_(options), network_(options.seed, options.network) {}

void World::add_peer(PeerId peer, MakeRole make_role, const PeerOptions& options) {
    const auto index = static_cast<PeerIndex>(processes_.size());
    const bool is_new = places_.emplace(peer, index).second;
    SWARM_ASSERT(is_new);
    network_.add_peer(options.region);
    processes_.push_back(
        std::make_unique<Process>(peer, index, std::move(make_role), options, options_.seed)
    );
    start(*processes_.back());
}

void World::stop(PeerId peer) {
    Process& process = process_of(peer);
    if (!process.runner) {
        return;
    }
    if (process.frozen) {
        process.held.push_back(
            {.kind = ItemKind::StopArrives, .peer = process.index, .value = process.life}
        );
    } else {
        stop_now(process);
    }
}

void World::stop_next(PeerId peer) {
    Process& process = process_of(peer);
    if (process.runner) {
        queue_.push(
            now_, {.kind = ItemKind::StopArrives, .peer = process.index, .value = process.life}
        );
    }
}

void World::stop_now(Process& process) {
    process.stopping = true;
    deliver(process, node::Stop{});
    if (process.runner) {
        process.disk.sync_all();
        end_process(process);
    }
}

void World::crash(PeerId peer) {
    crash(process_of(peer));
}

void World::crash(Process& process) {
    ++faults_;
    process.up.drop_bulk_if(now_, [&](FrameIndex frame) {
        cut_frame(frame);
        return true;
    });
    end_process(process);
}

// A crash in the middle of a turn takes effect at its end (doomed). The process comes back by
// itself when the rule says so.
bool World::crashes_here(FaultPoint point, Process& process) {
    if (!process.runner || !fault_points_.fires(point, process.index, process.crashes)) {
        return false;
    }
    if (const Duration delay = fault_points_.delay(point); delay > Duration{}) {
        queue_.push(
            now_ + delay,
            {.kind = ItemKind::RestartIsDue, .peer = process.index, .value = process.life}
        );
    }
    return true;
}

void World::end_process(Process& process) {
    SWARM_ASSERT(!process.in_turn);
    process.runner.reset();
    process.role = nullptr;
    process.stopping = false;
    process.doomed = false;
    process.frozen = false;
    process.armed_for = swarm::kNever;
    process.disk_answers.clear();
    process.requests.clear();
    process.dials_to_nobody.clear();
    process.lost_links.clear();
    process.device.crash();
    process.disk.crash(process.disk_rng);
    for (const auto& [key, link] : std::exchange(process.dialing, {})) {
        network_.close(link, Side::Dialer);
    }
    std::vector<std::pair<LinkKey, LinkId>> links(process.links.begin(), process.links.end());
    process.links.clear();
    std::ranges::sort(links, {}, &std::pair<LinkKey, LinkId>::first);
    for (const auto& [key, link] : links) {
        hang_up(link, network_.find(link)->side_of(process.index));
    }
    drop_lost_frames(process);
    release_held(process);
}

void World::restart(PeerId peer) {
    Process& process = process_of(peer);
    if (process.runner) {
        crash(peer);
    }
    start(process);
}

void World::start(Process& process) {
    ++process.life;
    process.synced_at = now_;
    process.incarnation = {process.incarnations.next()};
    std::unique_ptr<node::Role> role = process.make_role(process.incarnation);
    process.role = role.get();
    process.runner = std::make_unique<node::RoleRunner>(
        std::move(role),
        [this, &process](node::Action&& action) {
            if (!process.doomed) {
                std::visit([&](auto& asked) { perform(process, asked); }, action);
            }
        }
    );
    arm(process);
}

void World::freeze(PeerId peer) {
    Process& process = process_of(peer);
    if (process.runner && !process.frozen) {
        ++faults_;
        process.frozen = true;
        process.frozen_at = now_;
    }
}

void World::thaw(PeerId peer) {
    Process& process = process_of(peer);
    if (!process.frozen) {
        return;
    }
    process.frozen = false;
    // The timer comes before all events that wait in the sockets: the harder order for the role.
    process.armed_for = now_;
    const std::uint64_t now = ticks(now_);
    queue_.push_urgent(now_, {.kind = ItemKind::Wake, .peer = process.index, .value = now});
    if (process.device.is_busy()) {
        process.device.stand_still(now_ - process.frozen_at);
        queue_.push(
            process.device.done_at(),
            {.kind = ItemKind::JobIsDue, .peer = process.index, .value = process.life}
        );
    }
    release_held(process);
}

void World::ask(PeerId peer, node::Asked request) {
    Process& process = process_of(peer);
    if (process.runner) {
        process.requests.push_back(std::make_unique<node::Event>(std::move(request)));
        queue_.push(
            now_, {.kind = ItemKind::Request, .peer = process.index, .value = process.life}
        );
    }
}

void World::block(PeerId from, PeerId to) {
    ++faults_;
    process_of(to).blocked_from.push_back(process_of(from).index);
}

void World::unblock(PeerId from, PeerId to) {
    Process& process = process_of(to);
    std::erase(process.blocked_from, process_of(from).index);
    if (!process.frozen) {
        release_held(process);
    }
}

void World::set_frame_loss(std::uint64_t numerator, std::uint64_t denominator) {
    set_fault(FaultPoint::FrameIsSent, FaultRule::by_probability(numerator, denominator));
}

void World::set_job_stalls(std::uint64_t numerator, std::uint64_t denominator, Duration extra) {
    set_fault(FaultPoint::JobStarts, FaultRule::by_probability(numerator, denominator, extra));
}

void World::set_speed(PeerId peer, double units_per_s) {
    process_of(peer).device.set_speed(units_per_s);
}

void World::stall_jobs(PeerId peer, Duration extra, std::uint32_t jobs) {
    process_of(peer).device.stall(extra, jobs);
}

void World::set_rates(PeerId peer, std::uint64_t up_bytes_per_s, std::uint64_t down_bytes_per_s) {
    Process& process = process_of(peer);
    process.up.set_rate(up_bytes_per_s, now_);
    process.down.set_rate(down_bytes_per_s, now_);
    arm(process, process.up);
    arm(process, process.down);
}

bool World::step() {
    if (queue_.empty()) {
        return false;
    }
    now_ = queue_.next_time();
    const Item item = queue_.pop();
    Process& target = *processes_[item.peer];
    if (!queue_.empty()) {
        // A thousand processes do not fit into a cache: the next one is fetched meanwhile.
        __builtin_prefetch(processes_[queue_.front().peer].get());
    }
    if (is_held(target, item)) {
        target.held.push_back(item);
    } else if (begins_a_turn(item.kind) && crashes_here(FaultPoint::TurnBegins, target)) {
        crash(target);
        carry_out(target, item);
    } else {
        carry_out(target, item);
    }
    return true;
}

void World::run_for(Duration duration) {
    const TimePoint end = now_ + duration;
    while (queue_.next_time() <= end) {
        step();
    }
    now_ = end;
}

void World::carry_out(Process& target, const Item& item) {
    const bool is_this_life = item.value == target.life && target.runner;
    switch (item.kind) {
        case ItemKind::FrameBegins:
            return frame_begins(target, item.index);
        case ItemKind::FrameArrives:
            return frame_arrives(target, item.index);
        case ItemKind::FrameIsHere:
            return frame_is_here(target, item.index);
        case ItemKind::DialArrives:
            return dial_arrives(target, item.link());
        case ItemKind::DialAccepted:
            return dial_accepted(target, item.link());
        case ItemKind::DialRefused:
        case ItemKind::DialTimesOut:
            return dial_failed(target, item.link());
        case ItemKind::PipeIsDue:
            return pipe_is_due(target, item);
        case ItemKind::RestartIsDue:
            if (item.value == target.life && !target.runner) {
                start(target);
            }
            return;
        case ItemKind::Wake:
            return wake(target, TimePoint(Duration(item.value)));
        default:
            break;
    }
    if (!is_this_life) {
        return;
    }
    switch (item.kind) {
        case ItemKind::LinkIsReset:
            return tell_of_loss(target, {item.index, item.lane});
        case ItemKind::DialIsReset:
            return fail_dial(target, dialed_as(item.index, item.generation != 0), item.lane);
        case ItemKind::DialToNobody: {
            const LinkToNobody dialed = target.dials_to_nobody.front();
            target.dials_to_nobody.pop_front();
            return fail_dial(target, dialed.peer, dialed.lane);
        }
        case ItemKind::JobIsDue:
            return job_is_due(target);
        case ItemKind::DiskIsDue:
            return disk_is_due(target);
        case ItemKind::Request: {
            const std::unique_ptr<node::Event> request = std::move(target.requests.front());
            target.requests.pop_front();
            return deliver(target, std::move(*request));
        }
        case ItemKind::StopArrives:
            return stop_now(target);
        default:
            SWARM_ASSERT(false);
    }
}

bool World::is_held(const Process& target, const Item& item) {
    if (target.frozen && !needs_no_process(item.kind)) {
        return true;
    }
    if (target.blocked_from.empty() || !is_carried_by_a_link(item.kind)) {
        return false;
    }
    const bool is_frame = item.kind == ItemKind::FrameArrives || item.kind == ItemKind::FrameBegins;
    const Link* link = network_.find(is_frame ? frames_[item.index].link : item.link());
    return link && std::ranges::count(target.blocked_from, link->remote_of(target.index)) > 0;
}

void World::release_held(Process& target) {
    for (const Item& item : std::exchange(target.held, {})) {
        queue_.push_urgent(now_, item);
    }
}

void World::wake(Process& target, TimePoint armed_for) {
    if (!target.runner || target.frozen || armed_for != target.armed_for) {
        return;
    }
    target.armed_for = swarm::kNever;
    if (target.clock.world_time(target.runner->next_deadline()) <= now_) {
        deliver(target, node::Woke{});
    } else {
        arm(target);
    }
}

void World::arm(Process& process) {
    const TimePoint due = std::max(process.clock.world_time(process.runner->next_deadline()), now_);
    if (due < process.armed_for) {
        process.armed_for = due;
        queue_.push(due, {.kind = ItemKind::Wake, .peer = process.index, .value = ticks(due)});
    }
}

void World::deliver(Process& process, node::Event&& event) {
    const bool is_nested = process.in_turn;
    if (is_nested && process.stopping) {
        return;  // Stop is the last event (C8)
    }
    ++events_;
    trace(process, event);
    if (event_observer_) {
        event_observer_(process.self, event);
    }
    process.in_turn = true;
    process.runner->deliver(std::move(event), process.clock.local_time(now_));
    if (is_nested) {
        return;
    }
    process.in_turn = false;
    if (process.doomed) {
        ++faults_;
        end_process(process);
    } else {
        arm(process);
    }
}

void World::trace(const Process& process, const node::Event& event) {
    trace_.add(ticks(now_));
    std::uint64_t word = process.index | (std::uint64_t{event.index()} << 56);
    if (const auto* received = std::get_if<node::Received>(&event)) {
        word |= std::uint64_t{received->message.body.index()} << 48;
        trace_.add(received->peer.words[0] + (received->message.number << 32));
    }
    trace_.add(word);
}

Process& World::process_of(PeerId peer) const {
    const PeerIndex* index = find_peer(peer);
    SWARM_ASSERT(index != nullptr);
    return *processes_[*index];
}

const PeerIndex* World::find_peer(const PeerId& peer) const {
    const auto found = places_.find(peer);
    return found == places_.end() ? nullptr : &found->second;
}

}  // namespace sim
