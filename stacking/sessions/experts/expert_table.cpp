#include "stacking/sessions/experts/expert_table.hpp"

#include "stacking/sessions/experts/expert_rows.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace stacking::sessions {
namespace {

class ExpertJob final : public node::Job {
 public:
    ExpertJob(std::function<void()> work, double units) : work_(std::move(work)), units_(units) {}

    void run() override {
        work_();
        work_ = {};  // frees the rows
    }

    [[nodiscard]] double work_units() const override { return units_; }

 private:
    std::function<void()> work_;
    double units_;
};

/// An expert is about two thirds of a layer.
constexpr double kUnitsOfRow = 2.0 / 3;

}  // namespace

ExpertTable::ExpertTable(Options options)
    : options_(std::move(options)), width_(options_.lender->width()) {}

void ExpertTable::take(
    PeerId from, const protocol::ExpertRows& rows, const node::Payload& payload, node::Turn turn
) {
    const LayerExpert which{rows.layer, rows.expert};
    asked_.insert(from);
    const std::uint64_t bytes = payload.bytes().size();
    const auto own = waiting_.find(from);
    const bool is_busy = requests_.size() >= protocol::kExpertCallsMax ||
                         bytes_ + bytes > protocol::kExpertBytesMax ||
                         (own != waiting_.end() && own->second >= protocol::kExpertCallsPerPeerMax);
    const bool is_known = rows.weights == options_.weights && options_.lender->holds(which);
    if (is_busy || !is_known) {
        return send(from, protocol::ExpertRefused{rows.request, is_known}, turn);
    }
    auto values = from_payload(payload, rows.rows, width_);
    if (!values) {
        return send(from, protocol::ExpertRefused{rows.request, false}, turn);
    }
    const swarm::JobId job{next_job_++};
    const auto outcome = std::make_shared<Outcome>();
    requests_.emplace(job, Request{from, rows.request, rows.rows, bytes, outcome, turn.now});
    ++waiting_[from];
    bytes_ += bytes;
    auto work =
        [lender = options_.lender, outcome, which, width = width_, in = std::move(*values)] {
            const auto out = lender->run(which, in);
            outcome->outputs = out ? to_payload(*out, width) : std::nullopt;
        };
    const double units = rows.rows * kUnitsOfRow;
    turn.out.add(node::Compute{job, std::make_shared<ExpertJob>(std::move(work), units), true});
}

void ExpertTable::computed(swarm::JobId job, node::Turn turn) {
    const auto found = requests_.find(job);
    SWARM_ASSERT(found != requests_.end());
    Request& request = found->second;
    const TimePoint begun = std::max(request.came, std::exchange(idle_since_, turn.now));
    (request.rows > protocol::kSessionBatchMax ? prefill_ : decode_)
        .add(request.rows, turn.now - begun);
    if (request.outcome->outputs) {
        send(
            request.from,
            protocol::ExpertOutputs{request.number},
            turn,
            std::move(*request.outcome->outputs)
        );
    } else {
        send(request.from, protocol::ExpertRefused{request.number, false}, turn);
    }
    bytes_ -= request.bytes;
    if (--waiting_.at(request.from) == 0) {
        waiting_.erase(request.from);
    }
    requests_.erase(found);
}

}  // namespace stacking::sessions
