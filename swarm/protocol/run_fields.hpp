// The descriptions of the messages of a training run, and of their parts: each field with the rule
// for its values, in the order of messages.proto (see field.hpp).
// Private to swarm/protocol and to the simulator's liar.
#pragma once

#include "swarm/protocol/field.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/run_messages.hpp"

namespace swarm::protocol {

// ---- parts of messages ----

template <class Visit>
void visit_fields(Of<ParameterVersion> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(gen), Any());
    visit(SWARM_FIELD(step));
}

template <class Visit>
void visit_fields(Of<LegId> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(microbatch));
    visit(SWARM_FIELD(attempt));
    visit(SWARM_FIELD(leg), Known{Leg::Backward});
}

template <class Visit>
void visit_fields(Of<SlotInfo> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(slot));
    visit(SWARM_FIELD(peer));
    visit(SWARM_FIELD(incarnation));
    visit(SWARM_FIELD(stage));
    visit(SWARM_FIELD(admitted));
    visit(SWARM_FIELD(standing), Known{Standing::Observer});
    visit(SWARM_FIELD(address));
}

template <class Visit>
void visit_fields(Of<ObservedRate> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(slot));
    visit(SWARM_FIELD(units_per_s), FiniteFromZero());
    visit(SWARM_FIELD(queued), FiniteFromZero());
}

template <class Visit>
void visit_fields(Of<SelfMeasured> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(microbatch_s), FiniteFromZero());
    visit(SWARM_FIELD(to_next_bytes_per_s), FiniteFromZero());
    visit(SWARM_FIELD(to_previous_bytes_per_s), FiniteFromZero());
}

template <class Visit>
void visit_fields(Of<FailedItem> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(microbatch));
    visit(SWARM_FIELD(attempt));
    visit(SWARM_FIELD(passed));
}

template <class Visit>
void visit_fields(Of<Trained> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(slot));
    visit(SWARM_FIELD(microbatches));
    visit.holds("microbatches", "are none, or too many", [](const auto& body) {
        return body.microbatches > 0 && body.microbatches <= kTrainedMax;
    });
}

template <class Visit>
void visit_fields(Of<StepScalars> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(clip_factor), FiniteFromZero());
    visit(SWARM_FIELD(learning_rate), Finite());
    visit(SWARM_FIELD(bias_correction1), Finite());
    visit(SWARM_FIELD(bias_correction2), Finite());
}

template <class Visit>
void visit_fields(Of<SnapshotOrder> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(donor));
    visit(SWARM_FIELD(receiver));
}

// ---- messages, in the order of Body ----

template <class Visit>
void visit_fields(Of<Acknowledge> /*body*/, const Visit& /*visit*/) {}

template <class Visit>
void visit_fields(Of<Join> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(client));
    visit(SWARM_FIELD(stage));
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(state_hash));
    visit(SWARM_FIELD(address));
    visit(SWARM_FIELD(compute_class));
    visit(SWARM_FIELD(lent_memory_bytes));
}

template <class Visit>
void visit_fields(Of<Assign> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(stage));
    visit(SWARM_FIELD(run_file), Bytes{kRunFileBytesMax});
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(from_seed));
    visit(SWARM_FIELD(from_coordinator));
}

template <class Visit>
void visit_fields(Of<Roster> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(number));
    visit(SWARM_FIELD(slots), Items{kRosterMax});
}

template <class Visit>
void visit_fields(Of<Leave> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(reason));
}

template <class Visit>
void visit_fields(Of<Heartbeat> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(roster));
    visit(SWARM_FIELD(rates), Items{kRosterMax});
    visit(SWARM_FIELD(own), MayMiss());
    visit(SWARM_FIELD(cut_off), Items{kCutOffMax});
}

template <class Visit>
void visit_fields(Of<HeartbeatReply> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(loss), Finite());
    visit(SWARM_FIELD(held_out_loss), Finite());
}

template <class Visit>
void visit_fields(Of<Forward> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(microbatch));
    visit(SWARM_FIELD(attempt));
    visit(SWARM_FIELD(mask));
    visit(SWARM_FIELD(path), Items{kStagesMax});
    visit(SWARM_FIELD(tokens), Items{kTokensMax, Any()});
    visit(SWARM_FIELD(codecs), Items{kLegCodecsMax, Known{kLastLegCodec}});
}

template <class Visit>
void visit_fields(Of<Backward> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(microbatch));
    visit(SWARM_FIELD(attempt));
    visit(SWARM_FIELD(mask));
    visit(SWARM_FIELD(path), Items{kStagesMax});
    visit(SWARM_FIELD(codecs), Items{kLegCodecsMax, Known{kLastLegCodec}});
    visit.holds("path", "is empty: a backward has a way back", [](const auto& body) {
        return !body.path.empty();
    });
}

