// The descriptions of messages name every field of messages.proto, in its order, and no other.
#include "swarm/protocol/bodies.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace swarm::protocol {

namespace {

using Names = std::vector<std::string>;

/// Collects the names of the fields that a description visits.
struct NameCollector {
    Names* names;

    template <class Apply, class Rule = ByType>
    void operator()(const Field<Apply>& field, const Rule& /*rule*/ = {}) const {
        names->emplace_back(field.name);
    }

    template <class Condition>
    void holds(std::string_view, std::string_view, const Condition&) const {}
};

template <class Body>
Names described() {
    Names names;
    visit_fields(Of<Body>(), NameCollector{&names});
    return names;
}

struct Proto {
    std::map<std::string, Names> fields;  // by message
    Names types_of_bodies;                // types of the oneof, in its order
    Names names_of_bodies;
};

Proto read_proto() {
    std::ifstream file(SWARM_PROTOCOL_DIR "/messages.proto");
    EXPECT_TRUE(file);
    const std::regex message(R"(message (\w+) \{.*)");
    const std::regex field(R"(  (?:optional |repeated )?(\w+) (\w+) = \d+;.*)");
    const std::regex body(R"(    (\w+) (\w+) = \d+;)");
    Proto proto;
    std::string current;
    std::smatch match;
    for (std::string line; std::getline(file, line);) {
        if (std::regex_match(line, match, message)) {
            current = match[1];
            proto.fields[current];
        } else if (std::regex_match(line, match, body)) {
            proto.types_of_bodies.push_back(match[1]);
            proto.names_of_bodies.push_back(match[2]);
        } else if (std::regex_match(line, match, field)) {
            proto.fields[current].push_back(match[2]);
        }
    }
    return proto;
}

template <std::size_t... Kinds>
std::vector<Names> described_bodies(std::index_sequence<Kinds...> /*kinds*/) {
    return {described<std::variant_alternative_t<Kinds, AnyMessage>>()...};
}

template <std::size_t... Kinds>
Names names_of_bodies(std::index_sequence<Kinds...> /*kinds*/) {
    return {std::string(std::get<Kinds>(kBodies).name)...};
}

}  // namespace

TEST(Fields, EachMessageHasTheFieldsOfTheProto) {
    const Proto proto = read_proto();
    ASSERT_EQ(proto.types_of_bodies.size(), kMessageKinds);
    const auto bodies = described_bodies(std::make_index_sequence<kMessageKinds>());
    for (std::size_t kind = 0; kind < kMessageKinds; ++kind) {
        const std::string& name = proto.types_of_bodies[kind];
        EXPECT_EQ(bodies[kind], proto.fields.at(name)) << name;
    }
}

TEST(Fields, EachPartHasTheFieldsOfTheProto) {
    const Proto proto = read_proto();
    const std::map<std::string, Names> parts{
        {"ParameterVersion", described<ParameterVersion>()},
        {"SlotInfo", described<SlotInfo>()},
        {"ObservedRate", described<ObservedRate>()},
        {"SelfMeasured", described<SelfMeasured>()},
        {"LegId", described<LegId>()},
        {"FailedItem", described<FailedItem>()},
        {"Trained", described<Trained>()},
        {"StepScalars", described<StepScalars>()},
        {"SnapshotOrder", described<SnapshotOrder>()},
        {"TokenScore", described<TokenScore>()},
        {"DrawnToken", described<DrawnToken>()},
        {"LayerRange", described<LayerRange>()},
        {"HostInfo", described<HostInfo>()},
        {"RowRates", described<RowRates>()},
        {"HopId", described<HopId>()},
        {"PathPeer", described<PathPeer>()},
        {"TokenBias", described<TokenBias>()},
        {"Sampling", described<Sampling>()}};
    for (const auto& [name, fields] : parts) {
        EXPECT_EQ(fields, proto.fields.at(name)) << name;
    }
    // Beside bodies and parts the file has the envelope and the Hello.
    EXPECT_EQ(proto.fields.size(), kMessageKinds + parts.size() + 2);
}

TEST(Fields, BodiesHaveTheNamesOfTheProto) {
    Names names = read_proto().names_of_bodies;
    for (std::string& name : names) {
        name += name == "register" ? "_" : "";  // the compiler of messages.proto avoids keywords
    }
    EXPECT_EQ(names_of_bodies(std::make_index_sequence<kMessageKinds>()), names);
}

}  // namespace swarm::protocol
