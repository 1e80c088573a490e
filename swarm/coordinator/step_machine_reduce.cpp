// The end of a step: the reduce, its reports, its deadlines, and the decision.
#include "swarm/coordinator/step_machine.hpp"
#include "swarm/run/step_scalars.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;

void StepMachine::begin_reduce(node::Turn turn) {
    holders_.clear();
    first_holder_at_.clear();
    waits_.clear();
    lists_.clear();
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<SlotId> group = context_.roster.members({stage});
        if (replicas_train_alone()) {
            // Each replica is a group of its own: its sums are its result, and observers get
            // nothing.
            for (const SlotId slot : group) {
                lists_[slot] = ledger_.ids_of(slot, {stage});
                context_.send(
                    slot, protocol::Reduce{context_.version, epoch_, lists_[slot], {slot}, {}}, turn
                );
            }
            continue;
        }
        const std::vector<SlotId> observers = context_.roster.observers({stage});
        protocol::Reduce reduce{context_.version, epoch_, {}, group, observers};
        if (const auto tied_to = run::tied_stage(context_.config, {stage})) {
            reduce.tied_group = context_.roster.members(*tied_to);
        }
        if (replicas_exchange()) {
            reduce.shares = shares_of(group);
        }
        for (const SlotId slot : group) {
            reduce.ids = lists_[slot] = ledger_.ids_of(slot, {stage});
            context_.send(slot, reduce, turn);
        }
        reduce.ids.clear();
        reduce.tied_group.clear();
        for (const SlotId slot : observers) {
            context_.send(slot, reduce, turn);
        }
    }
    deadline_ = turn.now + reduce_patience();
    phase_ = Phase::Reducing;
}

/// Nobody reports the rates of these lines, so this is the time of the largest stage on the slowest
/// line that a run is made for. A peer that dies or freezes is noticed long before, by its silence.
Duration StepMachine::reduce_patience() const {
    constexpr double kBytesPerElement = 12;  // int64 one way, fp32 the other
    std::uint64_t elements = 0;
    for (const run::StageLayout& layout : context_.layouts) {
        const bool tied = run::tied_stage(context_.config, layout.stage).has_value();
        elements = std::max(
            elements, layout.parameters() + (tied ? run::tied_elements(context_.config) : 0)
        );
    }
    const std::chrono::duration<double> on_the_line(
        kBytesPerElement * static_cast<double>(elements) / timing_.slowest_line_bytes_per_s
    );
    return std::max(
        {timing_.reduce_min, 2 * waves_.p95(), std::chrono::duration_cast<Duration>(on_the_line)}
    );
}

bool StepMachine::is_complete(
    const protocol::Reduced& reduced, StageIndex stage, std::size_t listed
) const {
    const std::vector<double>& squares = reduced.sums_of_squares;
    const bool finite = std::all_of(squares.begin(), squares.end(), [](double sum) {
        return std::isfinite(sum) && sum >= 0;
    });
    const std::size_t tensors = context_.layouts[stage.value].tensors.size();
    const bool only_listed = replicas_train_alone() || replicas_exchange() || !training_.has(stage);
    const std::size_t count = only_listed ? listed : microbatches_of_step();
    const bool counted = reduced.counted_once == count && reduced.counted_wrong == 0;
    return (counted || context_.bugs.count_unchecked) && finite &&
           squares.size() == (replicas_exchange() ? 0 : tensors);
}

std::optional<SlotId> StepMachine::find_minority(StageIndex stage) const {
    // The squares make the clip factor of the whole model, so they count like the result.
    std::map<std::pair<Digest, std::vector<double>>, std::vector<SlotId>> by_result;
    for (const SlotId slot : context_.roster.members(stage)) {
        const auto holder = holders_.find(slot);
        if (holder != holders_.end()) {
            const protocol::Reduced& said = holder->second;
            const bool compared = !context_.bugs.squares_unchecked;
            by_result[{said.result_hash, compared ? said.sums_of_squares : std::vector<double>{}}]
                .push_back(slot);
        }
    }
    const std::size_t members = context_.roster.members(stage).size();
    std::size_t spoken = 0;
    bool majority = false;
    for (const auto& [result, slots] : by_result) {
        spoken += slots.size();
        majority = majority || 2 * slots.size() > members;
    }
    if (by_result.size() < 2 || (!majority && spoken < members)) {
        return std::nullopt;
    }
    // A group without the oldest member is smaller than another one of its size.
    const auto smaller = [](const auto& a, const auto& b) {
        const auto& [one, other] = std::tie(a.second, b.second);
        return one.size() < other.size() ||
               (one.size() == other.size() && one.front() > other.front());
    };
    return std::min_element(by_result.begin(), by_result.end(), smaller)->second.front();
}

