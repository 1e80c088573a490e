#include "swarm/cli/train/best_keeper.hpp"

namespace swarm::cli {
namespace {

template <class Value>
void remember(
    std::map<std::uint64_t, Value>& by_step, std::uint64_t step, Value value, std::size_t most
) {
    by_step[step] = std::move(value);
    if (by_step.size() > most) {
        by_step.erase(by_step.begin());
    }
}

}  // namespace

Result<> BestKeeper::evaluated(std::uint64_t step, double loss) {
    remember(losses_, step, loss, kRemembered);
    const auto name = names_.find(step);
    return name == names_.end() ? Result<>() : mark(name->second, loss);
}

Result<> BestKeeper::written(std::uint64_t step, const std::string& name) {
    remember(names_, step, name, kRemembered);
    const auto loss = losses_.find(step);
    return loss == losses_.end() ? Result<>() : mark(name, loss->second);
}

Result<> BestKeeper::mark(const std::string& name, double loss) {
    if (best_ && best_->loss <= loss) {
        return {};
    }
    best_ = stages::BestCheckpoint{name, loss};
    return stages::write_best_checkpoint(folder_, *best_);
}

}  // namespace swarm::cli
