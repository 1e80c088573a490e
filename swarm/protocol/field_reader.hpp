// Reads the fields of a body from its generated class, as visit_fields() describes them, and checks
// each on the way. Nothing is copied before its size is known to be within limits.hpp.
// Private to swarm/protocol. Errors: Malformed, TooLarge, noted in the validator.
#pragma once

#include "swarm/protocol/field.hpp"
#include "swarm/protocol/validator.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace swarm::protocol {

template <class Body, class Wire>
void read_fields(Body& body, const Wire& in, Validator& check);

template <class Body, class Wire>
class FieldReader {
 public:
    FieldReader(Body& body, const Wire& in, Validator& check)
        : body_(body), in_(in), check_(check) {}

    template <class Apply, class Rule = ByType>
    void operator()(const Field<Apply>& field, const Rule& rule = {}) const {
        read(field, field.member(body_), rule);
    }

    /// Notes an error unless the condition holds for the body as far as it is read.
    template <class Condition>
    void holds(std::string_view field, std::string_view text, const Condition& condition) const {
        check_.require(condition(std::as_const(body_)), field, text);
    }

 private:
    template <class Apply, class Value, class Rule>
    void read(const Field<Apply>& field, Value& value, const Rule& rule) const {
        value = read_value<Value>(field.get(in_), rule, field.name);
    }

    template <class Apply, class Value, class Rule>
    void read(const Field<Apply>& field, std::optional<Value>& value, const Rule& rule) const {
        value.reset();  // the struct's default may be a value
        if (field.is_in(in_)) {
            value = read_value<Value>(field.get(in_), rule, field.name);
        }
    }

    /// A part must be there: a part that is missing would read as one with default values.
    template <class Apply, Nested Value>
    void read(const Field<Apply>& field, Value& part, const ByType& rule) const {
        check_.require(field.is_in(in_), field.name, "is missing");
        part = read_value<Value>(field.get(in_), rule, field.name);
    }

    template <class Apply, class List, class Rule>
    void read(const Field<Apply>& field, List& items, const Items<Rule>& rule) const {
        using Item = std::remove_cvref_t<decltype(*items.begin())>;
        items = check_.list(field.get(in_), rule.max, field.name, [&](const auto& stored) {
            return read_value<Item>(stored, rule.each, field.name);
        });
    }

    template <class Apply, class Ids>
    void read(const Field<Apply>& field, Ids& ids, const IdSet& /*rule*/) const {
        std::int64_t last = -1;
        ids = check_.list(field.get(in_), kMicrobatchesMax, field.name, [&](std::uint32_t id) {
            check_.require(id > last, field.name, "are not strictly increasing");
            last = id;
            return RuleOf<MicrobatchId>()(check_, id, "microbatch");
        });
    }

    template <class Value, class Stored, class Rule>
    Value read_value(const Stored& stored, const Rule& rule, std::string_view name) const {
        if constexpr (Nested<Value>) {
            const Validator::Within within(check_, name);
            Value part;
            read_fields(part, stored, check_);
            return part;
        } else if constexpr (std::is_same_v<Rule, ByType>) {
            return RuleOf<Value>()(check_, stored, name);
        } else if constexpr (std::is_same_v<Stored, char>) {
            return rule(check_, static_cast<unsigned char>(stored), name);
        } else {
            return rule(check_, stored, name);
        }
    }

    Body& body_;
    const Wire& in_;
    Validator& check_;
};

template <class Body, class Wire>
void read_fields(Body& body, const Wire& in, Validator& check) {
    visit_fields(Of<Body>(), FieldReader<Body, Wire>(body, in, check));
}

}  // namespace swarm::protocol
