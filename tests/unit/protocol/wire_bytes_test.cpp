// Holds the bytes of the wire: wire_bytes.txt has the SHA-256 of each kind's sample message, of
// each kind's message without content, and of a Hello. Bytes may change only with kProtocolVersion.
#include "swarm/base/digest.hpp"
#include "swarm/protocol/frame.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace swarm::protocol {

namespace {

std::string line_of(const std::string& name, const std::vector<std::byte>& bytes) {
    return name + " " + std::to_string(bytes.size()) + " " + to_hex(sha256(bytes)) + "\n";
}

std::string lines_of_samples() {
    std::string lines;
    for (const Message& message : sample_messages()) {
        const std::string name = "sample " + std::to_string(message.body.index());
        lines += line_of(name, encode_control(message));
    }
    return lines;
}

/// Makes one line for a message of each kind whose fields have their default values.
template <std::size_t... Kinds>
std::string lines_of_defaults(std::index_sequence<Kinds...> /*kinds*/) {
    std::string lines;
    ((lines += line_of(
          "default " + std::to_string(Kinds),
          encode_control({.body = std::variant_alternative_t<Kinds, AnyMessage>{}})
      )),
     ...);
    return lines;
}

}  // namespace

TEST(WireBytes, EqualTheGoldenFile) {
    std::ifstream file(SWARM_WIRE_BYTES);
    ASSERT_TRUE(file) << SWARM_WIRE_BYTES;
    const std::string golden{std::istreambuf_iterator<char>(file), {}};
    const std::string written = lines_of_samples() +
                                lines_of_defaults(std::make_index_sequence<kMessageKinds>()) +
                                line_of("hello", encode_hello(sample_hello()));
    EXPECT_EQ(written, golden);
}

}  // namespace swarm::protocol
