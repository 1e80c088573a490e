#include "stacking/run_watcher.hpp"

#include "swarm/node/dial_advice.hpp"
#include "swarm/node/wrong_place.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace stacking {
namespace {

// Exit codes of the program: 3 for a run that it cannot read, 4 when nobody answers.
constexpr int kUnreadableRun = 3;
constexpr int kNoAnswer = 4;

}  // namespace

void RunWatcher::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    if (ended_ || std::holds_alternative<node::Stop>(event)) {
        return;
    }
    if (const auto* up = std::get_if<node::LinkUp>(&event)) {
        if (view_.on(*up, turn) && up->lane == node::Lane::Control) {
            view_.beat_at_once();
        }
    } else if (const auto* down = std::get_if<node::LinkDown>(&event)) {
        view_.on(*down, turn);
    } else if (const auto* failed = std::get_if<node::DialFailed>(&event)) {
        view_.on(*failed, turn);
    } else if (const auto* received = std::get_if<node::Received>(&event)) {
        take(*received, turn);
    }
    if (!ended_ && view_.fatal()) {
        end(kUnreadableRun, *view_.fatal(), turn);
    }
    if (!ended_) {
        wake(turn);
    }
}

void RunWatcher::take(const node::Received& received, node::Turn turn) {
    const auto* const misdirected = std::get_if<protocol::Misdirected>(&received.message.body);
    const auto wanted = protocol::HubKind::Coordinator;
    if (misdirected == nullptr || received.peer != view_.coordinator()) {
        view_.on(received, turn);
    } else if (misdirected->here != wanted) {
        ended_ = true;
        const std::string& where = options_.coordinator_address;
        turn.out.add(node::Tell{node::wrong_place(where, misdirected->here, wanted)});
    }
}

void RunWatcher::wake(node::Turn turn) {
    if (!std::exchange(started_, true) && options_.first_answer_within > swarm::Duration{}) {
        give_up_at_ = turn.now + options_.first_answer_within;
    }
    if (knows_run()) {
        give_up_at_ = swarm::kNever;
    }
    if (give_up_at_ <= turn.now) {
        const auto& trouble = view_.dial_trouble();
        const auto code = trouble ? trouble->code : swarm::ErrorCode::Unreachable;
        const std::string why =
            view_.was_reached() ? "the coordinator has not told the run" : view_.status();
        return end(
            kNoAnswer,
            why + " in time" + (trouble ? ": " + trouble->detail : "") +
                node::dial_advice(code, "swarm train"),
            turn
        );
    }
    view_.wake(turn);
}

void RunWatcher::end(int exit_code, std::string text, node::Turn turn) {
    ended_ = true;
    turn.out.add(node::Tell{node::RunFailed{exit_code, std::move(text)}});
}

TimePoint RunWatcher::next_deadline() const {
    return ended_ ? swarm::kNever : std::min(give_up_at_, view_.next_deadline());
}

node::Allowance RunWatcher::allowance(const PeerId& peer) const {
    if (peer == view_.coordinator()) {
        return {node::Acquaintance::Partner, protocol::kRosterBytesMax, 0};
    }
    return node::Allowance::without_tensors(node::Acquaintance::Stranger);
}

}  // namespace stacking
