// Holds PROTOCOL.md against the code: its tables name every message of messages.proto with its kind
// and lane, and its worked hex is the bytes that the code writes.
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/tensor_envelope.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace swarm::protocol {

namespace {

std::vector<std::string> lines_of(const std::string& name) {
    std::ifstream file(std::string(SWARM_PROTOCOL_DIR "/") + name);
    EXPECT_TRUE(file) << name;
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// Finds every match of `pattern` at the start of a line; maps its first group to its second.
std::map<std::string, std::string> matches(const std::string& name, const std::string& pattern) {
    std::map<std::string, std::string> found;
    const std::regex regex(pattern);
    for (const std::string& line : lines_of(name)) {
        std::smatch match;
        if (std::regex_search(line, match, regex, std::regex_constants::match_continuous)) {
            EXPECT_TRUE(found.emplace(match[1], match[2]).second) << match[1] << " is there twice";
        }
    }
    return found;
}

/// Reads the rows "| `Name` | kind |" of the tables; maps names to kinds.
std::map<std::string, std::string> documented_kinds() {
    return matches("PROTOCOL.md", R"(\| `(\w+)` \| (\w+) \|)");
}

std::string hex(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x ", std::to_integer<unsigned>(byte));
        text += digits;
    }
    return text;
}

template <class Part>
void append(std::vector<std::byte>& bytes, const Part& part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
}

std::vector<std::byte> frame_of(
    const Message& message,
    const std::vector<std::byte>& envelope = {},
    const std::vector<std::byte>& tensor = {}
) {
    const std::vector<std::byte> control = encode_control(message);
    std::vector<std::byte> bytes;
    append(
        bytes,
        encode_header({
            .kind = static_cast<std::uint16_t>(message.body.index()),
            .control_bytes = static_cast<std::uint32_t>(control.size()),
            .envelope_bytes = static_cast<std::uint32_t>(envelope.size()),
            .tensor_bytes = tensor.size(),
        })
    );
    append(bytes, control);
    append(bytes, envelope);
    append(bytes, tensor);
    return bytes;
}

std::vector<std::byte> hello_frame() {
    const std::vector<std::byte> control = encode_hello(
        {.protocol_version = kProtocolVersion,
         .lane = 1,
         .incarnation = {0x0123'4567'89ab'cdef},
         .proof = {}}
    );
    const FrameHeader header{
        .kind = kHelloKind, .control_bytes = static_cast<std::uint32_t>(control.size())};
    std::vector<std::byte> bytes;
    append(bytes, encode_header(header));
    append(bytes, control);
    return bytes;
}

/// Writes the examples of PROTOCOL.md with the code.
std::map<std::string, std::string> worked_examples() {
    const ParameterVersion version{.gen = 1, .step = 300};
    const Epoch epoch = make_epoch(1, 2);
    const Forward forward{
        .version = version,
        .microbatch = {5},
        .attempt = epoch,
        .mask = {3},
        .path = {{make_epoch(1, 1).value}},
        .tokens = {464, 3290, 13}};
    const LegId leg{.version = version, .microbatch = {5}, .attempt = epoch, .leg = Leg::Forward};
    const Recall recall{.version = version, .epoch = epoch, .ids = {{0}, {5}, {130}}};
    const std::vector<std::byte> envelope =
        encode_envelope({.dtype = Dtype::Float32, .codec = CodecId::None, .shape = {1, 2, 1}});
    std::vector<std::byte> tensor;  // 1.0F, -2.0F
    for (const unsigned byte : {0x00U, 0x00U, 0x80U, 0x3fU, 0x00U, 0x00U, 0x00U, 0xc0U}) {
        tensor.push_back(static_cast<std::byte>(byte));
    }
    return {
        {"hello", hex(hello_frame())},
        {"acknowledge", hex(frame_of({.acknowledged = 7, .body = Acknowledge{}}))},
        {"forward", hex(frame_of({.body = forward}, envelope, tensor))},
        {"accepted", hex(frame_of({.body = Accepted{leg}}))},
        {"recall", hex(frame_of({.number = 12, .acknowledged = 7, .body = recall}))}};
}

/// Reads the blocks that open with ```hex <name>; the rest of a line after # is a comment.
std::map<std::string, std::string> documented_examples() {
    std::map<std::string, std::string> examples;
    std::string current;
    for (const std::string& line : lines_of("PROTOCOL.md")) {
        if (line.starts_with("```")) {
            current = line.starts_with("```hex ") ? line.substr(7) : "";
            continue;
        }
        std::istringstream bytes(line.substr(0, line.find('#')));
        for (std::string byte; !current.empty() && bytes >> byte;) {
            examples[current] += byte + " ";
        }
    }
    return examples;
}

}  // namespace

TEST(ProtocolDocument, NamesTheMessagesOfTheProtoAndNoOthers) {
    std::set<std::string> in_document;
    for (const auto& [name, kind] : documented_kinds()) {
        in_document.insert(name);
    }
    std::set<std::string> in_proto;
    for (const auto& [name, rest] : matches("messages.proto", R"(message (\w+) (\{))")) {
        in_proto.insert(name);
    }
    ASSERT_GT(in_proto.size(), kMessageKinds);
    EXPECT_EQ(in_document, in_proto);
}

TEST(ProtocolDocument, GivesEachBodyItsKind) {
    const auto kinds = documented_kinds();
    std::size_t bodies = 0;
    for (const auto& [name, field] : matches("messages.proto", R"(    (\w+) \w+ = (\d+);)")) {
        ASSERT_TRUE(kinds.contains(name)) << name;
        EXPECT_EQ(kinds.at(name), std::to_string(std::stoi(field) - 16)) << name;
        ++bodies;
    }
    EXPECT_EQ(bodies, kMessageKinds);
}

TEST(ProtocolDocument, GivesEachBodyItsLane) {
    const auto lanes = matches("PROTOCOL.md", R"(\| `\w+` \| (\d+) \| (\w+) \|)");
    ASSERT_EQ(lanes.size(), kMessageKinds);
    for (const Message& message : sample_messages()) {
        const std::string lane = lane_of(message.body) == Lane::Bulk ? "bulk" : "control";
        EXPECT_EQ(lanes.at(std::to_string(message.body.index())), lane) << message.body.index();
    }
}

TEST(ProtocolDocument, ShowsTheBytesThatTheCodeWrites) {
    const auto documented = documented_examples();
    const auto written = worked_examples();
    for (const auto& [name, bytes] : written) {
        EXPECT_EQ(documented.contains(name) ? documented.at(name) : "", bytes) << name;
    }
    EXPECT_EQ(documented.size(), written.size());
}

}  // namespace swarm::protocol
