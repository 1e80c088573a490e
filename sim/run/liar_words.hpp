// The words of a liar: names and numbers of a run that it has heard, and which of them are current.
// From them it makes messages of every kind of the schema, and changes fields of messages that it
// saw.
// Invariant: a function of the calls and the generator. Threading: values. Cost: O(fields).
#pragma once

#include "swarm/base/rng.hpp"
#include "swarm/protocol/message.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim {

/// The newest of the values that were heard, each once.
template <class Value>
class Heard {
 public:
    void add(const Value& value) {
        for (const Value& known : values_) {
            if (known == value) {
                return;
            }
        }
        if (values_.size() < kKept) {
            values_.push_back(value);
        } else {
            values_[next_++ % kKept] = value;
        }
    }

    [[nodiscard]] Value pick(swarm::Rng& rng) const {
        return values_.empty() ? Value{} : values_[rng.below(values_.size())];
    }

 private:
    static constexpr std::size_t kKept = 24;

    std::vector<Value> values_;
    std::size_t next_ = 0;
};

/// Whether invented names are current ones alone.
enum class Names : std::uint8_t { Any, Current };

class LiarWords {
 public:
    /// Learns every name that the message has.
    void learn(const swarm::protocol::Body& body);
    /// Learns also what is current, from a message of the coordinator.
    void believe(const swarm::protocol::Body& body);
    /// Draws a message of this kind, a place in Body. Its form may be one that a validator refuses.
    [[nodiscard]] swarm::protocol::Body invent(std::size_t kind, Names names, swarm::Rng& rng)
        const;
    /// Draws one field anew; false for a message without fields.
    bool change(swarm::protocol::Body& body, swarm::Rng& rng) const;

    Heard<swarm::ParameterVersion> versions;
    Heard<swarm::Epoch> epochs;
    Heard<swarm::SlotId> slots;
    Heard<swarm::PeerId> peers;
    Heard<swarm::Incarnation> incarnations;
    Heard<swarm::Digest> digests;
    Heard<swarm::MicrobatchId> microbatches;

    /// Names that the receiver would hold for right at this moment.
    struct Current {
        swarm::ParameterVersion version;
        swarm::Epoch epoch;
        std::vector<std::vector<swarm::SlotId>> members;  // by stage
    };

    Current current;
};

}  // namespace sim
