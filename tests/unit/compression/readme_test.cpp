// The worked lines of compression/README.md are what the codecs write, and each codec has one.
#include "codec_cases.hpp"
#include "compression/byte_planes.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

namespace compression::test {
namespace {

std::string hex(const Bytes& bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x ", std::to_integer<unsigned>(byte));
        text += digits;
    }
    return text;
}

struct Worked {
    std::string codec;
    Values values;
    std::string bytes;
};

/// "name  values  bytes", columns 2 blanks or more apart; bytes are grouped by more blanks.
Worked parse(const std::string& line) {
    const std::size_t name_end = line.find(' ');
    const std::size_t values_begin = line.find_first_not_of(' ', name_end);
    const std::size_t values_end = line.find("  ", values_begin);
    Worked worked{line.substr(0, name_end), {}, {}};
    std::istringstream values(line.substr(values_begin, values_end - values_begin));
    for (float value = 0; values >> value;) {
        worked.values.push_back(value);
    }
    std::istringstream bytes(line.substr(values_end));
    for (std::string byte; bytes >> byte;) {
        worked.bytes += byte + " ";
    }
    return worked;
}

TEST(CompressionReadme, WorkedBytesAreWhatTheCodecsWrite) {
    std::ifstream readme(SWARM_COMPRESSION_DIR "/README.md");
    ASSERT_TRUE(readme);
    std::set<std::string> seen;
    bool inside = false;
    for (std::string line; std::getline(readme, line);) {
        if (line == "```") {
            inside = !inside;
        } else if (inside) {
            const Worked worked = parse(line);
            seen.insert(worked.codec);
            if (worked.codec == "byte-planes") {
                const auto raw = std::as_bytes(std::span(worked.values));
                EXPECT_EQ(hex(*pack_planes(raw, ElementBytes::Four)), worked.bytes) << line;
                continue;
            }
            const Codec* const codec = find_codec(worked.codec);
            ASSERT_NE(codec, nullptr) << line;
            Bytes bytes(codec->encoded_bytes(worked.values.size()));
            const auto role = codec->check_role(TensorRole::Activation)
                                  ? TensorRole::Activation
                                  : TensorRole::PseudoGradient;
            ASSERT_TRUE(codec->encode(worked.values, role, 0, bytes)) << line;
            EXPECT_EQ(hex(bytes), worked.bytes) << line;
        }
    }
    EXPECT_TRUE(seen.contains("byte-planes"));
    for (const Case& one : every_case()) {
        EXPECT_TRUE(seen.contains(std::string(one.codec->name()))) << one.codec->name();
    }
}

}  // namespace
}  // namespace compression::test
