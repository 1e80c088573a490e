// Keeps the newest state of this peer's stage on disk (`swarm serve --cache`) for its next start.
// In mode sparse it keeps what the peer has not sent yet, after each exchange: all else others
// have, too.
// Invariants: one file of one version, whole or not at all (WriteFile). One write at a time; when
// it is done, the newest state that came meanwhile is written. At most a tenth of the time is spent
// on writing, so a big state on a slow disk is kept less often than at each commit. Version 0 is
// not kept, because it is a function of the seed.
// Threading: single strand; the copy is made on the device. Memory: one copy of the state during a
// write. Errors: a disk that fails ends the process, as for every store.
#pragma once

#include "stages/files/cached_state.hpp"
#include "stages/server/server_context.hpp"

#include <optional>
#include <string>
#include <utility>

namespace stages {

class StateCache {
 public:
    enum class Mode : std::uint8_t { Off, On };

    /// Name of the file in the peer's store.
    static constexpr const char* kFileName = "stage.state";
    /// Name of the file in mode sparse.
    static constexpr const char* kUnsentFileName = "stage.unsent";

    StateCache(ServerContext& context, Mode mode) : context_(context), mode_(mode) {}

    /// Writes the state if it is a new one and the time has come; is called whenever the state may
    /// have changed. `run_file` is that of the run to which the state belongs.
    void look(const std::string& run_file, node::Turn turn);
    /// Ends a write, and begins the next one if there is a newer state.
    void on(const node::Stored& stored, const std::string& run_file, node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return due_; }

 private:
    static constexpr int kPauseFactor = 9;  // pause after a write, in durations of that write

    /// True when there is a state to keep that has not been kept.
    [[nodiscard]] bool is_new() const;
    void write(const std::string& run_file, node::Turn turn);

    ServerContext& context_;
    Mode mode_;
    std::optional<std::pair<StageIndex, ParameterVersion>> newest_;  // last one written
    bool busy_ = false;
    TimePoint began_{};
    TimePoint not_before_{};
    TimePoint due_ = swarm::kNever;
    std::uint64_t stores_ = 0;
};

}  // namespace stages
