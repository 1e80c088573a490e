// The rules on the values of a field, for the descriptions of messages (field.hpp). A rule turns
// the value of a generated class into the value of the struct. It notes a value that breaks the
// rule in the validator, and then returns a value that is safe to hold.
// A field of 32 bits, a double and an enum have no rule of their own: their description names one.
// Private to swarm/protocol. Errors: Malformed, TooLarge, noted in the validator.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/tensor_envelope.hpp"
#include "swarm/protocol/validator.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace swarm::protocol {

/// Every value is valid.
struct Any {
    template <class Value>
    Value operator()(Validator& /*check*/, Value value, std::string_view /*field*/) const {
        return value;
    }
};

/// A whole number below `bound`.
struct Below {
    std::uint32_t bound;

    std::uint32_t operator()(Validator& check, std::uint32_t value, std::string_view field) const {
        return check.below(value, bound, field);
    }
};

/// A whole number up to and including `max`.
struct UpTo {
    std::uint32_t max;

    std::uint32_t operator()(Validator& check, std::uint32_t value, std::string_view field) const {
        return check.below(value, max + 1, field);
    }
};

/// Neither NaN nor infinite.
struct Finite {
    double operator()(Validator& check, double value, std::string_view field) const {
        return check.finite(value, field);
    }
};

/// Finite and not negative.
struct FiniteFromZero {
    double operator()(Validator& check, double value, std::string_view field) const {
        return check.finite_and_not_negative(value, field);
    }
};

/// A part of a whole: from 0 to 1.
struct Share {
    double operator()(Validator& check, double value, std::string_view field) const {
        const double share = check.finite_and_not_negative(value, field);
        check.require(share <= 1, field, "is more than the whole");
        return share;
    }
};

/// A speed that some device could have.
struct RowsPerSecond {
    double operator()(Validator& check, double value, std::string_view field) const {
        const double rate = check.finite_and_not_negative(value, field);
        check.require(rate <= kRowsPerSMax, field, "is beyond any device");
        return rate;
    }
};

/// An enumerator up to and including `last`.
template <class Enum>
struct Known {
    Enum last;

    Enum operator()(Validator& check, int value, std::string_view field) const {
        return check.choice(value, last, field);
    }
};

template <class Enum>
Known(Enum) -> Known<Enum>;  // clang 14 deduces nothing for aggregates

/// The number of a codec for rows between hops of a session.
struct RowCodecNumber {
    CodecId operator()(Validator& check, std::uint32_t value, std::string_view field) const {
        constexpr auto kLast = static_cast<std::uint32_t>(kLastRowCodec);
        return static_cast<CodecId>(check.below(value, kLast + 1, field));
    }
};

/// Bytes of any value, at most `max` of them.
struct Bytes {
    std::size_t max;

    std::string operator()(Validator& check, const std::string& value, std::string_view field)
        const {
        return check.fits(value.size(), max, field) ? value : std::string();
    }
};

/// The one rule of a type, wherever the type is used. `Value` is the type in the struct.
template <class Value>
struct RuleOf;

template <>
struct RuleOf<bool> : Any {};

template <>
struct RuleOf<std::uint64_t> : Any {};

template <class Tag>
struct RuleOf<Id<Tag, std::uint64_t>> {
    Id<Tag> operator()(Validator& /*check*/, std::uint64_t value, std::string_view /*field*/)
        const {
        return {value};
    }
};

template <>
struct RuleOf<StageIndex> {
    StageIndex operator()(Validator& check, std::uint32_t value, std::string_view field) const {
        return {check.below(value, kStagesMax, field)};
    }
};

template <>
struct RuleOf<MicrobatchId> {
    MicrobatchId operator()(Validator& check, std::uint32_t value, std::string_view field) const {
        return {check.below(value, kMicrobatchesMax, field)};
    }
};

template <>
struct RuleOf<StageMask> {
    StageMask operator()(Validator& check, std::uint64_t bits, std::string_view field) const {
        check.require(bits != 0, field, "is empty: nobody would accumulate");
        return {bits};
    }
};

template <>
struct RuleOf<Digest> {
    Digest operator()(Validator& check, const std::string& bytes, std::string_view field) const {
        return check.digest(bytes, field);
    }
};

template <>
struct RuleOf<PeerId> {
    PeerId operator()(Validator& check, const std::string& bytes, std::string_view field) const {
        return check.peer(bytes, field);
    }
};

/// Texts are printable ASCII of at most kTextBytesMax bytes.
template <>
struct RuleOf<std::string> {
    std::string operator()(Validator& check, const std::string& bytes, std::string_view field)
        const {
        return check.text(bytes, field);
    }
};

/// Stands for RuleOf<type of the field>.
struct ByType {};

/// A list of at most `max` elements, with the rule of each element.
template <class Rule = ByType>
struct Items {
    std::size_t max;
    Rule each{};
};

Items(std::size_t)->Items<>;
template <class Rule>
Items(std::size_t, Rule) -> Items<Rule>;

/// A set of microbatches: strictly increasing, so that nothing is counted twice.
struct IdSet {};

/// A part that is written only if it differs from a part with default values.
struct MayMiss {};

}  // namespace swarm::protocol
