// The coordinator's write-ahead log: what a run has decided, as records of one line of text each.
// Invariant: replaying the records of any prefix of the log gives a state the run really was in.
// The ledger is not in here: it is soft state, the truth lies in the peers' id sets.
//   cinc <n> [layers=<of each stage>,...]
//   commit <gen> <step> <epoch> <clip> <lr> <bc1> <bc2> <loss> <norm> <hash>...
//          [codecs=<forward>/<backward>,...]: of the next step, where the run chooses them
//   skip <gen> <step> <epoch>
//   exchange <gen> <step> <epoch> <hash>...: of what the replicas of each stage share now
//   state <gen> <step> <stage> <hash> | checkpoint <gen> <step> <name> | rollback <gen> <step>
// Framing, CRC and torn tails are the file store's business (swarm/net/file_store).
// Errors: Malformed (Fatal: the log is ours, and a coordinator must not rewrite what it cannot
// read). Source: step protocol, section 4.
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

namespace swarm::run {

/// One process of the coordinator: how it cuts the model into stages, empty in logs of old.
struct CincRecord {
    std::uint32_t cinc = 0;
    std::vector<std::uint32_t> layers_per_stage{};
};

/// Version (gen, step) became (gen, step + 1). A skip has neither loss nor norm nor hashes; an
/// exchange (swarm/run/turns) has hashes only, and the scalars of a skip.
struct CommitRecord {
    ParameterVersion version;
    Epoch epoch;
    protocol::StepScalars scalars;
    double loss = 0;
    double gradient_norm = 0;
    std::vector<Digest> result_hashes;
    LegCodecs codecs{};  // of the next step; empty: as before

    [[nodiscard]] bool skips() const { return scalars.skips() && result_hashes.empty(); }

    [[nodiscard]] bool exchanges() const { return scalars.skips() && !result_hashes.empty(); }
};

/// The step consumes its batch and changes nothing.
CommitRecord skip_of(ParameterVersion version, Epoch epoch);

/// Of each stage: the hash of its new shared weights.
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

using LogRecord =
    std::variant<CincRecord, CommitRecord, StateRecord, CheckpointRecord, RollbackRecord>;

std::string to_line(const LogRecord& record);
Result<LogRecord> parse_record(std::string_view line);

/// From this step on the stages have so many layers.
struct SplitChange {
    std::uint64_t step = 0;
    std::vector<std::uint32_t> layers_per_stage;
};

/// The fold of a log.
struct RunHistory {
    std::uint32_t cinc = 0;
    ParameterVersion version;  // the current one
    std::optional<CommitRecord> last_commit;
    std::optional<CheckpointRecord> checkpoint;  // the newest
    std::map<std::pair<ParameterVersion, StageIndex>, Digest> states;
    std::vector<std::pair<std::uint64_t, double>> losses;  // (step, loss), rolled back ones removed
    std::uint32_t skips_in_a_row = 0;                      // up to the current version
    std::vector<CodecChange> codecs;                       // in order of step; empty: never chosen
    std::vector<SplitChange> splits;                       // in order of step; empty: not known

    void apply(const LogRecord& record);

 private:
    void pass_on_in(std::uint64_t step, const LegCodecs& chosen);
    void cut_as(std::uint64_t step, const std::vector<std::uint32_t>& layers_per_stage);
    void roll_back(ParameterVersion to);
};

Result<RunHistory> replay_log(const std::vector<std::string>& lines);

}  // namespace swarm::run
