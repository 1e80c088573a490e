// Writes the fields of a body into its generated class, as visit_fields() describes them. Rules and
// conditions are for the reader alone: a role's own messages are valid.
// Private to swarm/protocol. Errors: none.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/protocol/field.hpp"

#include <google/protobuf/repeated_field.h>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace swarm::protocol {

std::string bytes_of(const Digest& digest);
std::string bytes_of(const PeerId& peer);

// ---- the value of a generated class for a value of a struct ----

template <class Value>
auto wire_value(Value value) {
    if constexpr (std::is_enum_v<Value>) {
        return static_cast<int>(value);
    } else {
        static_assert(std::is_arithmetic_v<Value>);
        return value;
    }
}

template <class Tag, class Value>
Value wire_value(Id<Tag, Value> id) {
    return id.value;
}

inline std::uint64_t wire_value(StageMask mask) {
    return mask.bits;
}

inline std::string wire_value(const Digest& digest) {
    return bytes_of(digest);
}

inline std::string wire_value(const PeerId& peer) {
    return bytes_of(peer);
}

inline const std::string& wire_value(const std::string& text) {
    return text;
}

// ---- fields ----

template <class Body, class Wire>
void write_fields(const Body& body, Wire* out);

template <class List, class Value>
void write_items(const List& items, google::protobuf::RepeatedField<Value>* out) {
    out->Reserve(static_cast<int>(items.size()));
    for (const auto& item : items) {
        out->AddAlreadyReserved(wire_value(item));
    }
}

template <class List, class Wire>
void write_items(const List& items, google::protobuf::RepeatedPtrField<Wire>* out) {
    for (const auto& item : items) {
        if constexpr (Nested<std::remove_cvref_t<decltype(item)>>) {
            write_fields(item, out->Add());
        } else {
            *out->Add() = wire_value(item);
        }
    }
}

/// A list of small numbers as bytes, one each.
template <class List>
void write_items(const List& items, std::string* out) {
    for (const auto& item : items) {
        out->push_back(static_cast<char>(item));
    }
}

template <class Body, class Wire>
class FieldWriter {
 public:
    FieldWriter(const Body& body, Wire* out) : body_(body), out_(out) {}

    template <class Apply, class Rule = ByType>
    void operator()(const Field<Apply>& field, const Rule& rule = {}) const {
        write(field, field.member(body_), rule);
    }

    template <class Condition>
    void holds(std::string_view /*field*/, std::string_view /*text*/, const Condition&) const {}

 private:
    template <class Apply, class Value, class Rule>
    void write(const Field<Apply>& field, const Value& value, const Rule& /*rule*/) const {
        using Stored = std::remove_cvref_t<decltype(field.get(*out_))>;
        field.set(out_, static_cast<Stored>(wire_value(value)));
    }

    template <class Apply, class Value, class Rule>
    void write(const Field<Apply>& field, const std::optional<Value>& value, const Rule& rule)
        const {
        if (value) {
            write(field, *value, rule);
        }
    }

    template <class Apply, Nested Value>
    void write(const Field<Apply>& field, const Value& part, const ByType& /*rule*/) const {
        write_fields(part, field.part_of(out_));
    }

    template <class Apply, Nested Value>
    void write(const Field<Apply>& field, const Value& part, const MayMiss& /*rule*/) const {
        if (part != Value{}) {
            write_fields(part, field.part_of(out_));
        }
    }

    template <class Apply, class List, class Rule>
    void write(const Field<Apply>& field, const List& items, const Items<Rule>& /*rule*/) const {
        write_items(items, field.part_of(out_));
    }

    template <class Apply, class Ids>
    void write(const Field<Apply>& field, const Ids& ids, const IdSet& /*rule*/) const {
        write_items(ids, field.part_of(out_));
    }

    const Body& body_;
    Wire* out_;
};

template <class Body, class Wire>
void write_fields(const Body& body, Wire* out) {
    visit_fields(Of<Body>(), FieldWriter<Body, Wire>(body, out));
}

}  // namespace swarm::protocol