void StepMachine::on(SlotId from, const protocol::Reduced& reduced, node::Turn turn) {
    if (phase_ != Phase::Reducing || reduced.version != context_.version ||
        reduced.epoch != epoch_) {
        return;
    }
    const StageIndex stage = context_.roster.find(from)->stage;
    const auto list = lists_.find(from);
    if (list == lists_.end()) {
        return;  // nobody asked the member
    }
    if (!is_complete(reduced, stage, list->second.size())) {
        fence_caught(from, "its result does not count every microbatch once", IfLast::Keep, turn);
        return;
    }
    if (!holders_.try_emplace(from, reduced).second) {
        return;  // repeated after a link was back; the first word counts
    }
    waits_.is_done(from);
    const auto [first, is_first] = first_holder_at_.try_emplace(stage, turn.now);
    if (!is_first) {
        reduces_.add(turn.now - first->second);
    }
    deadline_ = std::max(deadline_, turn.now + timing_.reduce_min);
    if (replicas_train_alone()) {
        return;  // no two results are equal
    }
    if (const auto liar = find_minority(stage)) {
        fence_caught(*liar, "its result differs from its replicas'", IfLast::Keep, turn);
        if (phase_ == Phase::Reducing) {
            abort_reduce("results of a stage differ", turn);
        }
    }
}

void StepMachine::on(SlotId from, const protocol::Mismatch& mismatch, node::Turn turn) {
    const SlotInfo* const info = context_.roster.find(from);
    const auto list = lists_.find(from);
    if (phase_ != Phase::Reducing || mismatch.version != context_.version ||
        mismatch.epoch != epoch_ || !info || list == lists_.end()) {
        return;
    }
    if (replicas_exchange()) {
        // The member may return at once with the shared weights, even as the last of its stage.
        fence(from, "it has no share of what it was counted for", IfLast::Fence, turn);
        return;
    }
    const auto is_listed = [&](MicrobatchId id) {
        return std::ranges::find(list->second, id) != list->second.end();
    };
    const PeerId peer = info->peer;
    if (!mismatch.never_came.empty()) {
        return blame_for_paths(from, mismatch.never_came, turn);
    }
    // A member waits for microbatches that it lacks, so it reports only some that are not listed.
    // A new slot is empty, which also helps a member whose sums are wrong in earnest.
    if (std::ranges::all_of(mismatch.ids, is_listed)) {
        fence_caught(
            from, "it says that its sums are not those listed, but they are", IfLast::Fence, turn
        );
    } else if (++failed_reduces_[peer] >= kFailedReducesMax) {
        fence_caught(
            from, "it held other microbatches than listed, twice in a row", IfLast::Fence, turn
        );
    }
    if (phase_ == Phase::Reducing) {
        abort_reduce("a member holds other microbatches than the ledger says", turn);
    }
}

/// Either the member lies or the tails that reported the paths. Whoever is party to it a second
/// time before a step is decided is fenced.
void StepMachine::blame_for_paths(
    SlotId from, const std::vector<MicrobatchId>& never_came, node::Turn turn
) {
    std::vector<SlotId> parties{from};
    for (const MicrobatchId id : never_came) {
        const std::optional<SlotId> tail = ledger_.tail_of(id);
        if (tail && context_.roster.find(*tail) &&
            std::ranges::find(parties, *tail) == parties.end()) {
            parties.push_back(*tail);
        }
    }
    for (const SlotId party : parties) {
        if (++failed_reduces_[context_.roster.find(party)->peer] >= kFailedReducesMax) {
            fence_caught(
                party,
                "a path that it reported or denied was wrong, twice in a row",
                IfLast::Keep,
                turn
            );
            break;  // the other party may have told the truth
        }
    }
    if (phase_ == Phase::Reducing) {
        abort_reduce("a microbatch never came to a member of its path", turn);
    }
}

void StepMachine::on(SlotId from, const protocol::Stuck& stuck, node::Turn) {
    if (phase_ != Phase::Reducing || stuck.version != context_.version || stuck.epoch != epoch_) {
        return;
    }
    const StageIndex stage = context_.roster.find(from)->stage;
    const bool gradients = stuck.owed == protocol::Owed::Gradients;
    const std::set<SlotId> above =
        gradients ? ledger_.next_on_paths(from, stage) : std::set<SlotId>{};
    const auto tied = run::tied_stage(context_.config, stage);
    WaitGraph::Said said{.owed = stuck.owed};
    for (const SlotId slot : stuck.waits_for) {
        const SlotInfo* const info = context_.roster.find(slot);
        if (!info || info->standing == Standing::Observer || slot == from) {
            continue;
        }
        const bool may_owe = gradients                                ? above.contains(slot)
                             : stuck.owed == protocol::Owed::TiedSums ? info->stage == tied
                                                                      : info->stage == stage;
        if (may_owe) {
            said.slots.insert(slot);
        }
    }
    waits_.says(from, std::move(said));
}

bool StepMachine::has_holders_everywhere() const {
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<SlotId> members = context_.roster.members({stage});
        const bool all = std::all_of(members.begin(), members.end(), [&](SlotId slot) {
            return holders_.contains(slot);
        });
        if (members.size() < std::max<std::size_t>(1, context_.config.min_holders) || !all) {
            return false;
        }
    }
    return true;
}

