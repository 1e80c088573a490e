// The coordinator's write-ahead log: the decisions of a run, as records of one line of text each.
// Invariant: replaying any prefix of the log gives a state in which the run really was. The ledger
// is soft state and not in the log; the file store does framing, CRC and torn tails.
//   cinc <n> [layers=<number per stage>,...] [settings=<hash>]: see CincRecord
//   commit <gen> <step> <epoch> <clip> <lr> <bc1> <bc2> <loss> <norm> <hash>...
//          [codecs=<forward>/<backward>,...]: codecs of the next step, where the run chooses them
//   skip <gen> <step> <epoch>
//   exchange <gen> <step> <epoch> <hash>...: hash of each stage's shared weights
//   members <peer>,... ...: see MembersRecord
//   state <gen> <step> <stage> <hash> | checkpoint <gen> <step> <name> | rollback <gen> <step>
// Threading: values. Errors: Malformed (Fatal, because the log is ours and a coordinator must not
// rewrite a log that it cannot read). Source: step protocol, section 4.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/leg_codecs.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace swarm::coordinator {

/// A process of the coordinator begins. layers_per_stage is how it cuts the model into stages, and
/// `settings` the digest of what its peers compute with (run::peer_settings). Either is empty when
/// the log does not say it.
struct CincRecord {
    std::uint32_t cinc = 0;
    std::vector<std::uint32_t> layers_per_stage{};
    std::optional<Digest> settings{};
};

/// Version (gen, step) became (gen, step + 1). A skip has no loss, no norm and no hashes. An
/// exchange (swarm/run/versions) has only hashes, and the scalars of a skip.
struct CommitRecord {
    ParameterVersion version;
    Epoch epoch;
    protocol::StepScalars scalars;
    double loss = 0;
    double gradient_norm = 0;
    std::vector<Digest> result_hashes;
    run::LegCodecs codecs{};  // codecs of the next step; empty: no change

    [[nodiscard]] bool skips() const { return scalars.skips() && result_hashes.empty(); }

    [[nodiscard]] bool exchanges() const { return scalars.skips() && !result_hashes.empty(); }
};

/// A record of a step that uses up its batch and changes nothing.
CommitRecord skip_of(ParameterVersion version, Epoch epoch);

/// `hashes`: for each stage the hash of its new shared weights.
CommitRecord exchange_of(ParameterVersion version, Epoch epoch, std::vector<Digest> hashes);

struct StateRecord {
    ParameterVersion version;
    StageIndex stage;
    Digest hash;
};

struct CheckpointRecord {
    ParameterVersion version;
    std::string name;  // without spaces
};

struct RollbackRecord {
    ParameterVersion version;  // gen is the new one
};

using MembersByStage = std::map<StageIndex, std::vector<PeerId>>;

/// The members of each stage that hold what the next commit makes, the oldest first. The record is
/// left out where they are those of the one before. After a restart their word says which states
/// are right, where a state record was lost. Cost: 65 bytes for each member.
struct MembersRecord {
    MembersByStage members;
};

using LogRecord = std::
    variant<CincRecord, CommitRecord, StateRecord, CheckpointRecord, RollbackRecord, MembersRecord>;

std::string to_line(const LogRecord& record);
Result<LogRecord> parse_record(std::string_view line);

/// The layers of each stage from `step` on.
struct SplitChange {
    std::uint64_t step = 0;
    std::vector<std::uint32_t> layers_per_stage;
};

/// The state of a run after the records of its log.
struct RunHistory {
    std::uint32_t cinc = 0;
    ParameterVersion version;  // the current version
    std::optional<CommitRecord> last_commit;
    std::optional<CheckpointRecord> checkpoint;  // the newest checkpoint
    std::map<std::pair<ParameterVersion, StageIndex>, Digest> states;
    std::vector<std::pair<std::uint64_t, double>>
        losses;                            // (step, loss), without steps that were rolled back
    std::uint32_t skips_in_a_row = 0;      // skipped steps right before the current version
    std::vector<run::CodecChange> codecs;  // in order of step; empty: never chosen
    std::vector<SplitChange> splits;       // in order of step; empty: not known
    MembersByStage members;                // those of the last commit; empty: not known
    std::optional<Digest> settings;        // those of the newest process; none: not known

    void apply(const LogRecord& record);

 private:
    void pass_on_in(std::uint64_t step, const run::LegCodecs& chosen);
    void cut_as(std::uint64_t step, const std::vector<std::uint32_t>& layers_per_stage);
    void roll_back(ParameterVersion to);
};

Result<RunHistory> replay_log(const std::vector<std::string>& lines);

}  // namespace swarm::coordinator
