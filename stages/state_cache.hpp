// Keeps the newest state of this peer's stage on disk (`swarm serve --cache`), for its next start.
// In mode sparse what the peer has not sent yet, at each exchange: the rest others have, too.
// Invariants: one file, of one version, whole or not at all (WriteFile); one write at a time, and
// what came meanwhile is written when it is done, the newest only; at most a tenth of the time is
// spent on writing, so a big state on a slow disk is kept less often than each commit. Version 0
// is a function of the seed: not kept.
// Threading: single strand; the copy is made on the device. Memory: one copy of the state while it
// is written. Errors: a disk that fails ends the process, as for every store.
#pragma once

#include "stages/cached_state.hpp"
#include "stages/server_context.hpp"

#include <optional>
#include <string>
#include <utility>

namespace stages {

class StateCache {
 public:
    /// The file's name in the peer's store.
    static constexpr const char* kFileName = "stage.state";
    /// In mode sparse.
    static constexpr const char* kUnsentFileName = "stage.unsent";

    StateCache(ServerContext& context, bool enabled) : context_(context), enabled_(enabled) {}

    /// Call when the state may have become another one. `run_file`: what it is a state of.
    void look(const std::string& run_file, node::Turn turn);
    void on(const node::Stored& stored, const std::string& run_file, node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return due_; }

 private:
    static constexpr int kPauseFactor = 9;  // pauses so many times as long as a write took

    /// There is something to keep that has not been kept.
    [[nodiscard]] bool is_new() const;
    void write(const std::string& run_file, node::Turn turn);

    ServerContext& context_;
    bool enabled_;
    std::optional<std::pair<StageIndex, ParameterVersion>> newest_;  // written, or on its way
    bool busy_ = false;
    TimePoint began_{};
    TimePoint not_before_{};
    TimePoint due_ = swarm::kNever;
    std::uint64_t stores_ = 0;
};

}  // namespace stages
