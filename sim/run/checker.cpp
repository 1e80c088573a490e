#include "sim/run/checker.hpp"

#include <variant>

namespace sim {

namespace protocol = swarm::protocol;

namespace {

std::string name_of(PeerId peer) {
    return "peer " + std::to_string(peer.words[0]);
}

}  // namespace

void Checker::violated(const char* rule, const std::string& what) {
    const auto at =
        std::chrono::duration_cast<std::chrono::microseconds>(world_.now().time_since_epoch());
    violations_.push_back(std::string(rule) + " at " + std::to_string(at.count()) + " us: " + what);
}

const swarm::run::Coordinator* Checker::coordinator() const {
    return dynamic_cast<const swarm::run::Coordinator*>(world_.role(coordinator_));
}

void Checker::on_event(PeerId peer, const node::Event& event) {
    if (peer != coordinator_) {
        if (const auto* server = dynamic_cast<const stages::StageServer*>(world_.role(peer))) {
            check_server(peer, *server);
            const auto* const received = std::get_if<node::Received>(&event);
            const auto* const recall =
                received ? std::get_if<protocol::Recall>(&received->message.body) : nullptr;
            if (recall && server->context().slot && server->context().version == recall->version) {
                note_promise(peer, *recall);
            }
        }
        return;
    }
    const auto* const role = coordinator();
    if (!role) {
        return;
    }
    if (std::holds_alternative<node::Stored>(event)) {
        // The step that was being decided, if this is its record; never more than one ahead.
        const bool deciding = role->step().phase() == swarm::run::StepMachine::Phase::Deciding;
        durable_steps_ =
            std::max(durable_steps_, role->context().version.step + (deciding ? 1 : 0));
    }
    if (role->context().version.step < told_steps_ && role->context().cinc > 0 &&
        role->context().version.gen == 0) {
        violated("I7", "the coordinator forgot a commit it had told");
    }
    const std::pair now{role->context().version, role->step().epoch()};
    if (now.first == newest_epoch_.first && now.second < newest_epoch_.second &&
        now.second.value != 0) {
        violated("P6", "the epoch went back");
    }
    newest_epoch_ = now;
}

void Checker::check_server(PeerId peer, const stages::StageServer& server) {
    const stages::ServerContext& context = server.context();
    if (!context.version) {
        return;
    }
    if (context.version->step > durable_steps_) {
        violated("P3", name_of(peer) + " is ahead of the durable log");
    }
    const auto [known, is_first] =
        histories_.try_emplace({*context.version, context.stage()}, context.state_hash);
    if (!is_first && known->second != context.state_hash) {
        violated("P4", name_of(peer) + " has another state than its replicas");
    }
}

void Checker::on_send(PeerId from, const node::Send& send) {
    const auto& body = send.message.body;
    if (from != coordinator_) {
        if (const auto* accepted = std::get_if<protocol::Accepted>(&body)) {
            check_accepted(from, *accepted);
        }
        const auto* const reduced = std::get_if<protocol::Reduced>(&body);
        const auto* const role = reduced ? coordinator() : nullptr;
        if (role && (reduced->counted_wrong > 0 ||
                     reduced->counted_once != role->context().config.microbatches)) {
            violated("P2", "a result of " + name_of(from) + " does not count each id once");
        }
        return;
    }
    if (const auto* reduce = std::get_if<protocol::Reduce>(&body)) {
        check_reduce(send.peer, *reduce);
    }
    if (std::holds_alternative<protocol::Forward>(body)) {
        const auto* const info = coordinator()->context().roster.find_peer(send.peer);
        if (!info || info->stage.value != 0 || info->standing == protocol::Standing::Observer) {
            violated("I3", "work was offered to " + name_of(send.peer) + ", no member of stage 0");
        }
    }
}

void Checker::check_reduce(PeerId to, const protocol::Reduce& reduce) {
    const auto* const info = coordinator()->context().roster.find_peer(to);
    if (!info || info->standing == protocol::Standing::Observer) {
        return;
    }
    const auto key = std::tuple(reduce.version, reduce.epoch, info->stage);
    auto& [receivers, covered] = reduces_[key];
    if (!receivers.insert(to).second) {
        return;  // repeated on a new link
    }
    for (const swarm::MicrobatchId id : reduce.ids) {
        if (!covered.insert(id).second) {
            violated("P1", "microbatch " + std::to_string(id.value) + " is in two lists");
        }
    }
    const std::size_t expected = coordinator()->context().config.microbatches;
    if (receivers.size() == reduce.group.size() && covered.size() != expected) {
        violated("P1", "the lists of a stage do not cover the step");
    }
}

void Checker::note_promise(PeerId peer, const protocol::Recall& recall) {
    for (const swarm::MicrobatchId id : recall.ids) {
        floors_[{world_.incarnation(peer), recall.version, id}] = recall.epoch;
    }
}

void Checker::check_accepted(PeerId from, const protocol::Accepted& accepted) {
    const auto* const server = dynamic_cast<const stages::StageServer*>(world_.role(from));
    if (!server) {
        return;
    }
    const std::pair here{from, world_.incarnation(from)};
    const auto floor = floors_.find({here.second, accepted.leg.version, accepted.leg.microbatch});
    if (floor != floors_.end() && accepted.leg.attempt < floor->second) {
        violated("P6", name_of(from) + " accepted an attempt that it had promised to refuse");
    }
    const auto [visit, is_first] =
        visits_.try_emplace({accepted.leg, server->context().stage()}, here);
    if (!is_first && visit->second != here) {
        const auto& leg = accepted.leg;
        violated(
            "P7",
            "step " + std::to_string(leg.version.step) + " microbatch " +
                std::to_string(leg.microbatch.value) + " attempt " +
                std::to_string(leg.attempt.value) +
                (leg.leg == protocol::Leg::Forward ? " forward" : " backward") +
                " was accepted by " + name_of(visit->second.first) + " and " + name_of(from)
        );
    }
}

void Checker::on_report(PeerId, const node::Report& report) {
    if (const auto* step = std::get_if<node::StepCommitted>(&report)) {
        told_steps_ = std::max(told_steps_, step->step + 1);
        if (step->counted != step->expected) {
            violated("I2", "a commit does not count every microbatch once");
        }
        std::erase_if(reduces_, [&](const auto& reduce) {
            return std::get<0>(reduce.first).step < step->step;
        });
        std::erase_if(floors_, [&](const auto& floor) {
            return std::get<1>(floor.first).step < step->step;
        });
        std::erase_if(visits_, [&](const auto& visit) {
            return visit.first.first.version.step < step->step;
        });
    }
}

}  // namespace sim
