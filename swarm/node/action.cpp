#include "swarm/node/action.hpp"

#include <utility>

namespace swarm::node {

Action::Action() = default;
Action::Action(const Action& other) = default;
Action::Action(Action&& other) noexcept = default;
Action& Action::operator=(const Action& other) = default;
Action& Action::operator=(Action&& other) noexcept = default;
Action::~Action() = default;

template <class Asked>
void Outbox::add(Asked asked) {
    actions.emplace_back(std::in_place_type<Asked>, std::move(asked));
}

template void Outbox::add(Dial);
template void Outbox::add(Close);
template void Outbox::add(Send);
template void Outbox::add(Compute);
template void Outbox::add(Append);
template void Outbox::add(WriteFile);
template void Outbox::add(Load);
template void Outbox::add(Tell);

void Outbox::log(LogLine::Level level, std::string text) {
    add(Tell{LogLine{level, std::move(text)}});
}

}  // namespace swarm::node
