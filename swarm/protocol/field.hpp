// The words in which messages are described. run_fields.hpp and session_fields.hpp have a function
// visit_fields(Of<Body>, visit) for each message and each part of a message. It calls
//   visit(SWARM_FIELD(name), rule)          for each field, in the order of messages.proto, with
//                                           the rule for its values (value_rules.hpp)
//   visit.holds("name", "text", condition)  for each condition on several fields; an error names
//                                           the field `name` and says `text`
// A field has the same name in the struct, in messages.proto and in errors. field_writer.hpp and
// field_reader.hpp walk the descriptions, so that each field is written, read and checked.
// A new message needs its struct, its message in messages.proto, its description, and its name in
// bodies.hpp. Private to swarm/protocol.
#pragma once

#include "swarm/protocol/value_rules.hpp"

#include <string_view>
#include <type_traits>
#include <utility>

namespace swarm::protocol {

/// Names the struct whose fields a visit_fields() describes.
template <class Body>
struct Of {};

/// A part of a message: a struct with a description of its own.
template <class Value>
concept Nested = std::is_aggregate_v<Value> && !requires {
    RuleOf<Value>();
};

/// The uses of a field's name: a member of the struct, or an accessor of the generated class.
enum class Access { Member, Get, Has, Set, Mutable };

template <Access Use>
struct As {};

/// A field: its name, and a function that applies the name to an object of the struct or of the
/// generated class.
template <class Apply>
struct Field {
    Apply apply;
    std::string_view name;

    template <class Body>
    auto& member(Body& body) const {
        return apply(As<Access::Member>(), body);
    }

    template <class Wire>
    decltype(auto) get(const Wire& in) const {
        return apply(As<Access::Get>(), in);
    }

    template <class Wire>
    bool is_in(const Wire& in) const {
        return apply(As<Access::Has>(), in);
    }

    template <class Wire, class Value>
    void set(Wire* out, Value value) const {
        apply(As<Access::Set>(), *out, std::move(value));
    }

    template <class Wire>
    auto* part_of(Wire* out) const {
        return apply(As<Access::Mutable>(), *out);
    }
};

template <class Apply>
Field(Apply, std::string_view) -> Field<Apply>;

}  // namespace swarm::protocol

/// The field of that name. The function inside is compiled for each use of the name that occurs.
#define SWARM_FIELD(field)                                          \
    ::swarm::protocol::Field {                                      \
        []<::swarm::protocol::Access Use>(                          \
            ::swarm::protocol::As<Use>, auto& object, auto... value \
        ) -> decltype(auto) {                                       \
            using enum ::swarm::protocol::Access;                   \
            if constexpr (Use == Member) {                          \
                return (object.field);                              \
            } else if constexpr (Use == Get) {                      \
                return object.field();                              \
            } else if constexpr (Use == Has) {                      \
                return object.has_##field();                        \
            } else if constexpr (Use == Set) {                      \
                return object.set_##field(std::move(value)...);     \
            } else {                                                \
                return object.mutable_##field();                    \
            }                                                       \
        },                                                          \
            std::string_view(#field)                                \
    }
