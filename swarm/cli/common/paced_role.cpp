#include "swarm/cli/common/paced_role.hpp"

#include <variant>

namespace swarm::cli {
namespace {

class ScaledJob final : public node::Job {
 public:
    ScaledJob(std::shared_ptr<node::Job> job, double forward_units)
        : job_(std::move(job)),
          forwards_(forward_units > 0 ? job_->work_units() / forward_units : 0) {}

    void run() override { job_->run(); }

    [[nodiscard]] double work_units() const override { return forwards_; }

 private:
    std::shared_ptr<node::Job> job_;
    double forwards_;
};

}  // namespace

void PacedRole::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const std::size_t before = out.actions.size();
    inner_->on(event, now, out);
    for (std::size_t i = before; i < out.actions.size(); ++i) {
        if (auto* const compute = std::get_if<node::Compute>(&out.actions[i])) {
            compute->work = std::make_shared<ScaledJob>(std::move(compute->work), *forward_units_);
        }
    }
}

}  // namespace swarm::cli
