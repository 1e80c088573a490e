#include "tests/unit/sim/recorder.hpp"

#include "tests/describe_event.hpp"

#include <algorithm>
#include <variant>

namespace sim::test {
namespace {

class Work final : public node::Job {
 public:
    explicit Work(double work_units) : work_units_(work_units) {}

    void run() override {}

    [[nodiscard]] double work_units() const override { return work_units_; }

 private:
    double work_units_;
};

}  // namespace

std::vector<std::string> Diary::texts() const {
    std::vector<std::string> texts;
    for (const Line& line : lines) {
        texts.push_back(line.text);
    }
    return texts;
}

std::size_t Diary::count(const std::string& text) const {
    return static_cast<std::size_t>(std::ranges::count(lines, text, [](const Line& line) {
        return line.text;
    }));
}

TimePoint Diary::when(const std::string& text) const {
    const auto found = std::ranges::find(lines, text, [](const Line& line) { return line.text; });
    return found == lines.end() ? swarm::kNever : found->at;
}

std::string describe(const node::Event& event) {
    const auto where = [](const PeerId& id, Lane lane) {
        return std::to_string(id.words[0]) + (lane == Lane::Bulk ? " bulk" : "");
    };
    const auto number = [](const swarm::protocol::Message& message) {
        return "#" + std::to_string(message.number);
    };
    return swarm::test::describe_event(event, where, number);
}

void Recorder::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const std::string text = describe(event);
    diary_->lines.push_back({now, text});
    if (const auto* up = std::get_if<node::LinkUp>(&event)) {
        diary_->heard.push_back(up->incarnation);
    }
    due_ = swarm::kNever;
    const auto [first, last] = orders_.equal_range(text);
    for (auto order = first; order != last; ++order) {
        out.actions.push_back(std::move(order->second));
    }
    orders_.erase(first, last);
}

std::shared_ptr<Diary> add_recorder(
    World& world, PeerId self, const Recorder::Orders& orders, const PeerOptions& options
) {
    auto diary = std::make_shared<Diary>();
    const auto make_role = [=](swarm::Incarnation incarnation) {
        diary->told.push_back(incarnation);
        return std::make_unique<Recorder>(orders, diary);
    };
    world.add_peer(self, make_role, options);
    return diary;
}

node::Send message(PeerId to, std::uint64_t number) {
    return {to, {number, 0, swarm::protocol::Heartbeat{}}, {}};
}

node::Send tensor(PeerId to, std::uint64_t number, std::size_t bytes) {
    node::Payload payload({}, std::vector<std::byte>(bytes));
    return {to, {number, 0, swarm::protocol::Backward{}}, std::move(payload)};
}

node::Compute job(std::uint64_t id, double work_units) {
    return {{id}, std::make_shared<Work>(work_units)};
}

}  // namespace sim::test
