#include "swarm/protocol/session_wire.hpp"

#include <string>

namespace swarm::protocol {

std::string bytes_of(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

std::string bytes_of(const PeerId& peer) {
    std::string bytes;
    for (const std::uint64_t word : peer.words) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            bytes += static_cast<char>(static_cast<unsigned char>(word >> shift));
        }
    }
    return bytes;
}

namespace {

// ---- parts ----

void put(const ParameterVersion& version, wire::ParameterVersion* out) {
    out->set_gen(version.gen);
    out->set_step(version.step);
}

void put(const LegId& leg, wire::LegId* out) {
    put(leg.version, out->mutable_version());
    out->set_microbatch(leg.microbatch.value);
    out->set_attempt(leg.attempt.value);
    out->set_leg(static_cast<wire::Leg>(leg.leg));
}

void put(const SlotInfo& slot, wire::SlotInfo* out) {
    out->set_slot(slot.slot.value);
    out->set_peer(bytes_of(slot.peer));
    out->set_incarnation(slot.incarnation.value);
    out->set_stage(slot.stage.value);
    out->set_admitted(slot.admitted.value);
    out->set_standing(static_cast<wire::Standing>(slot.standing));
    out->set_address(slot.address);
}

template <class Ids, class Field>
void put_ids(const Ids& ids, Field* out) {
    out->Reserve(static_cast<int>(ids.size()));
    for (const auto id : ids) {
        out->AddAlreadyReserved(id.value);
    }
}

template <class Values, class Field>
void put_values(const Values& values, Field* out) {
    out->Add(values.begin(), values.end());
}

void put_codecs(const std::vector<CodecId>& codecs, std::string* out) {
    for (const CodecId codec : codecs) {
        out->push_back(static_cast<char>(codec));
    }
}

// ---- bodies: each writes itself into the envelope's oneof ----

void put(const Acknowledge& /*body*/, wire::Message* envelope) {
    envelope->mutable_acknowledge();
}

void put(const Join& body, wire::Message* envelope) {
    wire::Join* out = envelope->mutable_join();
    out->set_client(body.client);
    if (body.stage) {
        out->set_stage(body.stage->value);
    }
    put(body.version, out->mutable_version());
    out->set_state_hash(bytes_of(body.state_hash));
    out->set_address(body.address);
    out->set_compute_class(body.compute_class);
    out->set_lent_memory_bytes(body.lent_memory_bytes);
}

void put(const Assign& body, wire::Message* envelope) {
    wire::Assign* out = envelope->mutable_assign();
    out->set_stage(body.stage.value);
    out->set_run_file(body.run_file);
    put(body.version, out->mutable_version());
    out->set_from_seed(body.from_seed);
    out->set_from_coordinator(body.from_coordinator);
}

void put(const Roster& body, wire::Message* envelope) {
    wire::Roster* out = envelope->mutable_roster();
    out->set_number(body.number);
    for (const SlotInfo& slot : body.slots) {
        put(slot, out->add_slots());
    }
}

void put(const Leave& body, wire::Message* envelope) {
    envelope->mutable_leave()->set_reason(body.reason);
}

void put(const Heartbeat& body, wire::Message* envelope) {
    wire::Heartbeat* out = envelope->mutable_heartbeat();
    put(body.version, out->mutable_version());
    out->set_roster(body.roster);
    for (const ObservedRate& rate : body.rates) {
        wire::ObservedRate* item = out->add_rates();
        item->set_slot(rate.slot.value);
        item->set_units_per_s(rate.units_per_s);
        item->set_queued(rate.queued);
    }
    if (body.own != SelfMeasured{}) {
        wire::SelfMeasured* own = out->mutable_own();
        own->set_microbatch_s(body.own.microbatch_s);
        own->set_to_next_bytes_per_s(body.own.to_next_bytes_per_s);
        own->set_to_previous_bytes_per_s(body.own.to_previous_bytes_per_s);
    }
}

void put(const HeartbeatReply& body, wire::Message* envelope) {
    wire::HeartbeatReply* out = envelope->mutable_heartbeat_reply();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
}

void put(const Forward& body, wire::Message* envelope) {
    wire::Forward* out = envelope->mutable_forward();
    put(body.version, out->mutable_version());
    out->set_microbatch(body.microbatch.value);
    out->set_attempt(body.attempt.value);
    out->set_mask(body.mask.bits);
    put_ids(body.path, out->mutable_path());
    put_values(body.tokens, out->mutable_tokens());
    put_codecs(body.codecs, out->mutable_codecs());
}

void put(const Backward& body, wire::Message* envelope) {
    wire::Backward* out = envelope->mutable_backward();
    put(body.version, out->mutable_version());
    out->set_microbatch(body.microbatch.value);
    out->set_attempt(body.attempt.value);
    out->set_mask(body.mask.bits);
    put_ids(body.path, out->mutable_path());
    put_codecs(body.codecs, out->mutable_codecs());
}

void put(const Accepted& body, wire::Message* envelope) {
    put(body.leg, envelope->mutable_accepted()->mutable_leg());
}

void put(const Refused& body, wire::Message* envelope) {
    wire::Refused* out = envelope->mutable_refused();
    put(body.leg, out->mutable_leg());
    out->set_reason(static_cast<wire::RefusedReason>(body.reason));
}

void put(const Passed& body, wire::Message* envelope) {
    put(body.leg, envelope->mutable_passed()->mutable_leg());
}

void put(const Path& body, wire::Message* envelope) {
    wire::Path* out = envelope->mutable_path();
    put(body.version, out->mutable_version());
    out->set_microbatch(body.microbatch.value);
    out->set_attempt(body.attempt.value);
    put_ids(body.path, out->mutable_path());
    out->set_loss(body.loss);
}

void put(const Fail& body, wire::Message* envelope) {
    wire::Fail* out = envelope->mutable_fail();
    put(body.version, out->mutable_version());
    out->set_about(body.about.value);
    out->set_reason(static_cast<wire::FailReason>(body.reason));
    for (const FailedItem& failed : body.items) {
        wire::FailedItem* item = out->add_items();
        item->set_microbatch(failed.microbatch.value);
        item->set_attempt(failed.attempt.value);
        item->set_passed(failed.passed);
    }
}

void put(const Recall& body, wire::Message* envelope) {
    wire::Recall* out = envelope->mutable_recall();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    put_ids(body.ids, out->mutable_ids());
    out->set_void_all(body.void_all);
}

void put(const Held& body, wire::Message* envelope) {
    wire::Held* out = envelope->mutable_held();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    put_ids(body.ids, out->mutable_ids());
    out->mutable_losses()->Add(body.losses.begin(), body.losses.end());
}

void put(const Reduce& body, wire::Message* envelope) {
    wire::Reduce* out = envelope->mutable_reduce();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    put_ids(body.ids, out->mutable_ids());
    put_ids(body.group, out->mutable_group());
    put_ids(body.observers, out->mutable_observers());
    put_ids(body.tied_group, out->mutable_tied_group());
    for (const Trained& trained : body.shares) {
        wire::Trained* const share = out->add_shares();
        share->set_slot(trained.slot.value);
        share->set_microbatches(trained.microbatches);
    }
}

void put(const Part& body, wire::Message* envelope) {
    wire::Part* out = envelope->mutable_part();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    out->set_slice(body.slice);
    out->set_gathered(body.gathered);
    if (body.tied_into) {
        out->set_tied_into(*body.tied_into);
    }
}

void put(const Reduced& body, wire::Message* envelope) {
    wire::Reduced* out = envelope->mutable_reduced();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    put_values(body.sums_of_squares, out->mutable_sums_of_squares());
    out->set_result_hash(bytes_of(body.result_hash));
    out->set_counted_once(body.counted_once);
    out->set_counted_wrong(body.counted_wrong);
    out->set_wire_bytes(body.wire_bytes);
}

void put(const Mismatch& body, wire::Message* envelope) {
    wire::Mismatch* out = envelope->mutable_mismatch();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    put_ids(body.ids, out->mutable_ids());
}

void put(const Stuck& body, wire::Message* envelope) {
    wire::Stuck* out = envelope->mutable_stuck();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    put_ids(body.waits_for, out->mutable_waits_for());
}

void put(const Commit& body, wire::Message* envelope) {
    wire::Commit* out = envelope->mutable_commit();
    put(body.version, out->mutable_version());
    out->set_epoch(body.epoch.value);
    wire::StepScalars* scalars = out->mutable_scalars();
    scalars->set_clip_factor(body.scalars.clip_factor);
    scalars->set_learning_rate(body.scalars.learning_rate);
    scalars->set_bias_correction1(body.scalars.bias_correction1);
    scalars->set_bias_correction2(body.scalars.bias_correction2);
    for (const Digest& hash : body.result_hashes) {
        out->add_result_hashes(bytes_of(hash));
    }
    for (const SnapshotOrder& order : body.snapshots) {
        wire::SnapshotOrder* item = out->add_snapshots();
        item->set_donor(order.donor.value);
        item->set_receiver(bytes_of(order.receiver));
    }
}

void put(const Applied& body, wire::Message* envelope) {
    wire::Applied* out = envelope->mutable_applied();
    put(body.version, out->mutable_version());
    out->set_state_hash(bytes_of(body.state_hash));
}

/// Fetch, Chunk and ChunkRefused name one chunk of one stage's state in the same way.
template <class Body, class Wire>
void put_chunk(const Body& body, Wire* out) {
    put(body.version, out->mutable_version());
    out->set_stage(body.stage.value);
    if (body.chunk) {
        out->set_chunk(*body.chunk);
    }
}

void put(const Fetch& body, wire::Message* envelope) {
    put_chunk(body, envelope->mutable_fetch());
}

void put(const Chunk& body, wire::Message* envelope) {
    put_chunk(body, envelope->mutable_chunk());
}

void put(const ChunkRefused& body, wire::Message* envelope) {
    wire::ChunkRefused* out = envelope->mutable_chunk_refused();
    put_chunk(body, out);
    out->set_busy(body.busy);
}

void put(const Infer& body, wire::Message* envelope) {
    wire::Infer* out = envelope->mutable_infer();
    out->set_request(body.request);
    put_values(body.tokens, out->mutable_tokens());
    out->set_top(body.top);
}

void put(const Inferred& body, wire::Message* envelope) {
    wire::Inferred* out = envelope->mutable_inferred();
    out->set_request(body.request);
    out->set_refused(body.refused);
    for (const TokenScore& score : body.top) {
        wire::TokenScore* item = out->add_top();
        item->set_token(score.token);
        item->set_log_probability(score.log_probability);
    }
}

void put(const Finished& body, wire::Message* envelope) {
    put(body.version, envelope->mutable_finished()->mutable_version());
}

}  // namespace

void to_wire(const Message& message, wire::Message* out) {
    out->set_number(message.number);
    out->set_acknowledged(message.acknowledged);
    std::visit([out](const auto& body) { put(body, out); }, message.body);
}

void to_wire(const Hello& hello, wire::Hello* out) {
    out->set_protocol_version(hello.protocol_version);
    out->set_lane(hello.lane);
    out->set_incarnation(hello.incarnation.value);
    out->set_proof(reinterpret_cast<const char*>(hello.proof.data()), hello.proof.size());
}

}  // namespace swarm::protocol
