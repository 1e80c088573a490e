#include "sim/run/liar_words.hpp"

#include "swarm/protocol/run_fields.hpp"
#include "swarm/protocol/session_fields.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace sim {
namespace {

namespace protocol = swarm::protocol;
using swarm::Rng;

/// Items of a list that is drawn.
constexpr std::uint64_t kItemsMax = 4;

/// Calls a function with each field of a message or of a part.
template <class Body, class Each>
struct Walk {
    Body& body;
    Each& each;

    template <class Field, class... Rule>
    void operator()(const Field& field, const Rule&... /*rule*/) const {
        each(field.member(body));
    }

    template <class Condition>
    void holds(std::string_view /*name*/, std::string_view /*text*/, Condition /*check*/) const {}
};

template <class Body, class Each>
void walk(Body& body, Each& each) {
    using Plain = std::remove_const_t<Body>;
    visit_fields(protocol::Of<Plain>(), Walk<Body, Each>{body, each});
}

struct Learner {
    LiarWords& words;

    void operator()(const swarm::ParameterVersion& value) { words.versions.add(value); }

    void operator()(const swarm::Epoch& value) { words.epochs.add(value); }

    void operator()(const swarm::SlotId& value) { words.slots.add(value); }

    void operator()(const swarm::PeerId& value) { words.peers.add(value); }

    void operator()(const swarm::Incarnation& value) { words.incarnations.add(value); }

    void operator()(const swarm::Digest& value) { words.digests.add(value); }

    void operator()(const swarm::MicrobatchId& value) { words.microbatches.add(value); }

    void operator()(const protocol::LegId& value) { walk(value, *this); }

    void operator()(const protocol::SlotInfo& value) { walk(value, *this); }

    void operator()(const protocol::SlotTable& table) {
        for (const protocol::SlotInfo& info : table) {
            (*this)(info);
        }
    }

    template <class Item>
    void operator()(const std::vector<Item>& items) {
        for (const Item& item : items) {
            (*this)(item);
        }
    }

    template <class Other>
    void operator()(const Other& /*value*/) {}
};

/// Finds the last version and the last epoch of a message.
struct CurrentOf {
    LiarWords::Current& current;

    void operator()(const swarm::ParameterVersion& value) { current.version = value; }

    void operator()(const swarm::Epoch& value) { current.epoch = value; }

    template <class Other>
    void operator()(const Other& /*value*/) {}
};

struct Drawer {
    const LiarWords& words;
    Names names;
    Rng& rng;

    void operator()(swarm::ParameterVersion& value) {
        if (is_current()) {
            value = words.current.version;
            return;
        }
        value = words.versions.pick(rng);
        shift(value.step);
        value.gen += rng.chance(1, 16) ? 1 : 0;
    }

    void operator()(swarm::Epoch& value) {
        if (is_current()) {
            value = words.current.epoch;
            return;
        }
        value = words.epochs.pick(rng);
        shift(value.value);
    }

    void operator()(swarm::SlotId& value) {
        value = words.slots.pick(rng);
        value.value += rng.chance(1, 8) ? 1 : 0;
    }

    void operator()(swarm::PeerId& value) { value = words.peers.pick(rng); }

    void operator()(swarm::Incarnation& value) { value = words.incarnations.pick(rng); }

    void operator()(swarm::Digest& value) {
        value = words.digests.pick(rng);
        value.bytes[0] ^= static_cast<std::byte>(rng.below(2));
    }

    void operator()(swarm::MicrobatchId& value) {
        value = words.microbatches.pick(rng);
        value.value = rng.chance(1, 8) ? 2047 : value.value;
    }

    void operator()(swarm::StageIndex& value) {
        value.value = static_cast<std::uint32_t>(rng.below(8));
    }

    void operator()(swarm::StageMask& value) { value.bits = 1 + rng.below(255); }

    void operator()(bool& value) { value = rng.chance(1, 2); }

    void operator()(double& value) {
        constexpr std::array<double, 5> kNumbers{0, 1, 1e-9, 1e9, 3.5};
        const double drawn = kNumbers[rng.below(kNumbers.size())];
        value = rng.chance(1, 2) ? drawn : value * drawn;
    }

    void operator()(std::uint32_t& value) { value = static_cast<std::uint32_t>(number()); }

    void operator()(std::uint64_t& value) { value = number(); }

    void operator()(std::uint16_t& value) { value = static_cast<std::uint16_t>(number()); }

    void operator()(std::string& value) { value = "sim:" + std::to_string(rng.below(64)); }

    void operator()(std::vector<std::byte>& value) { value.assign(rng.below(4), std::byte{1}); }

    void operator()(protocol::SlotTable& value) {
        std::vector<protocol::SlotInfo> infos;
        (*this)(infos);
        value = protocol::SlotTable(std::move(infos));
    }

