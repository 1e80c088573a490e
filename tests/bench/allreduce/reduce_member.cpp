#include "tests/bench/allreduce/reduce_member.hpp"

#include "stages/compute/oracle_compute.hpp"
#include "swarm/base/check.hpp"
#include "swarm/run/batch_plan.hpp"

#include <utility>

namespace swarm::bench {
namespace {

std::shared_ptr<stages::StageWorker> worker_with_gradient(
    const run::RunConfig& config, const run::StageLayout& layout, MicrobatchId id
) {
    auto worker = std::make_shared<stages::StageWorker>(
        config, layout, stages::make_oracle_compute(config, layout)
    );
    worker->start_from_seed();
    const stages::GraphKey key{id, make_epoch(1, 1)};
    SWARM_ASSERT(worker->forward_tail({0, key, run::BatchPlan(config, {}).tokens(0, id), {}}));
    worker->accumulate(key);
    return worker;
}

}  // namespace

run::RunConfig reduced_run(std::uint32_t members, std::uint32_t elements) {
    run::RunConfig config;
    config.model = *run::named_model("oracle");
    config.model.layers = 1;
    config.model.width = elements;
    config.stages = 1;
    config.microbatches = members;
    SWARM_ASSERT(run::check_run(config));
    return config;
}

SlotId slot_of_member(std::uint32_t index) {
    return {index + 1ULL};
}

ReduceMember::ReduceMember(
    const std::vector<PeerId>& members, std::uint32_t own, PeerId conductor, std::uint32_t elements
)
    : links_wanted_(members.size()) {  // the others, and the conductor
    context_.self = members[own];
    context_.coordinator = conductor;
    context_.config = reduced_run(static_cast<std::uint32_t>(members.size()), elements);
    context_.layout = run::partition(context_.config).front();
    context_.version = ParameterVersion{};
    std::vector<protocol::SlotInfo> slots;
    for (std::uint32_t i = 0; i < members.size(); ++i) {
        protocol::SlotInfo& info = slots.emplace_back();
        info.slot = slot_of_member(i);
        info.peer = members[i];
    }
    SWARM_ASSERT(context_.roster.replace({1, slots}));
    context_.slot = slot_of_member(own);
    held_.insert(MicrobatchId{own});
    context_.worker = worker_with_gradient(context_.config, context_.layout, {own});
}

void ReduceMember::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    if (const auto* up = std::get_if<node::LinkUp>(&event)) {
        linked(*up, turn);
    } else if (const auto* got = std::get_if<node::Received>(&event)) {
        received(*got, turn);
    } else if (const auto* computed = std::get_if<node::Computed>(&event)) {
        context_.device.done(computed->job, turn);
    } else if (std::holds_alternative<node::Woke>(event)) {
        if (std::exchange(started_, true)) {
            reduction_.wake(turn);
        } else {
            dial_all(turn);
        }
    }
    // A link that is lost or cannot be had: the round does not end, which the conductor sees.
}

TimePoint ReduceMember::next_deadline() const {
    return started_ ? reduction_.next_deadline() : kAtOnce;
}

void ReduceMember::dial_all(node::Turn turn) {
    turn.out.add(node::Dial{context_.coordinator, node::Lane::Control, ""});
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        if (context_.self < info.peer) {
            turn.out.add(node::Dial{info.peer, node::Lane::Bulk, ""});
        }
    }
}

void ReduceMember::linked(const node::LinkUp& up, node::Turn turn) {
    context_.control_up = context_.control_up || up.peer == context_.coordinator;
    if (++links_ == links_wanted_) {
        protocol::Join join;
        join.stage = context_.stage();
        join.version = *context_.version;
        context_.tell_coordinator(std::move(join), turn);
    }
}

void ReduceMember::received(const node::Received& received, node::Turn turn) {
    if (const auto* reduce = std::get_if<protocol::Reduce>(&received.message.body)) {
        reduction_.start(*reduce, held_, turn);
    } else if (const auto* part = std::get_if<protocol::Part>(&received.message.body)) {
        reduction_.on(received.peer, *part, received.payload, turn);
    }
}

}  // namespace swarm::bench
