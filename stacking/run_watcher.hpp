// The role behind `swarm status`: a client of a coordinator that only looks at the run. Whoever
// runs the role reads view() between its turns.
// Invariant: the role sends the coordinator a Join, beats and acknowledgements, and dials nobody
// else, so a run has no work from those who watch it.
// Threading: a role, single strand; view() on the same strand. Errors: RunFailed, for a coordinator
// that cannot be reached in time, whose run file is not understood, or that is none.
#pragma once

#include "stacking/run_view.hpp"

#include <string>

namespace stacking {

class RunWatcher final : public node::Role {
 public:
    struct Options {
        std::string coordinator_address;  // host:port
        /// Longest time until the coordinator has told configuration and progress; 0: no limit.
        swarm::Duration first_answer_within{};
    };

    explicit RunWatcher(Options options)
        : options_(std::move(options)), view_(PeerId{}, options_.coordinator_address) {}

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    [[nodiscard]] const RunView& view() const { return view_; }

    /// Whether configuration, roster and progress are known.
    [[nodiscard]] bool knows_run() const {
        return view_.config() != nullptr && view_.progress().has_value();
    }

 private:
    void take(const node::Received& received, node::Turn turn);
    void wake(node::Turn turn);
    void end(int exit_code, std::string text, node::Turn turn);

    Options options_;
    RunView view_;
    TimePoint give_up_at_ = swarm::kNever;
    bool started_ = false;
    bool ended_ = false;
};

}  // namespace stacking