template <class Visit>
void visit_fields(Of<Accepted> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(leg));
}

template <class Visit>
void visit_fields(Of<Refused> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(leg));
    visit(SWARM_FIELD(reason), Known{RefusedReason::Invalid});
}

template <class Visit>
void visit_fields(Of<Passed> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(leg));
}

template <class Visit>
void visit_fields(Of<Path> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(microbatch));
    visit(SWARM_FIELD(attempt));
    visit(SWARM_FIELD(path), Items{kStagesMax});
    visit(SWARM_FIELD(loss), Finite());
    visit.holds("path", "is empty: the tail is on it", [](const auto& body) {
        return !body.path.empty();
    });
}

template <class Visit>
void visit_fields(Of<Fail> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(about));
    visit(SWARM_FIELD(reason), Known{FailReason::NotFinite});
    visit(SWARM_FIELD(items), Items{kMicrobatchesMax});
}

template <class Visit>
void visit_fields(Of<Recall> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(ids), IdSet());
    visit(SWARM_FIELD(void_all));
}

template <class Visit>
void visit_fields(Of<Held> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(ids), IdSet());
    visit(SWARM_FIELD(losses), Items{kMicrobatchesMax, Finite()});
    visit.holds("losses", "are neither absent nor one per id", [](const auto& body) {
        return body.losses.empty() || body.losses.size() == body.ids.size();
    });
}

template <class Visit>
void visit_fields(Of<Reduce> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(ids), IdSet());
    visit(SWARM_FIELD(group), Items{kRosterMax});
    visit(SWARM_FIELD(observers), Items{kRosterMax});
    visit(SWARM_FIELD(tied_group), Items{kRosterMax});
    visit(SWARM_FIELD(shares), Items{kRosterMax});
}

template <class Visit>
void visit_fields(Of<Part> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(slice), Below{kSlicesMax});
    visit(SWARM_FIELD(gathered));
    visit(SWARM_FIELD(tied_into), Below{kSlicesMax});
    visit.holds("tied_into", "is set beside gathered", [](const auto& body) {
        return !body.gathered || !body.tied_into;
    });
}

template <class Visit>
void visit_fields(Of<Reduced> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(sums_of_squares), Items{kTensorsMax, FiniteFromZero()});
    visit(SWARM_FIELD(result_hash));
    visit(SWARM_FIELD(counted_once), UpTo{kMicrobatchesMax});
    visit(SWARM_FIELD(counted_wrong), UpTo{kMicrobatchesMax});
    visit(SWARM_FIELD(wire_bytes));
}

template <class Visit>
void visit_fields(Of<Mismatch> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(ids), IdSet());
    visit(SWARM_FIELD(never_came), IdSet());
}

template <class Visit>
void visit_fields(Of<Stuck> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(waits_for), Items{kRosterMax});
    visit(SWARM_FIELD(owed), Known{Owed::Values});
}

template <class Visit>
void visit_fields(Of<Commit> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(epoch));
    visit(SWARM_FIELD(scalars));
    visit(SWARM_FIELD(result_hashes), Items{kStagesMax});
    visit(SWARM_FIELD(snapshots), Items{kRosterMax});
}

template <class Visit>
void visit_fields(Of<Applied> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(state_hash));
}

template <class Visit>
void visit_fields(Of<Fetch> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(stage));
    visit(SWARM_FIELD(chunk), Below{kChunksMax});
    visit(SWARM_FIELD(tokenizer));
}

template <class Visit>
void visit_fields(Of<Chunk> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(stage));
    visit(SWARM_FIELD(chunk), Below{kChunksMax});
}

template <class Visit>
void visit_fields(Of<ChunkRefused> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(stage));
    visit(SWARM_FIELD(chunk), Below{kChunksMax});
    visit(SWARM_FIELD(busy));
}

template <class Visit>
void visit_fields(Of<Finished> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
}

template <class Visit>
void visit_fields(Of<Evaluate> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(version));
    visit(SWARM_FIELD(request));
    visit(SWARM_FIELD(tokens), Items{kTokensMax, Any()});
}

template <class Visit>
void visit_fields(Of<Evaluated> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(request));
    visit(SWARM_FIELD(refused));
    visit(SWARM_FIELD(loss), Finite());
}

template <class Visit>
void visit_fields(Of<Misdirected> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(here), Known{HubKind::SessionServer});
}

template <class Visit>
void visit_fields(Of<Standby> /*body*/, const Visit& visit) {
    visit(SWARM_FIELD(unreached));
}

}  // namespace swarm::protocol
