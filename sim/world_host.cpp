// The part of World that a role asks for things of its own machine: the device, the disk, and the
// people who run the peer.
#include "sim/world.hpp"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

constexpr std::size_t kFullDiskRecordMax = std::size_t{1} << 20;

}  // namespace

void World::perform(Process& actor, node::Compute& compute) {
    actor.device.add(std::move(compute));
    start_job(actor);
}

void World::start_job(Process& process) {
    while (process.device.can_start()) {
        const bool stalls =
            fault_points_.fires(FaultPoint::JobStarts, process.index, process.faults);
        faults_ += stalls ? 1 : 0;
        process.device.start_next(
            now_, stalls ? fault_points_.delay(FaultPoint::JobStarts) : Duration{}
        );
        if (process.device.done_at() == now_ && !process.device.running().answered) {
            // No peer could tell an immediate run from a later one.
            process.device.finish(now_).first.work->run();
            continue;
        }
        queue_.push(
            process.device.done_at(),
            {.kind = ItemKind::JobIsDue, .peer = process.index, .value = process.life}
        );
    }
}

void World::job_is_due(Process& target) {
    // A frozen device stands still; thaw() asks again at the job's new time.
    if (target.frozen || !target.device.is_busy() || target.device.done_at() != now_) {
        return;
    }
    auto [done, took] = target.device.finish(now_);
    done.work->run();
    start_job(target);
    if (done.answered) {
        const TimePoint began = target.clock.local_time(now_ - took);
        deliver(target, node::Computed{done.job, target.clock.local_time(now_) - began});
    }
}

void World::perform(Process& actor, node::Append& append) {
    if (actor.disk_is_full && append.record.size() > kFullDiskRecordMax) {
        actor.doomed = true;
        return;
    }
    const Disk::Ticket ticket = actor.disk.append(std::move(append.record));
    actor.doomed = crashes_here(FaultPoint::RecordIsWritten, actor);
    if (append.durable) {
        answer_when_synced(actor, ticket, append.store);
    }
}

void World::perform(Process& actor, node::WriteFile& file) {
    std::vector<std::byte> bytes;
    if (file.late_part) {
        file.parts.push_back(file.late_part());
    }
    for (const node::Payload& part : file.parts) {
        bytes.insert(bytes.end(), part.bytes().begin(), part.bytes().end());
    }
    const Disk::Ticket ticket = actor.disk.write_file(std::move(file.name), std::move(bytes));
    answer_when_synced(actor, ticket, file.store);
}

void World::answer_when_synced(Process& actor, Disk::Ticket ticket, swarm::StoreId store) {
    const auto sync_max = static_cast<std::uint64_t>(options_.sync_max.count());
    const Duration sync(actor.disk_rng.below(sync_max + 1));
    actor.synced_at = std::max(actor.synced_at, now_ + sync);
    actor.disk_answers.push_back({ticket, node::Stored{store}});
    queue_.push(
        actor.synced_at, {.kind = ItemKind::DiskIsDue, .peer = actor.index, .value = actor.life}
    );
}

void World::perform(Process& actor, node::Load&) {
    actor.synced_at = std::max(actor.synced_at, now_);
    actor.disk_answers.push_back({0, node::Loaded{actor.disk.all_records()}});
    queue_.push(
        actor.synced_at, {.kind = ItemKind::DiskIsDue, .peer = actor.index, .value = actor.life}
    );
}

void World::disk_is_due(Process& target) {
    DiskAnswer answer = std::move(target.disk_answers.front());
    target.disk_answers.pop_front();
    target.disk.sync_through(answer.ticket);
    if (crashes_here(FaultPoint::RecordIsSynced, target)) {
        return crash(target);
    }
    deliver(target, std::move(answer.event));
}

void World::perform(Process& actor, node::Tell& tell) {
    if (report_observer_) {
        report_observer_(actor.self, tell.report);
    }
}

}  // namespace sim