void StepMachine::decide_when_held() {
    if (!has_holders_everywhere()) {
        return;
    }
    deadline_ = kNever;
    phase_ = Phase::Deciding;
    for (const auto& [slot, reduced] : holders_) {
        failed_reduces_.erase(context_.roster.find(slot)->peer);
    }
    counted_ = count_results();
    if (replicas_exchange()) {
        std::vector<Digest> hashes;
        for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
            hashes.push_back(holders_.at(context_.roster.members({stage}).front()).result_hash);
        }
        decision_ = exchange_of(context_.version, epoch_, std::move(hashes));
        trained_.clear();
        return;
    }
    CommitRecord record{context_.version, epoch_, {}, ledger_.mean_loss(), 0, {}};
    std::vector<double> sums;  // stages in order hold the tensors in global order
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<double> found = squares_of({stage});
        sums.insert(sums.end(), found.begin(), found.end());
        const SlotId slot = context_.roster.members({stage}).front();
        record.result_hashes.push_back(
            replicas_train_alone() ? Digest{} : holders_.at(slot).result_hash
        );
    }
    const std::uint64_t step = run::steps_before(context_.config, context_.version.step);
    record.scalars = run::step_scalars(context_.config, step, sums);
    record.gradient_norm = run::gradient_norm(context_.config, step, sums);
    decision_ = std::move(record);
    if (replicas_train_alone()) {
        note_trained();
    }
}

void StepMachine::abort_reduce(const char* reason, node::Turn turn) {
    turn.out.log(
        node::LogLine::Level::Info,
        "step " + std::to_string(context_.version.step) + ": reduce aborted, " + reason
    );
    ledger_.need_all();
    exchange_aborted_ = replicas_exchange();
    holders_.clear();
    first_holder_at_.clear();
    deadline_ = kNever;
    phase_ = Phase::Running;
}

void StepMachine::expire_grace(node::Turn turn) {
    const Duration grace = std::max(timing_.holder_grace_min, 4 * reduces_.p95());
    std::vector<SlotId> late;
    for (auto& [stage, at] : first_holder_at_) {
        if (at + grace > turn.now) {
            continue;
        }
        at = turn.now;
        const std::vector<SlotId> members = context_.roster.members(stage);
        const auto holders = std::count_if(members.begin(), members.end(), [&](SlotId slot) {
            return holders_.contains(slot);
        });
        if (std::cmp_less(holders, context_.config.min_holders)) {
            continue;  // the silent one is needed
        }
        for (const SlotId slot : members) {
            // A live member sends a heartbeat every 2 s, so only a suspect has been silent.
            const bool silent = context_.roster.find(slot)->standing == protocol::Standing::Suspect;
            if (silent && !holders_.contains(slot)) {
                late.push_back(slot);
            }
        }
    }
    for (const SlotId slot : late) {
        fence(slot, "did not finish the reduce that its replicas finished", IfLast::Keep, turn);
    }
}

/// Nobody waits for these members, their replicas have the result, and still they report none.
void StepMachine::blame_silent_members(node::Turn turn) {
    const auto holds = [&](SlotId slot) { return holders_.contains(slot); };
    std::vector<SlotId> silent;
    for (std::uint32_t stage = 0; stage < context_.config.stages; ++stage) {
        const std::vector<SlotId> members = context_.roster.members({stage});
        if (!replicas_train_alone() && std::ranges::any_of(members, holds)) {
            std::ranges::copy_if(members, std::back_inserter(silent), std::not_fn(holds));
        }
    }
    for (const SlotId slot : silent) {
        const PeerId peer = context_.roster.find(slot)->peer;
        if (++failed_reduces_[peer] >= kFailedReducesMax) {
            fence_caught(slot, "it reported no result, twice in a row", IfLast::Keep, turn);
        }
    }
}

void StepMachine::expire_reduce(node::Turn turn) {
    const auto blamed = waits_.blamed(
        [&](SlotId slot) { return context_.roster.find(slot) != nullptr; },
        [&](SlotId slot) { return holders_.contains(slot); }
    );
    if (blamed) {
        fence_caught(*blamed, "others of the reduction wait for it", IfLast::Keep, turn);
    } else {
        blame_silent_members(turn);
    }
    if (phase_ == Phase::Reducing) {
        abort_reduce("it took too long", turn);
    }
}

std::uint64_t StepMachine::wire_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [slot, reduced] : holders_) {
        bytes += reduced.wire_bytes;  // a lie may wrap around, which only spoils a report
    }
    return bytes;
}

std::uint32_t StepMachine::count_results() const {
    std::map<StageIndex, std::uint32_t> sums;  // for replicas that train alone
    std::uint32_t least = microbatches_of_step();
    for (const auto& [slot, reduced] : holders_) {
        const StageIndex stage = context_.roster.find(slot)->stage;
        if (replicas_train_alone()) {
            sums[stage] += reduced.counted_once;
        } else if (training_.has(stage)) {
            least = std::min(least, reduced.counted_once);
        }
    }
    for (const auto& [stage, sum] : sums) {
        least = std::min(least, sum);
    }
    return least;
}

}  // namespace swarm::coordinator