    void operator()(std::vector<swarm::MicrobatchId>& ids) {
        draw_items(ids);
        std::sort(ids.begin(), ids.end());
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    }

    /// A path leads through a member of each stage.
    void operator()(std::vector<swarm::SlotId>& slots) {
        if (!is_current()) {
            return draw_items(slots);
        }
        slots.clear();
        for (const std::vector<swarm::SlotId>& members : words.current.members) {
            if (!members.empty()) {
                slots.push_back(members[rng.below(members.size())]);
            }
        }
    }

    /// A list that has items keeps all but one of them in half of the cases.
    template <class Item>
    void operator()(std::vector<Item>& items) {
        if (!items.empty() && rng.chance(1, 2)) {
            (*this)(items[rng.below(items.size())]);
        } else {
            draw_items(items);
        }
    }

    template <class Value>
    void operator()(std::optional<Value>& value) {
        value.reset();
        if (rng.chance(3, 4)) {
            (*this)(value.emplace());
        }
    }

    template <class Value>
    void operator()(Value& value) {
        if constexpr (std::is_enum_v<Value>) {
            value = static_cast<Value>(rng.below(4));
        } else if constexpr (std::is_integral_v<Value>) {
            value = static_cast<Value>(rng.below(4));
        } else if constexpr (requires { value.value; }) {
            (*this)(value.value);
        } else {
            walk(value, *this);
        }
    }

 private:
    [[nodiscard]] bool is_current() { return names == Names::Current || rng.chance(1, 2); }

    template <class Item>
    void draw_items(std::vector<Item>& items) {
        items.resize(rng.below(kItemsMax + 1));
        for (Item& item : items) {
            (*this)(item);
        }
    }

    std::uint64_t number() { return rng.chance(1, 16) ? rng.next() : rng.below(16); }

    /// Mostly a number that counts; at times one before it, after it, or far ahead.
    void shift(std::uint64_t& value) {
        switch (rng.below(8)) {
            case 0: value += 1; break;
            case 1: value -= value > 0 ? 1 : 0; break;
            case 2: value += 1000; break;
            default: break;
        }
    }
};

struct Counter {
    std::size_t fields = 0;

    template <class Value>
    void operator()(const Value& /*value*/) {
        ++fields;
    }
};

struct DrawOne {
    Drawer draw;
    std::size_t left;

    template <class Value>
    void operator()(Value& value) {
        if (left-- == 0) {
            draw(value);
        }
    }
};

template <std::size_t... Kind>
protocol::Body body_of(std::size_t kind, std::index_sequence<Kind...> /*kinds*/) {
    protocol::Body body;
    ((kind == Kind ? void(body = std::variant_alternative_t<Kind, protocol::AnyMessage>()) : void()
     ),
     ...);
    return body;
}

template <class Visit>
void visit_body(protocol::Body& body, Visit&& visit) {
    std::visit(std::forward<Visit>(visit), static_cast<protocol::AnyMessage&>(body));
}

}  // namespace

void LiarWords::learn(const protocol::Body& body) {
    Learner learner{*this};
    std::visit(
        [&](const auto& message) { walk(message, learner); },
        static_cast<const protocol::AnyMessage&>(body)
    );
}

void LiarWords::believe(const protocol::Body& body) {
    learn(body);
    CurrentOf finder{current};
    std::visit(
        [&](const auto& message) { walk(message, finder); },
        static_cast<const protocol::AnyMessage&>(body)
    );
    if (std::holds_alternative<protocol::Commit>(body)) {
        current.version.step += 1;
    } else if (const auto* const roster = std::get_if<protocol::Roster>(&body)) {
        current.members.clear();
        for (const protocol::SlotInfo& info : roster->slots) {
            if (info.standing == protocol::Standing::Observer) {
                continue;
            }
            const std::size_t stage = info.stage.value;
            current.members.resize(std::max(current.members.size(), stage + 1));
            current.members[stage].push_back(info.slot);
        }
    }
}

protocol::Body LiarWords::invent(std::size_t kind, Names names, Rng& rng) const {
    protocol::Body body = body_of(kind, std::make_index_sequence<protocol::kMessageKinds>());
    Drawer drawer{*this, names, rng};
    visit_body(body, [&](auto& message) { walk(message, drawer); });
    return body;
}

bool LiarWords::change(protocol::Body& body, Rng& rng) const {
    Counter counter;
    visit_body(body, [&](auto& message) { walk(message, counter); });
    if (counter.fields == 0) {
        return false;
    }
    DrawOne one{{*this, Names::Any, rng}, static_cast<std::size_t>(rng.below(counter.fields))};
    visit_body(body, [&](auto& message) { walk(message, one); });
    return true;
}

}  // namespace sim
